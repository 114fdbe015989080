import Conversion

/// Finds the first and the last frame of a sound that exceeds a level, block by block.
struct SilenceMeter {
    /// Frames that have been added.
    private(set) var frames: Int64 = 0
    /// From the first loud frame to the one after the last; `nil` while all is silent.
    private(set) var sound: Range<Int64>?
    private let level: LoudLevel

    /// A frame is loud if the amplitude of a sample in any channel is above `threshold`.
    init(threshold: Gain) { level = LoudLevel(above: threshold) }

    /// Adds samples of any format. What is not a number is loud.
    mutating func add(_ block: borrowing SampleBlock) {
        guard block.frameCount > 0 else { return }
        // Only as much as needed is looked at: after the first sound, the block is searched from its end.
        var search = LoudEnds(needsStart: sound == nil)
        level.examine(block, by: &search)
        if let loud = search.found {
            let start = sound?.lowerBound ?? frames + Int64(loud.lowerBound)
            sound = start..<frames + Int64(loud.upperBound)
        }
        frames += Int64(block.frameCount)
    }
}

/// From the first loud frame of a block to the one after the last.
private struct LoudEnds: LoudSearch {
    /// Whether it matters where the sound begins.
    let needsStart: Bool
    private(set) var found: Range<Int>?

    init(needsStart: Bool) { self.needsStart = needsStart }

    mutating func look<Sample>(
        at samples: UnsafeBufferPointer<Sample>,
        channels: Int,
        isLoud: (Sample) -> Bool
    ) {
        guard let last = samples.lastIndex(where: isLoud) else { return }
        let first = needsStart ? samples.firstIndex(where: isLoud) ?? last : 0
        let loud = first / channels..<last / channels + 1
        found = found.map { min($0.lowerBound, loud.lowerBound)..<max($0.upperBound, loud.upperBound) } ?? loud
    }
}

/// The silence at the ends of a range that a timeline has left out.
struct TrimmedSilence: Sendable, Hashable {
    /// The frames at the start and at the end, on the source's clock.
    var start: Int64 = 0
    var end: Int64 = 0
}

extension SilenceTrim {
    /// What of a sound of `frames` frames at `rate` is left out, if only `sound` of it is loud.
    func trimmed(_ sound: Range<Int64>, of frames: Int64, rate: Int) -> TrimmedSilence {
        let shortest = max(shortest.frames(atRate: rate)?.frames ?? .max, 1)
        var trimmed = TrimmedSilence()
        if trimsStart, sound.lowerBound >= shortest { trimmed.start = sound.lowerBound }
        if trimsEnd, frames - sound.upperBound >= shortest { trimmed.end = frames - sound.upperBound }
        return trimmed
    }
}
