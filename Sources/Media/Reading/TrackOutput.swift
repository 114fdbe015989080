import Conversion

/// The decoded samples of one track, in order, each exactly once, trimmed to the sound and to the wanted ranges.
///
/// Positions count frames at the track's rate from the first frame of sound: priming and padding are no part of it.
public final class TrackOutput {
    public let track: Track
    /// Frames handed out so far.
    public private(set) var deliveredFrames: Int64 = 0
    /// What was missing, and where.
    public private(set) var damage = DamageAccount()

    private let options: Reader.Options
    private let reopen: () throws -> Demuxer
    private let ranges: [Range<Int64>]
    private var rangeIndex = 0
    private var decoder: Decoder
    private var feed: PacketFeed
    private var packet: Packet
    /// The next decoded frame's number; the sound starts at zero.
    private var clock: Int64 = 0
    /// The same with everything that was decoded and dropped: what timestamps count.
    private var rawClock: Int64 = 0
    /// Decoded frames still to be dropped before the sound begins.
    private var priming: Int
    private var hasDecoded = false
    /// Frames of silence that stand for damage and are still to be handed out.
    private var owedSilence: Int64 = 0
    private var lastShape: SampleShape?
    private var lastFrameCount = 0
    private var phase = Phase.decoding

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
        priming = track.primingFrames ?? 0
        packet = try Packet()
        feed = try PacketFeed(demuxer, track, bearsDamage: options.damage != .strict)
        decoder = try TrackOutput.decoder(of: track, in: demuxer)
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
            let end = range.upperBound == .max ? track.length.frames : range.upperBound
            guard let end else { return nil }
            sum += max(0, end - range.lowerBound)
        }
        return sum
    }

    /// Fills `block` with the next samples; `false` once all ranges are done.
    ///
    /// The block's memory is the output's again at the next call.
    public func next(into block: inout SampleBlock) throws -> Bool {
        while rangeIndex < ranges.count {
            let range = ranges[rangeIndex]
            if clock >= range.upperBound {
                try startNextRange()
            } else if owedSilence > 0 {
                try fillSilence(&block)
                if try deliver(&block, within: range) { return true }
            } else if phase == .ended {
                rangeIndex = ranges.count
                try checkEnd(range)
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
            case .filled: return keepSound(of: &block, skip)
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
        if let gap = try feed.gap(before: packet, decoded: rawClock, usual: usualFrames) {
            try note(gap.code, frames: gap.frames, gap.detail)
        }
        // A packet that is cut short by the end of the source is settled there.
        if packet.isMarkedCorrupt, try feed.hasMore() {
            try note(.corruptStream, frames: 0, "the container marks this packet as damaged")
        }
        try decoder.send(packet)
    }

    /// Drops priming and padding off a fresh block and puts the rest on the clock.
    private func keepSound(of block: inout SampleBlock, _ skip: (start: Int, end: Int)) -> Bool {
        guard let shape = block.shape else { return false }
        lastShape = shape
        lastFrameCount = block.frameCount
        hasDecoded = true
        if feed.countsSkips { priming += skip.start }
        let front = min(priming, block.frameCount)
        priming -= front
        let back = min(skip.end, block.frameCount - front)
        let kept = Int64(block.frameCount - front - back)
        block.trim(front: front, back: back)
        block.position = clock
        clock += onTrackClock(kept, rate: shape.sampleRateHz)
        rawClock += onTrackClock(kept + Int64(front + back), rate: shape.sampleRateHz)
        return kept > 0
    }

    /// Cuts `block` to what `range` and the promised length want of it; `false` when nothing is left.
    private func deliver(_ block: inout SampleBlock, within range: Range<Int64>) throws -> Bool {
        let rate = block.shape?.sampleRateHz ?? track.sampleRateHz
        let end = min(range.upperBound, soundEnd)
        let front = onBlockClock(max(0, range.lowerBound - block.position), rate: rate)
        let back = onBlockClock(max(0, clock - end), rate: rate)
        guard front + back < Int64(block.frameCount) else { return false }
        block.trim(front: Int(front), back: Int(back))
        deliveredFrames += Int64(block.frameCount)
        return true
    }

    /// Where the sound ends for certain; what decoders give beyond it is padding.
    private var soundEnd: Int64 {
        // More than was promised would be news, and is kept, but for padding and for what stands in for damage.
        (damage.isEmpty ? feed.soundEnd : track.length.exactFrames) ?? .max
    }

    // MARK: Ranges

    private func startNextRange() throws {
        rangeIndex += 1
        guard rangeIndex < ranges.count, ranges[rangeIndex].lowerBound < clock else { return }
        let demuxer = try reopen()
        feed = try PacketFeed(demuxer, track, bearsDamage: options.damage != .strict)
        decoder = try TrackOutput.decoder(of: track, in: demuxer)
        (clock, rawClock, priming, phase, owedSilence) = (0, 0, track.primingFrames ?? 0, .decoding, 0)
        hasDecoded = false
    }

    /// Jumps over what lies before `frame`, as far as that is exact.
    private func skipAhead(to frame: Int64) throws {
        guard frame > clock, priming == 0 else { return }
        do {
            guard let landed = try feed.skip(from: clock, to: frame, atStart: !hasDecoded) else { return }
            decoder.flush()
            (clock, rawClock) = (landed, landed)
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

    // MARK: Damage

    private func note(_ error: LibAVError) throws {
        if error.wasInterrupted || error.isOutOfMemory || feed.ioFailed {
            throw MediaError(
                error,
                .sourceIO,
                at: .decode,
                "the source cannot be read on",
                stream: track.index,
                position: position,
                frame: clock
            )
        }
        // Decoders start cold after a jump: what they trip over before the range is not part of it.
        if clock < ranges[rangeIndex].lowerBound {
            clock += feed.frames(of: packet) ?? usualFrames
            return
        }
        if options.damage == .strict {
            let isCut = try !feed.hasMore() && feed.isAtEndOfSource
            throw MediaError(
                error,
                isCut ? .truncated : .corruptStream,
                at: .decode,
                isCut ? "the source ends in the middle of its data" : "the \(track.codecName) data cannot be decoded",
                stream: track.index,
                position: position,
                frame: clock
            )
        }
        var lost = feed.lostFrames(with: packet, usual: usualFrames)
        let inPriming = min(Int64(priming), lost)
        priming -= Int(inPriming)
        rawClock += inPriming
        lost -= inPriming
        try note(.corruptStream, frames: lost, "")
    }

    /// Enters `frames` lost frames at the clock, or throws when damage is not to be borne.
    private func note(_ code: MediaError.Code, frames: Int64, _ detail: String) throws {
        if options.damage == .strict {
            throw MediaError(code, at: .decode, detail, stream: track.index, position: position, frame: clock)
        }
        damage.note(code, at: clock, frames: frames)
        rawClock += frames
        if options.damage == .conceal { owedSilence += frames } else { clock += frames }
    }

    private func endEarly(_ error: LibAVError) throws {
        let cutOff = feed.isAtEndOfSource
        guard options.damage == .strict else {
            // The promised length, where there is one, decides how much is missing.
            return try note(cutOff ? .truncated : .corruptStream, frames: 0, "")
        }
        throw MediaError(
            error,
            cutOff ? .truncated : .corruptStream,
            at: .decode,
            cutOff ? "the source ends in the middle of its data" : "the container cannot be read on",
            stream: track.index,
            position: position,
            frame: clock
        )
    }

    /// At the end of the source: is all there that was promised?
    private func settleEnd() throws {
        if !hasDecoded, clock == 0 {
            throw MediaError(
                .noDecodableFrame,
                at: .decode,
                "no frame of the \(track.codecName) track could be decoded",
                stream: track.index
            )
        }
        let missing = track.length.shortfall(clock)
        if missing > 0 {
            let promised = track.length.frames!
            try note(
                .truncated,
                frames: missing,
                "the header promises \(MediaTime(frames: promised, rate: track.sampleRateHz)) "
                    + "(frame \(promised)), the data ends before"
            )
        } else if feed.endsUnmarked {
            try note(.truncated, frames: 0, "the source stops in the middle of its stream")
        }
    }

    private func checkEnd(_ range: Range<Int64>) throws {
        guard range.upperBound != .max, clock < range.upperBound else { return }
        throw MediaError(
            .rangeOutsideSource,
            at: .decode,
            "the range ends at frame \(range.upperBound), the source at frame \(clock)",
            stream: track.index,
            position: position,
            frame: clock
        )
    }

    private func fillSilence(_ block: inout SampleBlock) throws {
        let frames = min(owedSilence, Self.silenceFrames)
        let shape = lastShape ?? decoder.shape ?? track.silentShape
        do {
            try block.reserve(Int(onBlockClock(frames, rate: shape.sampleRateHz)), shape)
        } catch let error as LibAVError {
            throw MediaError(error, .outOfMemory, at: .decode, "no memory for a block of silence")
        }
        block.silence()
        block.position = clock
        owedSilence -= frames
        clock += frames
    }

    // MARK: Clocks

    private var position: MediaTime { MediaTime(frames: clock, rate: track.sampleRateHz) }

    /// How many frames a packet of this codec gives.
    private var usualFrames: Int64 { Int64(decoder.frameSize > 0 ? decoder.frameSize : lastFrameCount) }

    private func onTrackClock(_ frames: Int64, rate: Int) -> Int64 {
        rate == track.sampleRateHz ? frames : frames * Int64(track.sampleRateHz) / Int64(rate)
    }

    private func onBlockClock(_ frames: Int64, rate: Int) -> Int64 {
        rate == track.sampleRateHz ? frames : frames * Int64(rate) / Int64(track.sampleRateHz)
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
