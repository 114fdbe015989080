extension Resolution {
    mutating func settleLayout(_ rule: FormatRule) -> ChannelLayout {
        let given = source.effectiveLayout
        let layout = chosenLayout(rule, given)
        let isRefused = reasons.contains { $0.field == "layout" || $0.field == "channels" }
        if !isRefused, ChannelMix(from: given, to: layout) == nil {
            refuseMixing(wish.layout == nil ? "channels" : "layout", layout, given)
        }
        return layout
    }

    private mutating func chosenLayout(_ rule: FormatRule, _ given: ChannelLayout) -> ChannelLayout {
        if let layout = wish.layout {
            if layout.isDiscrete, rule.codec.namesPositions, layout.channelCount == given.channelCount {
                return inOrder(layout, rule, rule.channels.upperBound)
            }
            if let known = rule.layouts, !known.contains(layout) {
                refuse(
                    "layout",
                    "\(layout)",
                    "\(rule.codec.title) in \(rule.container.title) does not support it",
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
            refuse("channels", "at most \(maximum)", "at least one channel is needed", allowed: "1 or more")
            return given
        }
        if given.isDiscrete { return inOrder(given, rule, ceiling) }
        return Self.nearest(to: given, among: rule.layouts, ceiling: ceiling)
    }

    /// The layout for a requested count: the source's if the codec takes it, else the usual one, else the codec's
    /// first.
    private mutating func layout(of count: Int, _ rule: FormatRule, _ given: ChannelLayout) -> ChannelLayout {
        guard rule.channels.contains(count) else {
            refuseChannels(count, rule)
            return given
        }
        if given.isDiscrete, given.channelCount == count { return inOrder(given, rule, count) }
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

    /// Keeps channels without positions in order, in the codec's layout for that count if it needs one. Mixes nothing.
    private mutating func inOrder(_ given: ChannelLayout, _ rule: FormatRule, _ ceiling: Int) -> ChannelLayout {
        let count = given.channelCount
        let known = rule.codec.namesPositions ? rule.layouts ?? FormatTable.xiphLayouts : rule.layouts
        let fitting = known?.filter { $0.channelCount == count }
        guard count <= ceiling, fitting?.isEmpty != true else {
            let counts = known.map { Set($0.map(\.channelCount)).filter { $0 <= ceiling }.max() ?? ceiling }
            let most = min(ceiling, counts ?? ceiling)
            refuseMixing("channels", .standard(for: most) ?? .discrete(most), given)
            return given
        }
        guard let fitting else { return given }
        return fitting.first { $0 == .standard(for: count) } ?? fitting.first ?? given
    }

    /// The layout that carries most of `given`.
    ///
    /// First choice is `given` itself (5.1(side) counts as 5.1), then the smallest layout that has all its speakers,
    /// so that nothing is mixed (ALAC has no quad: 5.0 with a silent centre), then the layout that shares the most
    /// speakers.
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
            "\(rule.codec.title) in \(rule.container.title) does not support this number of channels",
            allowed: counts ?? "\(rule.channels.lowerBound) to \(rule.channels.upperBound)"
        )
    }

    private mutating func refuseMixing(_ field: String, _ wanted: ChannelLayout, _ given: ChannelLayout) {
        let value = field == "layout" ? "\(wanted)" : "\(wanted.channelCount)"
        let count = given.channelCount
        guard given.isDiscrete else {
            return refuse(
                field,
                value,
                "cannot mix from \(given) to \(wanted)",
                allowed: "\(count), or a layout with a left, right or centre speaker in front"
            )
        }
        let layouts = ChannelLayout.named.filter { $0.layout.channelCount == count }.map(\.name)
        let keepers = "WAV, CAF and AIFF keep them all"
        let step = layouts.first.map {
            "; to mix them, assign their positions first: convert to WAV with --layout \($0)"
        }
        refuse(
            field,
            value,
            "the layout of the source's \(Plural.count(count, "channel")) is unknown, so they cannot be mixed",
            allowed: "\(count), in a container that takes them",
            hint: keepers + (step ?? "")
        )
    }
}
