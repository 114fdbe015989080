import Conversion

/// Where an output is on the time line of its track, in frames at the track's rate.
struct TrackClock {
    let rate: Int
    /// The next decoded frame, on a count in which the sound starts at zero. Silence in place of damage counts once it
    /// is handed out.
    private(set) var place: Int64 = 0
    /// The same including all frames that were decoded and dropped, as timestamps count.
    private(set) var decoded: Int64 = 0
    /// Decoded frames still to drop before the sound begins.
    private(set) var priming: Int
    /// Frames of silence that replace damage and have yet to be handed out.
    private(set) var owedSilence: Int64 = 0
    /// Frames by which the clock of the stream has run ahead of its packets, where these are trusted.
    private(set) var followed: Int64 = 0
    /// Whether any block was counted.
    private(set) var hasStarted = false
    /// The rate of blocks that differ in rate from the track, and their remainder of less than one frame of the track.
    private var otherRate: (rate: Int, rest: Int64)?
    /// The remainder at the start of the block that was counted last; zero if it has the rate of the track.
    private(set) var blockRest: Int64 = 0
    /// Whether the packets state the frames to drop, in ticks of their container.
    private var skipsByPacket = false

    /// `priming` are the frames before the sound that no packet or decoder states.
    init(rate: Int, priming: Int) {
        self.rate = rate
        self.priming = priming
    }

    /// The place, including silence that has yet to be handed out.
    var reached: Int64 { place + owedSilence }

    /// Whether the rate has changed. Frames can then no longer be compared with the container's clock.
    var hasChangedRate: Bool { otherRate != nil }

    // MARK: Blocks

    /// What a decoder and its packet say about a block.
    struct Block {
        var frames: Int
        var rate: Int
        /// Frames to drop at its ends.
        var skip: (start: Int, end: Int) = (0, 0)
        /// Whether the container excludes the block from playback.
        var isDiscarded = false
    }

    /// Counts priming that the next packet states.
    mutating func addPriming(ofPacket frames: Int) {
        skipsByPacket = true
        priming += frames
    }

    /// Counts a decoded block. Returns the frames of it that are not sound: priming at its front, padding at its back.
    mutating func count(_ block: Block) -> (front: Int, back: Int) {
        hasStarted = true
        if !skipsByPacket { priming += block.skip.start }
        // After the sound, or between two edits. Before the sound, priming gives the exact number of frames.
        let isDropped = block.isDiscarded && priming == 0 && place > 0
        let front = isDropped ? block.frames : min(priming, block.frames)
        priming -= min(priming, front)
        let back = min(max(0, block.skip.end), block.frames - front)
        blockRest = otherRate?.rate == block.rate && block.rate != rate ? otherRate?.rest ?? 0 : 0
        let advance = trackFrames(Int64(block.frames - front - back), rate: block.rate)
        place += advance
        decoded += advance + scaled(Int64(front + back), from: block.rate, to: rate)
        return (front, back)
    }

    /// Converts frames of a block to frames of the track. A fraction of a frame carries over to the next block.
    private mutating func trackFrames(_ frames: Int64, rate blockRate: Int) -> Int64 {
        guard blockRate != rate else { return frames }
        let rest = otherRate?.rate == blockRate ? otherRate!.rest : 0
        let (whole, remainder) = (frames * Int64(rate) + rest).quotientAndRemainder(dividingBy: Int64(blockRate))
        otherRate = (blockRate, remainder)
        return whole
    }

    /// Converts frames of the track, from the start of a block of another rate, to the nearest number of its frames. The
    /// block begins `rest` behind its place.
    func blockFrames(_ frames: Int64, rate blockRate: Int, rest: Int64 = 0) -> Int64 {
        guard blockRate != rate else { return frames }
        let exact = max(0, Int128(frames) * Int128(blockRate) - Int128(rest))
        return Int64(clamping: (exact * 2 + Int128(rate)) / (2 * Int128(rate)))
    }

    private func scaled(_ frames: Int64, from: Int, to: Int) -> Int64 {
        from == to ? frames : frames.scaledSaturated(by: to, over: from)
    }

    /// Takes what was counted beyond `end` for padding.
    mutating func cut(at end: Int64) { place = min(place, end) }

    /// Goes on with another stream, before whose sound lie `priming` frames, and which has a clock of its own.
    mutating func beginLink(priming: Int) { (self.priming, skipsByPacket, followed) = (priming, false, 0) }

    // MARK: Losses

    /// Counts `frames` that no packet gives. Returns those that were sound and not priming; `pass` or `oweSilence`
    /// then moves the place.
    mutating func lose(_ frames: Int64) -> Int64 {
        let inPriming = min(Int64(priming), frames)
        priming -= Int(inPriming)
        decoded += frames
        return frames - inPriming
    }

    /// Follows a clock of the container that runs ahead of its packets. No frame is lost. A clock that jumps to and fro does
    /// not add up without end.
    mutating func follow(_ frames: Int64) {
        let frames = min(frames, max(0, Plausible.frames - decoded))
        decoded += frames
        followed += frames
    }

    /// Leaves out lost frames.
    mutating func pass(_ frames: Int64) { place += frames }

    /// Owes silence for lost frames.
    mutating func oweSilence(_ frames: Int64) { owedSilence += frames }

    /// Counts silence that was handed out.
    mutating func giveSilence(_ frames: Int64) {
        owedSilence -= frames
        place += frames
    }

    // MARK: Skipping

    /// The frame on the decoded count at which `frame` of the sound lies; `nil` if a skip to it cannot be exact or
    /// leads nowhere.
    func target(for frame: Int64) -> Int64? {
        guard frame > place, priming == 0, hasStarted, otherRate == nil else { return nil }
        return frame + decoded - place
    }

    /// Continues at the frame `landed` of the decoded count.
    mutating func jump(to landed: Int64) {
        place += landed - decoded
        decoded = landed
    }
}
