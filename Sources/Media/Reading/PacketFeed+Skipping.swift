import Conversion

/// Going on further behind, without decoding what lies between.
extension PacketFeed {
    /// Moves towards `frame` without decoding, as far as positions stay exact; `nil` when it did not move.
    ///
    /// `decoded` and `frame` count since the start of the source, priming included, and so does the answer: the first
    /// frame that the decoder gives next, early enough for it to have found its state by `frame`. `scratch` is left
    /// with anything.
    mutating func skip(from decoded: Int64, to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        guard maySkip, !lengths.isBroken, let place, let preroll else { return nil }
        // Only who decodes all of a damaged source knows what it lacks; PCM lacks nothing but its end.
        guard stream.isPCM || !bearsDamage, frame - place > max(preroll * 2, Self.leastSkip) else { return nil }
        // What the packets promised must have come out, or they are not to be counted by. Opus holds a little back.
        guard (0...(track.codecName == "opus" ? 960 : 0)).contains(place - decoded) else { return nil }
        if demuxer.source.isSeekable, frame - place > Self.leastJump,
            let landed = try jump(to: frame - preroll, using: &scratch)
        {
            return landed
        }
        return try scan(to: frame - preroll, using: &scratch)
    }

    /// Reads on without decoding.
    private mutating func scan(to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        var hasMoved = false
        while let before = place, try next(into: &scratch) {
            if lengths.isBroken { throw SkipFailure() }
            let start = try clockPlace(of: scratch, counted: before)
            guard let frames = readFrames, start + frames <= frame, scratch.isPlain else {
                putBack(&scratch, at: before)
                // Vorbis needs one packet to fill its window, which then gives nothing.
                givesNothing = hasMoved && track.codecName == "vorbis"
                return hasMoved ? before + (track.codecName == "vorbis" ? readFrames ?? 0 : 0) : nil
            }
            place = start + frames
            hasMoved = true
        }
        return hasMoved ? place : nil
    }

    /// The first frame of a packet that is skipped: what is missing before it moves it, wanted or not.
    private mutating func clockPlace(of packet: borrowing Packet, counted: Int64) throws -> Int64 {
        let start = counted + (arrival.loss?.frames ?? 0)
        guard watch != nil, let frame = clockFrame(of: packet) else { return start }
        let isSuspect = arrival.pages.gap != .none
        return watch!.place(of: frame, counted: start, usual: readFrames ?? 0, isSuspect: isSuspect)
    }

    /// Where the container puts the packet in hand; `nil` where it does not say.
    func clockFrame(of packet: borrowing Packet) -> Int64? {
        if isMisled { return arrival.start }
        return pages == nil ? packet.timestamp.map { self.frame(at: $0) } : arrival.pages.frame
    }

    /// Jumps in the file, where it is certain which frame lies where; `nil` where it is not.
    private mutating func jump(to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        switch demuxer.name {
        case "mov,mp4,m4a,3gp,3g2,mj2": try jumpByIndex(to: frame, using: &scratch)
        case "flac": try jumpByFrameNumber(to: frame, using: &scratch)
        case "matroska,webm", "mpegts", "asf", "ogg": nil
        default: stream.isPCM ? try jumpByBytes(to: frame) : nil
        }
    }

    /// Everything between head and tail is samples of one size.
    private mutating func jumpByBytes(to frame: Int64) throws -> Int64? {
        guard let firstPlace, stream.blockAlign > 0, let size = demuxer.source.size,
            frame < (size - firstPlace) / Int64(stream.blockAlign)
        else { return nil }
        holdsAhead = false
        try demuxer.seek(toByte: firstPlace + frame * Int64(stream.blockAlign))
        place = frame
        return frame
    }

    /// The sample table says where each packet lies and when. It is believed as far as it agrees with the codec.
    private mutating func jumpByIndex(to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        guard let firstTime, let place, let length = readFrames,
            let now = stream.ticks(exactly: place, rate: track.sampleRateHz).flatMap(Plausible.ticks),
            let then = stream.ticks(exactly: frame, rate: track.sampleRateHz).flatMap(Plausible.ticks),
            let step = stream.ticks(exactly: length, rate: track.sampleRateHz).flatMap(Plausible.ticks),
            let time = try demuxer.indexedTime(
                of: stream,
                from: firstTime + now,
                upTo: firstTime + then,
                inStepsOf: stream.isPCM ? nil : step
            )
        else { return nil }
        holdsAhead = false
        try demuxer.seek(track.index, to: time)
        // libav may land a little earlier, by an offset of its own.
        guard try next(into: &scratch), let reached = scratch.timestamp, reached >= firstTime + now, reached <= time,
            scratch.isPlain, let landed = stream.exactFrames(reached - firstTime, rate: track.sampleRateHz)
        else { throw SkipFailure() }
        putBack(&scratch, at: landed)
        return landed
    }

    /// Each frame carries its number, protected by the checksum that its decoding confirms.
    private mutating func jumpByFrameNumber(to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        guard let firstNumber, let block = stream.flacBlockFrames, track.length.exactFrames != nil, !isMisled else {
            return nil
        }
        holdsAhead = false
        // The last frame may be shorter, and its number then tells libav a wrong time.
        try demuxer.seek(track.index, to: firstNumber + frame - Int64(block))
        lengths.forgetOrder()
        guard try next(into: &scratch),
            let landed = scratch.flacHeader?.start(blockFrames: block).map({ $0 - firstNumber }),
            landed <= frame, landed >= 0
        else { throw SkipFailure() }
        putBack(&scratch, at: landed)
        return landed
    }

    /// A skip met what is not certain: only reading from the start helps.
    struct SkipFailure: Error {}

    private mutating func putBack(_ packet: inout Packet, at frame: Int64) {
        ahead.take(&packet)
        holdsAhead = true
        place = frame
    }

    /// Shorter ways are decoded: it costs less than finding out.
    private static let leastSkip: Int64 = 1 << 14
    /// Shorter ways are read: it costs less than an empty buffer.
    private static let leastJump: Int64 = 1 << 17

    /// Frames that a decoder needs before its output is the one it would give without the skip; `nil` where a skip
    /// cannot be exact, because packets do not say how many frames they hold or depend on all that came before.
    private var preroll: Int64? {
        if stream.isPCM { return 0 }
        switch track.codecName {
        case "alac", "flac", "tta", "wavpack", "adpcm_ima_wav", "adpcm_ms": return 0
        // The bit reservoir reaches 511 bytes back: at most ten frames, and one more for the overlap.
        case "mp3", "mp2", "mp1": return 12 * 1152
        // What SBR adds is coded by differences, over a second or so.
        case "aac", "aac_latm": return readFrames == 2048 ? 48 * 2048 : 8 * 1024
        case "ac3", "eac3": return 4 * 1536
        case "dts": return 8 * 1024
        case "vorbis": return 2 * 8192
        // RFC 7845 asks for 80 ms.
        case "opus": return 4 * 3840
        default: return nil
        }
    }
}
