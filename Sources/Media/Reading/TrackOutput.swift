public import Conversion

/// The decoded samples of one track, in order, each exactly once, trimmed to the sound and to the wanted ranges.
///
/// Positions count frames at the track's rate from the first frame of sound: priming and padding are no part of it.
public final class TrackOutput {
    public let track: Track
    /// Frames handed out so far.
    public private(set) var deliveredFrames: Int64 = 0
    /// What was missing, and where.
    public internal(set) var damage = DamageAccount()
    /// What there is to tell of the source beside damage.
    public internal(set) var remarks: [Remark] = []

    /// Packets that went through the decoder: what a range costs.
    private(set) var decodedPackets = 0

    let options: Reader.Options
    private let reopen: () throws -> Demuxer
    let ranges: [Range<Int64>]
    var rangeIndex = 0
    private var decoder: Decoder
    var feed: PacketFeed
    var packet: Packet
    /// The next decoded frame's number; the sound starts at zero.
    var clock: Int64 = 0
    /// The same with everything that was decoded and dropped: what timestamps count.
    var rawClock: Int64 = 0
    /// Decoded frames still to be dropped before the sound begins.
    var priming: Int
    var hasDecoded = false
    /// Frames of silence that stand for damage and are still to be handed out.
    var owedSilence: Int64 = 0
    /// What is believed lost since the last good packet; the container's clock may know better when the next one comes.
    var pending: Loss?
    /// The first place that the container marks as damaged, until something is found missing.
    var suspicion: Int64?
    /// What the packet in the decoder states, and where it begins.
    var stated: Int64?
    var statedStart: Int64 = 0
    var gaveTooMuch = false
    private var lastShape: SampleShape?
    private var lastFrameCount = 0
    /// Whether blocks came at another rate than the track's, and what of them is less than one frame of the track.
    private var otherRate: (rate: Int, rest: Int64)?
    /// Whether the packets themselves say how much to drop, in ticks of their container.
    private var skipsByPacket = false
    /// The block in which a range ended, for the next one that begins in it.
    private var held: SampleBlock
    private var heldStart = Int64.max
    private var servesHeld = false
    private var phase = Phase.decoding
    /// Set where the whole track is read and compared.
    let digest: FLACDigest?

    private enum Phase { case decoding, draining, ended }

    /// Longest block of silence that stands for damage.
    private static let silenceFrames: Int64 = 4096

    /// `reopen` gives the same source from its start again, for a range that lies before the one just read.
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
                "the \(track.codecName) decoder does not take this track",
                stream: track.index
            )
        }
    }

    /// Frames in all wanted ranges, as far as the container promises an end.
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
    /// The block's memory is the output's again at the next call.
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

    /// One step of the decoder; `true` when `block` holds sound.
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
        // A stream that changed its rate is past comparing with the container's clock.
        let loss =
            otherRate == nil
            ? try feed.missing(before: packet, decoded: rawClock, estimate: pending, usual: usualFrames) : pending
        if let loss {
            pending = nil
            try enter(loss)
        }
        pending = nil
        // A packet that is cut short by the end of the source is settled there.
        if packet.isMarkedCorrupt, try feed.hasMore(), !feed.endsBeforeItsHeaderSays { try suspect() }
        if try feed.isSpliced() {
            let one = feed.frames(of: packet) ?? usualFrames
            return try bear(Loss(code: .corruptStream, frames: one, detail: "a packet lacks its middle"))
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

    /// What to drop of a block. What the AAC decoder takes from the name of an encoder counts only where the packet was
    /// found to be the first.
    private func trueSkip(_ told: (start: Int, end: Int)) -> (start: Int, end: Int) {
        track.codecName == "aac" || track.codecName == "aac_latm" ? (packet.skip.start, told.end) : told
    }

    /// Drops priming and padding off a fresh block and puts the rest on the clock.
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
        // Behind the sound, or between two edits; before it, priming says it to the frame.
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

    /// Cuts `block` to what `range` and the promised length want of it; `false` when nothing is left.
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

    /// Where the sound ends for certain; what decoders give beyond it is padding.
    private var soundEnd: Int64 {
        // More than was promised would be news, and is kept, but for padding and for what stands in for damage.
        (damage.isEmpty || !feed.endsWhereItPromised ? feed.soundEnd : track.length.exactFrames) ?? .max
    }

    // MARK: Ranges

    /// Keeps the block in which `range` ends if the next range begins in it: a pipe gives it only once.
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

    /// Jumps over what lies before `frame`, as far as that is exact.
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
                "the source cannot be searched",
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
            "the range \(wanted), the source ends at frame \(end)",
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
            throw MediaError(error, .corruptStream, at: .decode, "there is no silence of the shape of this sound")
        }
        block.silence()
        block.position = clock
        owedSilence -= frames
        clock += frames
    }

    // MARK: Clocks

    var position: MediaTime { MediaTime(frames: reached, rate: track.sampleRateHz) }

    /// How many frames a packet of this codec gives.
    var usualFrames: Int64 { Int64(decoder.frameSize > 0 ? decoder.frameSize : lastFrameCount) }

    /// Frames of a block in frames of the track; what is less than one is kept for the next block.
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
    /// What silence looks like before the first block has shown it.
    fileprivate var silentShape: SampleShape {
        SampleShape(
            format: isFloat ? .f32 : bitDepth > 16 ? .s32 : .s16,
            sampleRateHz: sampleRateHz,
            channelCount: channelCount,
            channelMask: channelMask
        )
    }
}
