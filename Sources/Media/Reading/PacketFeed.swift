import Conversion

/// The packets of one track on their way to the decoder: what each should hold, what is missing between them, skipping
/// ahead, and how they end.
struct PacketFeed: ~Copyable {
    /// Frames that ought to lie before a packet and do not.
    struct Gap {
        let code: MediaError.Code
        let frames: Int64
        let detail: String
    }

    /// What decoders are told to skip counts only from the start of the source; after a jump the clock knows better.
    private(set) var countsSkips = true
    /// Whether the source itself failed, and not what it holds.
    var ioFailed: Bool { demuxer.source.failure != nil }

    private let demuxer: Demuxer
    private let stream: InputStream
    private let track: Track
    private let bearsDamage: Bool
    /// A packet that was read too early and comes next.
    private var ahead: Packet
    private var holdsAhead = false
    private var earlyEnd: LibAVError?
    /// By how much timestamps run ahead of the decoded frames, gaps already noted included.
    private var timestampBase: Int64 = 0
    private var timedPackets = 0
    private static let settlingPackets = 4
    private var byteCount: Int64 = 0
    private var packetCount: Int64 = 0
    /// Where the bytes of the last packet end in the source.
    private var lastPlace: Int64?
    private var lostBytes: Int64 = 0

    init(_ demuxer: Demuxer, _ track: Track, bearsDamage: Bool) throws {
        self.demuxer = demuxer
        self.stream = demuxer.streams[track.index]
        self.track = track
        self.bearsDamage = bearsDamage
        ahead = try Packet()
        demuxer.select(track.index)
    }

    // MARK: Reading

    /// Fills `packet`; `false` at the end. A source that breaks off ends here too: ask `takeEarlyEnd` why.
    mutating func next(into packet: inout Packet) throws -> Bool {
        if holdsAhead {
            holdsAhead = false
            packet.take(&ahead)
            return true
        }
        return try read(into: &packet)
    }

    private mutating func read(into packet: inout Packet) throws -> Bool {
        while true {
            do {
                guard try demuxer.read(into: &packet, of: track.index) else { return false }
                count(packet)
                try correctSkip(&packet)
                return true
            } catch let error as LibAVError {
                if error.wasInterrupted || error.isOutOfMemory || ioFailed { throw error }
                if bearsDamage, let skipped = demuxer.resynchronise() {
                    lostBytes += skipped
                    continue
                }
                earlyEnd = error
                return false
            }
        }
    }

    /// What libav 5.1 gets wrong, or leaves out, of the frames to drop.
    private func correctSkip(_ packet: inout Packet) throws {
        if track.isCutAtLength {
            if packet.hasSkip { try packet.setSkip(start: packet.skip.start, end: 0) }
        } else if packetCount == 1, demuxer.name.hasPrefix("mov"), let time = packet.timestamp, time < 0 {
            // The edit list puts the sound at zero. Of a delay beyond a packet, as Apple's encoder has it, libav marks
            // the first packet's part alone.
            let start = Int(stream.nearestFrames(-time, rate: track.sampleRateHz))
            if start > packet.skip.start { try packet.setSkip(start: start, end: packet.skip.end) }
        } else if packetCount == 1, track.codecName == "opus", demuxer.name == "matroska,webm", packet.hasSkip {
            // The block says only what is to be dropped at its end, and that puts the codec's own delay out of force.
            let (start, end) = packet.skip
            if start == 0 { try packet.setSkip(start: stream.opusPreSkip, end: end) }
        }
    }

    /// Whether another packet follows the one in hand.
    mutating func hasMore() throws -> Bool {
        guard !holdsAhead else { return true }
        var packet = try Packet()
        holdsAhead = try read(into: &packet)
        ahead.take(&packet)
        return holdsAhead
    }

    mutating func takeEarlyEnd() -> LibAVError? {
        defer { earlyEnd = nil }
        return earlyEnd
    }

    var isAtEndOfSource: Bool { demuxer.source.isExhausted }

    private mutating func count(_ packet: borrowing Packet) {
        packetCount += 1
        byteCount += Int64(packet.byteCount)
        lastPlace = packet.place.map { $0 + Int64(packet.byteCount) }
    }

    // MARK: What a packet should hold

    /// Frames in `packet` by its container; `nil` where they are no whole number.
    func frames(of packet: borrowing Packet) -> Int64? {
        packet.duration > 0 ? stream.exactFrames(packet.duration, rate: track.sampleRateHz) : nil
    }

    /// Frames that were lost with a packet which cannot be decoded. Streams without an index hand out whatever lies
    /// between two good packets as one: then its bytes tell.
    func lostFrames(with packet: borrowing Packet, usual: Int64) -> Int64 {
        let one = frames(of: packet) ?? usual
        guard isUnindexed, packetCount > 1 else { return one }
        let others = (byteCount - Int64(packet.byteCount)) / (packetCount - 1)
        guard others > 0 else { return one }
        return one * max(1, (Int64(packet.byteCount) + others / 2) / others)
    }

    private var isUnindexed: Bool { ["mp3", "aac", "ac3", "eac3", "dts"].contains(demuxer.name) }

    /// Whether containers and codecs are such that a packet gives exactly the frames that it states.
    var statesFramesExactly: Bool {
        ["mov,mp4,m4a,3gp,3g2,mj2", "caf", "ogg"].contains(demuxer.name)
            && ["opus", "alac", "flac"].contains(track.codecName)
    }

    // MARK: Gaps

    /// The frames missing between what was decoded so far and where `packet` says that it belongs.
    ///
    /// `decoded` counts all frames since the start of the source, priming included.
    mutating func gap(before packet: borrowing Packet, decoded: Int64, usual: Int64) throws -> Gap? {
        if lostBytes > 0 {
            defer { lostBytes = 0 }
            let others = max(1, byteCount / max(1, packetCount))
            return Gap(
                code: .corruptStream,
                frames: max(1, (lostBytes + others / 2) / others) * (frames(of: packet) ?? usual),
                detail: "\(lostBytes) bytes here are no \(track.codecName)"
            )
        }
        guard let slack = timestampSlack, let time = packet.timestamp else { return nil }
        let frame = stream.nearestFrames(time, rate: track.sampleRateHz)
        timedPackets += 1
        // Decoders may hold back their first frames: the offset is taken when they have found their stride.
        guard timedPackets > Self.settlingPackets else {
            timestampBase = frame - decoded
            return nil
        }
        let step = frame - timestampBase - decoded
        guard abs(step) > slack else { return nil }
        // A single wrong timestamp is no gap, and time that runs backwards loses no sound.
        if try hasMore(), let following = ahead.timestamp, following < time { return nil }
        timestampBase += step
        guard step > 0 else { return nil }
        let missing = MediaTime(frames: step, rate: track.sampleRateHz)
        return Gap(code: .timelineGap, frames: step, detail: "\(missing) of sound are missing by the container's clock")
    }

    /// How far timestamps may stray from the count of frames; `nil` where they are made from it anyway.
    private var timestampSlack: Int64? {
        switch demuxer.name {
        case "matroska,webm", "mpegts", "asf": Int64(track.sampleRateHz / 10)
        case "ogg": Int64(track.sampleRateHz / 20)
        case "flac": 0
        default: nil
        }
    }

    // MARK: Ends

    /// Where the encoder's padding begins, in containers that say so and leave the cutting to us.
    var soundEnd: Int64? {
        if track.isCutAtLength { return track.length.exactFrames }
        switch demuxer.name {
        case "mov,mp4,m4a,3gp,3g2,mj2": return stream.isPCM ? nil : track.length.exactFrames
        case "caf": return stream.isPCM ? nil : track.length.frames
        default: return nil
        }
    }

    /// Whether the source stops without what ends its kind: Ogg's last page, or the rest of an MP3 frame.
    var endsUnmarked: Bool {
        switch demuxer.name {
        case "ogg": !SourceEnd.hasOggEnd(demuxer.source)
        case "mp3": SourceEnd.hasCutMP3Frame(demuxer.source, behind: lastPlace)
        default: false
        }
    }

    // MARK: Skipping

    /// Moves towards `frame` without decoding, as far as positions stay exact; `nil` when it did not move.
    ///
    /// `clock` is the next packet's first frame. The answer is the first frame of the packet that comes next, early
    /// enough for the decoder to have found its state by `frame`.
    mutating func skip(from clock: Int64, to frame: Int64, atStart: Bool) throws -> Int64? {
        if stream.isPCM, demuxer.source.isSeekable {
            return frame - clock > 1 << 16 ? try seek(to: frame) : nil
        }
        guard let preroll, !atStart, frame - clock > preroll * 2 else { return nil }
        var place = clock
        while try hasMore(), let frames = frames(of: ahead), place + frames <= frame - preroll {
            place += frames
            holdsAhead = false
        }
        guard place > clock else { return nil }
        jumped()
        return place
    }

    private mutating func seek(to frame: Int64) throws -> Int64? {
        holdsAhead = false
        try demuxer.seek(track.index, to: stream.ticks(frames: frame, rate: track.sampleRateHz))
        guard try hasMore(), let time = ahead.timestamp,
            let landed = stream.exactFrames(time, rate: track.sampleRateHz), landed <= frame
        else { throw LibAVError.invalid("av_seek_frame") }
        jumped()
        return landed
    }

    private mutating func jumped() {
        countsSkips = false
        timedPackets = 0
    }

    /// Frames that a decoder needs before its output is the one it would give without the jump; `nil` where a jump
    /// cannot be exact because packets do not say how many frames they hold.
    private var preroll: Int64? {
        switch track.codecName {
        case "alac", "flac", "tta", "wavpack": 0
        // The bit reservoir reaches 511 bytes back: at most ten frames, and one more for the overlap.
        case "mp3", "mp2", "mp1": 12 * 1152
        case "aac": 8 * 1024
        case "ac3", "eac3": 4 * 1536
        case "dts": 8 * 1024
        // RFC 7845 asks for 80 ms.
        case "opus": 2 * 3840
        default: nil
        }
    }
}
