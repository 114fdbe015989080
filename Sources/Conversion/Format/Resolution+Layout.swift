extension Resolution {
    mutating func settleLayout(_ rule: FormatRule) -> ChannelLayout {
        let given = source.effectiveLayout
        if let layout = wish.layout {
            if given.isDiscrete, layout.channelCount != given.channelCount { refuseMixing("layout", "\(layout)") }
            if let known = rule.layouts, !known.contains(layout) {
                refuse(
                    "layout",
                    "\(layout)",
                    "\(rule.codec.title) in \(rule.container.title) does not take it",
                    allowed: known.map(\.description).joined(separator: ", ")
                )
            } else if !rule.channels.contains(layout.channelCount) {
                refuseChannels(layout.channelCount, rule)
            }
            return layout
        }
        if let count = wish.channelCount { return layout(of: count, rule, given) }

        let ceiling = min(rule.channels.upperBound, wish.maximumChannelCount ?? .max)
        if let maximum = wish.maximumChannelCount, maximum < 1 {
            refuse("channels", "at most \(maximum)", "there has to be one", allowed: "1 or more")
            return given
        }
        if given.isDiscrete {
            if given.channelCount > ceiling || rule.layouts != nil { refuseMixing("channels", "\(ceiling)") }
            return given
        }
        return Self.nearest(to: given, among: rule.layouts, ceiling: ceiling)
    }

    /// The layout for a count that was asked for: the source's own if it may, else the codec's, else the usual one.
    private mutating func layout(of count: Int, _ rule: FormatRule, _ given: ChannelLayout) -> ChannelLayout {
        guard rule.channels.contains(count) else {
            refuseChannels(count, rule)
            return given
        }
        if given.isDiscrete, given.channelCount != count { refuseMixing("channels", "\(count)") }
        guard let known = rule.layouts else {
            return given.channelCount == count ? given : .standard(for: count) ?? .discrete(count)
        }
        let fitting = known.filter { $0.channelCount == count }
        guard let first = fitting.first else {
            refuseChannels(count, rule)
            return given
        }
        return fitting.first { $0 == given } ?? fitting.first { $0 == given.sidesAsBacks }
            ?? fitting.first { $0 == .standard(for: count) } ?? first
    }

    /// What carries most of `given`.
    ///
    /// First itself (5.1(side) counts as 5.1), then the smallest layout that has all its speakers, so that nothing
    /// is mixed (ALAC knows no quad: 5.0 with a silent centre), then the one that shares most of them.
    static func nearest(to given: ChannelLayout, among known: [ChannelLayout]?, ceiling: Int) -> ChannelLayout {
        let candidates = (known ?? [given] + ChannelLayout.named.map(\.layout)).filter { $0.channelCount <= ceiling }
        if candidates.contains(given) { return given }
        let folded = given.sidesAsBacks
        if candidates.contains(folded) { return folded }
        let holding = candidates.filter { $0.mask & folded.mask == folded.mask }
        if let smallest = holding.min(by: { $0.channelCount < $1.channelCount }) { return smallest }
        let shared: (ChannelLayout) -> Int = { ($0.mask & folded.mask).nonzeroBitCount }
        let smaller = candidates.filter { $0.channelCount <= given.channelCount }
        let best = smaller.max { (shared($0), -$0.channelCount) < (shared($1), -$1.channelCount) }
        return best ?? candidates.min { $0.channelCount < $1.channelCount } ?? given
    }

    private mutating func refuseChannels(_ count: Int, _ rule: FormatRule) {
        let counts = rule.layouts.map {
            Set($0.map(\.channelCount)).sorted().map { String($0) }.joined(separator: ", ")
        }
        refuse(
            "channels",
            "\(count)",
            "\(rule.codec.title) in \(rule.container.title) does not take so many",
            allowed: counts ?? "\(rule.channels.lowerBound) to \(rule.channels.upperBound)"
        )
    }

    private mutating func refuseMixing(_ field: String, _ value: String) {
        refuse(
            field,
            value,
            "the source's \(source.channelCount) channels have no layout to mix from",
            allowed: "\(source.channelCount), in a container that takes them"
        )
    }
}
