import Conversion

/// Plays parts one after another that need no mixing: every sample stays as the source has it.
final class SequenceOutput: SampleOutput {
    /// One part of a sequence.
    enum Item: Sendable {
        /// With `isCut`, the sound would go on.
        case source(SourcePlan, frames: Int64, isCut: Bool)
        case silence(Int64)
    }

    let clockRateHz: Int
    private(set) var deliveredFrames: Int64 = 0
    let frames: Int64
    var promisedFrames: Int64? { frames }

    private let sources: SoundSources
    private let stop: StopSignal
    /// The items that have not begun.
    private var waiting: ArraySlice<Item>
    private var current: Item?
    private var played: PlayedSource?
    /// Where the present item ends.
    private var end: Int64 = 0
    /// The shape of silence: that of the last samples, so that nothing changes at the seam.
    private var shape: SampleShape

    private static let silenceFrames: Int64 = 4096

    init(_ items: [Item], on clock: SampleShape, sources: SoundSources, stop: StopSignal) {
        waiting = items[...]
        clockRateHz = clock.sampleRateHz
        frames = items.reduce(0) { $0 + $1.frames }
        shape = clock
        self.sources = sources
        self.stop = stop
    }

    func next(into block: inout SampleBlock) throws -> Bool {
        while true {
            if deliveredFrames == end {
                try leaveItem()
                guard let item = waiting.popFirst() else { return false }
                end += item.frames
                current = item
                if case .source(let plan, _, _) = item { played = try sources.open(plan) }
            } else if try fill(&block) {
                return true
            }
        }
    }

    /// `true` if `block` holds samples of the present item.
    private func fill(_ block: inout SampleBlock) throws -> Bool {
        let left = end - deliveredFrames
        guard case .source(let plan, _, let isCut) = current, let played else {
            try stop.check(at: .decode)
            try block.reserve(Int(min(left, Self.silenceFrames)), shape)
            block.silence()
            take(&block)
            return true
        }
        guard try played.output.next(into: &block) else { throw MediaError.lengthChanged(sources.sources[plan.source]) }
        let excess = Int64(block.frameCount) - left
        if excess > 0 {
            guard isCut else { throw MediaError.lengthChanged(sources.sources[plan.source]) }
            block.trim(front: 0, back: Int(excess))
        }
        guard let found = block.shape, block.frameCount > 0 else { return false }
        shape = found
        take(&block)
        return true
    }

    private func take(_ block: inout SampleBlock) {
        block.position = deliveredFrames
        deliveredFrames += Int64(block.frameCount)
    }

    /// Closes the item whose frames have all been delivered. Its source must be over as well.
    private func leaveItem() throws {
        if case .source(let plan, _, let isCut) = current, let played {
            var rest = try SampleBlock()
            while !isCut, try played.output.next(into: &rest) {
                if rest.frameCount > 0 { throw MediaError.lengthChanged(sources.sources[plan.source]) }
            }
            sources.close(played)
        }
        (current, played) = (nil, nil)
    }
}

extension SequenceOutput.Item {
    var frames: Int64 {
        switch self {
        case .source(_, let frames, _), .silence(let frames): frames
        }
    }
}
