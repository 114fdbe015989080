import Conversion

extension MixPlan {
    /// The parts as a sequence, if they only follow one another and need no change; else `nil`.
    ///
    /// Sources at the rate and with the channels of `clock` need none, whatever their sample format.
    func sequence(of sources: [SoundSources.Source], on clock: SampleShape) -> [SequenceOutput.Item]? {
        var items: [SequenceOutput.Item] = []
        var end: Int64 = 0
        for part in parts {
            guard part.isPlain, part.skipped == 0, part.place.lowerBound >= end else { return nil }
            if part.place.lowerBound > end { items.append(.silence(part.place.lowerBound - end)) }
            end = part.place.upperBound
            switch part.sound {
            case .mix(let plan, let isReversed):
                guard !isReversed, plan.frames == Int64(part.place.count),
                    let inner = plan.sequence(of: sources, on: clock)
                else { return nil }
                items += inner
            case .source(let plan):
                guard sources[plan.source].suits(clock, picking: plan.pick) else { return nil }
                items.append(.source(plan, frames: Int64(part.place.count), isCut: part.isCut))
            }
        }
        if frames > end { items.append(.silence(frames - end)) }
        return items
    }
}

extension SoundSources.Source {
    fileprivate func suits(_ clock: SampleShape, picking pick: ChannelPick?) -> Bool {
        guard track.sampleRateHz == clock.sampleRateHz, pick != .sum else { return false }
        let layout = track.shape.layout ?? .discrete(track.channelCount)
        guard let heard = pick.map({ $0.applied(to: layout)?.layout }) ?? layout else { return false }
        return heard.channelCount == clock.channelCount
            && ChannelMix(from: heard, to: ChannelLayout(mask: clock.channelMask) ?? .discrete(clock.channelCount))?
                .isIdentity == true
    }
}
