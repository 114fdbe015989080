public import Conversion

/// The decoded samples of one track, in order, each exactly once, trimmed to the sound and to the requested ranges.
///
/// Positions count frames at the track's rate from the first frame of sound. Priming and padding do not count.
public final class TrackOutput {
    public let track: Track
    /// Frames handed out so far.
    public private(set) var deliveredFrames: Int64 = 0
    /// The sound that was missing, and where.
    public internal(set) var damage = DamageAccount()
    /// Remarks about the source other than damage.
    public internal(set) var remarks: [Remark] = []

    /// Packets sent to the decoder: the cost of a range.
    private(set) var decodedPackets = 0

    let options: Reader.Options
    private let reopen: () throws -> Demuxer
    let ranges: [Range<Int64>]
    var rangeIndex = 0
    private var decoder: Decoder
    var feed: PacketFeed
    var packet: Packet
    /// Number of the next decoded frame, on a count in which the sound starts at zero.
    var clock: Int64 = 0
    /// The same including all frames that were decoded and dropped, as timestamps count.
    var rawClock: Int64 = 0
    /// Decoded frames still to drop before the sound begins.
    var priming: Int
    var hasDecoded = false
    /// Frames of silence that replace damage and have yet to be handed out.
    var owedSilence: Int64 = 0
    /// The estimated loss since the last good packet. The container's clock may correct it when the next packet comes.
    var pending: Loss?
    /// The first place that the container marks as damaged; cleared once a loss is recorded.
    var suspicion: Int64?
    /// The frames that the packet in the decoder should give. `statedStart` is where it begins.
    var stated: Int64?
    var statedStart: Int64 = 0
    var gaveTooMuch = false
    private var lastShape: SampleShape?
    private var lastFrameCount = 0
    /// The rate of blocks that differ in rate from the track, and their remainder of less than one frame of the track.
    private var otherRate: (rate: Int, rest: Int64)?
    /// Whether the packets state the frames to drop, in ticks of their container.
    private var skipsByPacket = false
    /// The block in which a range ended, kept for a next range that begins in it.
    private var held: SampleBlock
    private var heldStart = Int64.max
    private var servesHeld = false
    private var phase = Phase.decoding
    /// Set if the whole track is read and checked against its digest.
    let digest: FLACDigest?

    private enum Phase { case decoding, draining, ended }

    /// Longest block of silence that replaces damage.
    private static let silenceFrames: Int64 = 4096

    /// `reopen` opens the same source again from its start, for a range that begins before the end of the previous one.
    init(
        _ demuxer: Demuxer,
        _ track: Track,
        _ ranges: [Range<Int64>],
        _ options: Reader.Options,
        reopen: @escaping () throws -> Demuxer
    ) throws {
        self.track = track
        self.ranges = ranges
        self.options = options
        self.reopen = reopen
        priming = track.undroppedPriming
        packet = try Packet()
        held = try SampleBlock()
        feed = try PacketFeed(demuxer, track, bearsDamage: options.damage != .strict)
        decoder = try TrackOutput.decoder(of: track, in: demuxer)
        let isWhole = ranges == [0..<Int64.max]
        digest = options.checksDigest && isWhole && !track.isExcerpt ? FLACDigest(demuxer.streams[track.index]) : nil
    }

    private static func decoder(of track: Track, in demuxer: Demuxer) throws -> Decoder {
        do {
            return try Decoder.open(demuxer.streams[track.index])
        } catch let error as LibAVError {
            throw MediaError(
                error,
                .unsupportedCodec,
                at: .open,
                "the \(track.codecName) decoder rejects this track",
                stream: track.index
            )
        }
    }

    /// Frames in all requested ranges; `nil` if one has no end and the container states none.
    public var promisedFrames: Int64? {
        var sum: Int64 = 0
        for range in ranges {
            let end = range.upperBound == .max ? track.plausibleFrames : range.upperBound
            guard let end else { return nil }
            sum = sum.addingSaturated(max(0, end - range.lowerBound))
        }
        return sum
    }

    /// Fills `block` with the next samples; `false` once all ranges are done.
    ///
    /// The next call reuses the block's memory.
    public func next(into block: inout SampleBlock) throws -> Bool {
        while rangeIndex < ranges.count {
            let range = ranges[rangeIndex]
            if servesHeld {
                servesHeld = false
                try block.share(held)
                if try deliver(&block, within: range) { return true }
            } else if clock >= range.upperBound {
                try checkEnd(range)
                try startNextRange()
            } else if owedSilence > 0 {
                try fillSilence(&block)
                if try deliver(&block, within: range) { return true }
            } else if phase == .ended {
                try checkEnd(range)
                try startNextRange()
            } else {
                try options.stop.check(at: .decode)
                if try decode(into: &block), try deliver(&block, within: range) { return true }
            }
        }
        return false
    }

    // MARK: Decoding

    /// One step of the decoder; `true` if `block` holds sound.
    private func decode(into block: inout SampleBlock) throws -> Bool {
        do {
            let (answer, skip) = try decoder.receive(into: &block)
            switch answer {
            case .filled: return try keepSound(of: &block, trueSkip(skip))
            case .ended:
                phase = .ended
                try settleEnd()
                return false
            case .wantsInput:
                try sendNextPacket()
                return false
            }
        } catch let error as LibAVError {
            try note(error)
            return false
        }
    }

    private func sendNextPacket() throws {
        guard phase == .decoding else { return phase = .ended }
        try skipAhead(to: ranges[rangeIndex].lowerBound)
        guard try feed.next(into: &packet) else {
            if let error = feed.takeEarlyEnd() { try endEarly(error) }
            phase = .draining
            return try decoder.sendEnd()
        }
        noteSkip()
        try settlePacket()
        let found = feed.takeLoss()
        pending = pending?.followed(by: found) ?? found
        // Once the rate has changed, frames can no longer be compared with the container's clock.
        let loss =
            otherRate == nil
            ? try feed.missing(before: packet, decoded: rawClock, estimate: pending, usual: usualFrames) : pending
        if let loss {
            pending = nil
            try enter(loss)
        }
        pending = nil
        // The end of the source handles a packet that it cuts short.
        if packet.isMarkedCorrupt, try feed.hasMore(), !feed.endsBeforeItsHeaderSays { try suspect() }
        if try feed.isSpliced() {
            let one = feed.frames(of: packet) ?? usualFrames
            return try bear(Loss(code: .corruptStream, frames: one, detail: "part of a packet is missing"))
        }
        stated = try feed.exactFrames(of: packet)
        statedStart = rawClock
        decodedPackets += 1
        try decoder.send(packet)
    }

    private func noteSkip() {
        guard let frames = feed.skippedFrames(in: packet) else { return }
        skipsByPacket = true
        priming += frames
    }

    /// The frames to drop from a block. The AAC decoder infers a skip from the encoder's name; that applies only if
    /// the packet was identified as the first.
    private func trueSkip(_ told: (start: Int, end: Int)) -> (start: Int, end: Int) {
        track.codecName == "aac" || track.codecName == "aac_latm" ? (packet.skip.start, told.end) : told
    }

    /// Drops priming and padding from a fresh block and advances the clock by the rest.
    private func keepSound(of block: inout SampleBlock, _ skip: (start: Int, end: Int)) throws -> Bool {
        guard let shape = block.shape else { return false }
        lastShape = shape
        lastFrameCount = block.frameCount
        hasDecoded = true
        feed.noteBlock(of: block.frameCount)
        if let stated {
            let excess = rawClock - statedStart + Int64(block.frameCount - skip.end) - stated
            if excess >= 120 {
                block.trim(front: 0, back: Int(min(excess, Int64(block.frameCount))))
                gaveTooMuch = true
            }
        }
        if !skipsByPacket { priming += skip.start }
        // After the sound, or between two edits. Before the sound, priming gives the exact number of frames.
        let isDropped = block.isMarkedDiscard && priming == 0 && clock > 0
        let front = isDropped ? block.frameCount : min(priming, block.frameCount)
        priming -= min(priming, front)
        let back = min(max(0, skip.end - feed.wronglyDropped), block.frameCount - front)
        let kept = Int64(block.frameCount - front - back)
        block.trim(front: front, back: back)
        block.position = clock
        let advance = onTrackClock(kept, rate: shape.sampleRateHz)
        clock += advance
        rawClock += advance + onBlockClock(Int64(front + back), rate: shape.sampleRateHz, inverse: true)
        return kept > 0
    }

    /// Trims `block` to `range` and to the promised length; `false` if nothing is left.
    private func deliver(_ block: inout SampleBlock, within range: Range<Int64>) throws -> Bool {
        try hold(block, behind: range)
        let rate = block.shape?.sampleRateHz ?? track.sampleRateHz
        let end = min(range.upperBound, soundEnd)
        let front = onBlockClock(max(0, range.lowerBound - block.position), rate: rate)
        let back = onBlockClock(max(0, clock - end), rate: rate)
        guard front.addingSaturated(back) < Int64(block.frameCount) else { return false }
        block.trim(front: Int(front), back: Int(back))
        if front > 0 { block.position = range.lowerBound }
        deliveredFrames += Int64(block.frameCount)
        digest?.update(block)
        return true
    }

    /// Where the sound certainly ends. Anything that the decoder gives beyond it is padding.
    private var soundEnd: Int64 {
        // Sound beyond the promised length is kept, except padding, and except frames after damage was recorded.
        (damage.isEmpty || !feed.endsWhereItPromised ? feed.soundEnd : track.length.exactFrames) ?? .max
    }

    // MARK: Ranges

    /// Keeps the block in which `range` ends if the next range begins in it: a pipe delivers it only once.
    private func hold(_ block: borrowing SampleBlock, behind range: Range<Int64>) throws {
        guard rangeIndex + 1 < ranges.count, range.upperBound <= clock else { return }
        guard (block.position..<clock).contains(ranges[rangeIndex + 1].lowerBound) else { return heldStart = .max }
        heldStart = block.position
        try held.share(block)
    }

    private func startNextRange() throws {
        rangeIndex += 1
        guard rangeIndex < ranges.count, ranges[rangeIndex].lowerBound < clock else { return }
        if ranges[rangeIndex].lowerBound >= heldStart { return servesHeld = true }
        try restart()
    }

    private func restart() throws {
        let demuxer = try reopen()
        feed = try PacketFeed(demuxer, track, bearsDamage: options.damage != .strict)
        decoder = try TrackOutput.decoder(of: track, in: demuxer)
        (clock, rawClock, priming, phase, owedSilence) = (0, 0, track.undroppedPriming, .decoding, 0)
        (hasDecoded, skipsByPacket, otherRate, heldStart) = (false, false, nil, .max)
        (pending, stated, suspicion) = (nil, nil, nil)
    }

    /// Skips ahead towards `frame`, as far as positions stay exact.
    private func skipAhead(to frame: Int64) throws {
        guard frame > clock, priming == 0, hasDecoded, otherRate == nil else { return }
        do {
            let dropped = rawClock - clock
            guard let landed = try feed.skip(from: rawClock, to: frame + dropped, using: &packet) else { return }
            decoder.flush()
            (clock, rawClock) = (landed - dropped, landed)
        } catch is PacketFeed.SkipFailure {
            try restart()
            feed.maySkip = false
        } catch let error as LibAVError {
            throw MediaError(
                error,
                .sourceIO,
                at: .decode,
                "seeking in the source failed",
                stream: track.index,
                position: MediaTime(frames: frame, rate: track.sampleRateHz),
                frame: frame
            )
        }
    }

    private func checkEnd(_ range: Range<Int64>) throws {
        let end = min(clock, soundEnd)
        guard range.upperBound == .max ? range.lowerBound > end : range.upperBound > end else { return }
        let wanted =
            range.upperBound == .max ? "begins at frame \(range.lowerBound)" : "ends at frame \(range.upperBound)"
        throw MediaError(
            .rangeOutsideSource,
            at: .decode,
            "the range \(wanted), but the source ends at frame \(end)",
            stream: track.index,
            position: MediaTime(frames: end, rate: track.sampleRateHz),
            frame: end
        )
    }

    private func fillSilence(_ block: inout SampleBlock) throws {
        let frames = min(owedSilence, Self.silenceFrames)
        var shape = lastShape ?? decoder.shape ?? track.silentShape
        shape.sampleRateHz = track.sampleRateHz
        do {
            try block.reserve(Int(frames), shape)
        } catch let error as LibAVError {
            throw MediaError(error, .corruptStream, at: .decode, "cannot make silence in the format of this track")
        }
        block.silence()
        block.position = clock
        owedSilence -= frames
        clock += frames
    }

    // MARK: Clocks

    var position: MediaTime { MediaTime(frames: reached, rate: track.sampleRateHz) }

    /// The usual number of frames per packet of this codec.
    var usualFrames: Int64 { Int64(decoder.frameSize > 0 ? decoder.frameSize : lastFrameCount) }

    /// Converts frames of a block to frames of the track. A fraction of a frame carries over to the next block.
    private func onTrackClock(_ frames: Int64, rate: Int) -> Int64 {
        guard rate != track.sampleRateHz else { return frames }
        let rest = otherRate?.rate == rate ? otherRate!.rest : 0
        let (whole, remainder) = (frames * Int64(track.sampleRateHz) + rest).quotientAndRemainder(
            dividingBy: Int64(rate)
        )
        otherRate = (rate, remainder)
        return whole
    }

    private func onBlockClock(_ frames: Int64, rate: Int, inverse: Bool = false) -> Int64 {
        let (from, to) = inverse ? (rate, track.sampleRateHz) : (track.sampleRateHz, rate)
        return from == to ? frames : frames.scaledSaturated(by: to, over: from)
    }
}

extension Track {
    /// The format of silence before the first block has shown one.
    fileprivate var silentShape: SampleShape {
        SampleShape(
            format: isFloat ? .f32 : bitDepth > 16 ? .s32 : .s16,
            sampleRateHz: sampleRateHz,
            channelCount: channelCount,
            channelMask: channelMask
        )
    }
}
