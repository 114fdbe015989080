import Conversion

/// The packets of one track on their way to the decoder: what each should hold, what is missing between them, skipping
/// ahead, and how they end.
struct PacketFeed: ~Copyable {
    /// Whether the source itself failed, and not what it holds.
    var ioFailed: Bool { demuxer.source.failure != nil }

    let demuxer: Demuxer
    private let stream: InputStream
    private let track: Track
    private let bearsDamage: Bool
    /// A packet that was read too early and comes next.
    private var ahead: Packet
    /// Takes turns with it: nothing is allocated per packet.
    private var spare: Packet?
    private var holdsAhead = false
    private var earlyEnd: LibAVError?
    /// See `isPartialFrame`.
    private(set) var partialPacketBytes: Int64?
    private var watch: TimestampWatch?
    private let pages: OggPages?
    /// What is known of the way to the packet in hand, and to the one ahead.
    private var arrival = Arrival()
    private var arrivalAhead = Arrival()
    /// Whether the next packet only fills the decoder's window.
    private var givesNothing = false
    private var packetCount: Int64 = 0
    private(set) var lastPlace: Int64 = 0
    /// Frames in all packets that were handed out or skipped; `nil` once one did not say.
    private var place: Int64? = 0
    /// Cleared after a skip that failed.
    var maySkip = true
    /// Frames in the packet that was read last.
    private var readFrames: Int64?
    private var lengths: PacketLength
    /// Whether the packets of this codec say nothing, and the container is one that does not round.
    private let countsByContainer: Bool
    /// Where, when and with which number the first packet lies.
    private(set) var firstPlace: Int64?
    private var firstTime: Int64?
    private var firstNumber: Int64?
    private var firstDuration: Int64 = 0
    private var lastPage: Int64?
    /// The FLAC packet handed out last, and what the decoder made of it.
    private var given: (header: FLACFrameHeader, blocks: Int64, frames: Int64)?

    private struct Arrival {
        /// What was found missing before the packet.
        var loss: Loss?
        var pages = OggPages.Arrival()
    }

    init(_ demuxer: Demuxer, _ track: Track, bearsDamage: Bool) throws {
        self.demuxer = demuxer
        self.stream = demuxer.streams[track.index]
        self.track = track
        self.bearsDamage = bearsDamage
        ahead = try Packet()
        lengths = PacketLength(stream)
        countsByContainer =
            track.codecName == "tta" && !["matroska,webm", "mpegts", "asf"].contains(demuxer.name)
        watch = TimestampWatch(demuxer.name, track)
        pages = demuxer.name == "ogg" ? OggPages(demuxer.source) : nil
        demuxer.select(track.index)
    }

    // MARK: Reading

    /// Fills `packet`; `false` at the end. A source that breaks off ends here too: ask `takeEarlyEnd` why.
    mutating func next(into packet: inout Packet) throws -> Bool {
        var isThere: Bool
        repeat {
            if holdsAhead {
                holdsAhead = false
                packet.take(&ahead)
                isThere = true
            } else {
                isThere = try read(into: &packet)
            }
            arrival = arrivalAhead
        } while isThere && isRepeated(packet)
        guard isThere else { return false }
        if isPartialFrame(packet), try !hasMore() {
            partialPacketBytes = Int64(packet.byteCount)
            return false
        }
        lastPage = packet.place
        if let before = place { place = readFrames.map { before + $0 + (arrival.loss?.frames ?? 0) } }
        return true
    }

    private mutating func read(into packet: inout Packet) throws -> Bool {
        arrivalAhead = Arrival()
        while true {
            do {
                guard try demuxer.read(into: &packet, of: track.index) else {
                    arrivalAhead.loss = demuxer.framed?.takeLoss() ?? arrivalAhead.loss
                    return false
                }
                if demuxer.name == "mp3", packet.isTag { continue }
                arrivalAhead.loss = demuxer.framed?.takeLoss() ?? arrivalAhead.loss
                count(packet)
                try correctSkip(&packet)
                return true
            } catch let error as LibAVError {
                if error.wasInterrupted || error.isOutOfMemory || ioFailed { throw error }
                if let next = demuxer.resynchronise(behind: lastPlace) {
                    lastPlace = next
                    let detail = "some bytes here are no \(track.codecName)"
                    arrivalAhead.loss = Loss(code: .corruptStream, frames: 0, detail: detail, cause: error)
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
        } else if demuxer.name.hasPrefix("mov"), packetCount == 1, let time = packet.timestamp {
            // The edit list puts the sound at zero. Of a delay beyond a packet, as Apple's encoder has it, libav may mark
            // the first packet's part alone; and it counts in ticks of the track, which are not always samples.
            let start = Int(stream.nearestFrames(max(Int64(packet.skip.start), -time), rate: track.sampleRateHz))
            if start > 0 { try packet.setSkip(start: start, end: packet.skip.end) }
        } else if packetCount == 1, track.codecName == "opus", demuxer.name == "matroska,webm", packet.hasSkip {
            // The block says only what is to be dropped at its end, and that puts the codec's own delay out of force.
            let (start, end) = packet.skip
            if start == 0 { try packet.setSkip(start: stream.opusPreSkip, end: end) }
        }
    }

    /// Whether another packet follows the one in hand.
    mutating func hasMore() throws -> Bool {
        guard !holdsAhead else { return true }
        var packet = try spare.take() ?? Packet()
        holdsAhead = try read(into: &packet)
        ahead.take(&packet)
        spare = consume packet
        return holdsAhead
    }

    mutating func takeEarlyEnd() -> LibAVError? {
        defer { earlyEnd = nil }
        return earlyEnd
    }

    /// What was found missing before the packet handed out last, or behind all of them.
    mutating func takeLoss() -> Loss? {
        defer { arrival.loss = nil }
        return arrival.loss
    }

    /// Whether the packet in hand was put together from parts that do not belong together.
    mutating func isSpliced() throws -> Bool {
        guard pages != nil, try hasMore() else { return false }
        return arrivalAhead.pages.gap == .within
    }

    /// Whether what of a packet cannot be decoded is no more than the byte that makes odd chunks even.
    func isPadding(_ packet: borrowing Packet) -> Bool {
        stream.isPCM && stream.blockAlign > 1 && packet.byteCount % stream.blockAlign == 1
    }

    /// Whether the source was read to its end: what is missing now is missing there.
    var isAtEndOfSource: Bool {
        demuxer.name == "matroska,webm" ? MatroskaEnd.isBroken(demuxer.source) : demuxer.source.isExhausted
    }

    /// libav puts several FLAC frames into one packet where rate or channels change, and gives some of them again.
    private mutating func isRepeated(_ packet: borrowing Packet) -> Bool {
        guard demuxer.name == "flac", let header = packet.flacHeader else { return false }
        if let given, given.header.numbersSamples == header.numbersSamples, header.number > given.header.number - 1 {
            let end = given.header.number + (header.numbersSamples ? given.frames : given.blocks)
            if header.number < end { return true }
        }
        given = (header, 0, 0)
        return false
    }

    /// Notes that the packet handed out last gave a block of so many frames.
    mutating func noteBlock(of frames: Int) {
        given?.blocks += 1
        given?.frames += Int64(frames)
    }

    private mutating func count(_ packet: borrowing Packet) {
        packetCount += 1
        readFrames = countsByContainer ? frames(of: packet) : lengths.frames(in: packet)
        // The first one of Vorbis only fills the window.
        if packetCount == 1, track.codecName == "vorbis" { readFrames = 0 }
        if let place = packet.place {
            lastPlace = place
            if let pages { arrivalAhead.pages = pages.arrive(at: place, firstFrames: readFrames, lengths) }
        }
        if packetCount == 1 {
            firstDuration = packet.duration
            (firstPlace, firstTime) = (packet.place, packet.timestamp)
            firstNumber = stream.flacBlockFrames.flatMap { packet.flacHeader?.start(blockFrames: $0) }
        }
    }

    // MARK: What a packet should hold

    /// Frames in `packet` by its container; `nil` where they are no whole number.
    func frames(of packet: borrowing Packet) -> Int64? {
        packet.duration > 0 ? stream.exactFrames(packet.duration, rate: track.sampleRateHz) : nil
    }

    /// Frames to drop from this packet's on, where that is the packet's to say and not the decoder's: of MP4, SBR
    /// doubles what is decoded and not what is to be dropped.
    func skippedFrames(in packet: borrowing Packet) -> Int? {
        demuxer.name.hasPrefix("mov") && packet.skip.start > 0 ? packet.skip.start : nil
    }

    /// Frames that libav wants dropped at the end of the packet in hand, and that are sound.
    ///
    /// Of a chained Vorbis stream whose first link has one page, it takes the first packet to give frames; it only fills
    /// the window. A file that is one page is cut at its length.
    var wronglyDropped: Int {
        guard demuxer.name == "ogg", track.codecName == "vorbis", !track.isCutAtLength, firstTime == 0,
            lastPage == firstPlace
        else { return 0 }
        return Int(firstDuration)
    }

    /// Frames from `packet`, in hand, to the next one, where containers and codecs are such that it gives exactly those;
    /// `nil` elsewhere, and for the last one.
    mutating func exactFrames(of packet: borrowing Packet) throws -> Int64? {
        let isMP4 = demuxer.name == "mov,mp4,m4a,3gp,3g2,mj2"
        guard isMP4 || demuxer.name == "caf",
            ["opus", "alac", "flac"].contains(track.codecName) || isMP4 && track.codecName == "aac",
            let time = packet.timestamp, try hasMore(), let following = ahead.timestamp, following > time
        else { return nil }
        // No packet of theirs is longer than a few thousand frames: a greater step is a gap, or a wrong number.
        return stream.exactFrames(following - time, rate: track.sampleRateHz).flatMap { $0 <= 1 << 16 ? $0 : nil }
    }

    // MARK: Gaps

    /// What is missing before the packet in hand, by the container's clock where it has a good one; `nil` when nothing
    /// is.
    ///
    /// `decoded` counts all frames since the start of the source, priming included; `estimate` is what is believed lost
    /// since then, and `usual` the frames of a packet.
    mutating func missing(before packet: borrowing Packet, decoded: Int64, estimate: Loss?, usual: Int64) throws
        -> Loss?
    {
        guard watch != nil, !givesNothing else {
            givesNothing = false
            return estimate
        }
        let isSuspect = arrival.pages.gap != .none
        guard let frame = clockFrame(of: packet) else {
            return isSuspect ? estimate ?? Loss(code: .corruptStream, frames: 0, detail: Self.brokenPages) : estimate
        }
        let lost = estimate?.frames ?? 0
        switch watch!.judge(frame, decoded: decoded, lost: lost, usual: usual, isSuspect: isSuspect) {
        case .agrees: return estimate
        case .ahead(let step):
            // A single wrong timestamp is no gap.
            if try isAlone(frame, decoded + lost, usual) { return estimate }
            let frames = watch!.wholePackets(step, of: usual)
            watch!.accept(frame, decoded: decoded + frames)
            if let estimate { return estimate.costing(frames) }
            if isSuspect { return Loss(code: .corruptStream, frames: frames, detail: Self.brokenPages) }
            let missing = MediaTime(frames: frames, rate: track.sampleRateHz)
            let detail = "\(missing) of sound are missing by the container's clock"
            return Loss(code: .timelineGap, frames: frames, detail: detail)
        case .behind(let step):
            if try isAlone(frame, decoded + lost, usual) { return estimate }
            // Time that runs backwards loses no sound; it may show that less was lost than it seemed.
            let frames = watch!.wholePackets(max(0, min(step, lost)), of: usual)
            watch!.accept(frame, decoded: decoded + frames)
            return estimate?.costing(frames)
        }
    }

    private static let brokenPages = "pages are missing here"

    /// Whether the packet behind the one at `frame` takes up where the one before left off, at `decoded` frames.
    private mutating func isAlone(_ frame: Int64, _ decoded: Int64, _ usual: Int64) throws -> Bool {
        guard pages == nil, try hasMore(), let following = ahead.timestamp.map({ self.frame(at: $0) }) else {
            return false
        }
        return watch!.distance(following, decoded: decoded + usual) < watch!.distance(frame, decoded: decoded) / 2
    }

    private func frame(at time: Int64) -> Int64 { stream.nearestFrames(time, rate: track.sampleRateHz) }

    // MARK: Ends

    /// Where the encoder's padding begins, in containers that say so and leave the cutting to us.
    var soundEnd: Int64? {
        if track.isCutAtLength { return track.length.exactFrames }
        switch demuxer.name {
        case "mov,mp4,m4a,3gp,3g2,mj2":
            return stream.ticks(exactly: 1, rate: track.sampleRateHz) == nil ? nil : track.length.frames
        case "caf": return stream.isPCM ? nil : track.length.frames
        // libav reads on behind the samples.
        case "mpc8", "dsf", "au", "nistsphere", "sox": return track.length.exactFrames
        default: return nil
        }
    }

    /// Whether what lies behind the promised length is no sound: only MP3 and Ogg are joined to files of which their
    /// first part knows nothing.
    var endsWhereItPromised: Bool {
        track.length.exactFrames != nil && demuxer.name != "mp3" && pages?.isChained != true
    }

    /// Whether the source stops without what ends its kind: Ogg's last page, the rest of a Matroska cluster, of an
    /// MP4 box or of ASF's packets.
    var endsUnmarked: Bool {
        switch demuxer.name {
        case "ogg": !SourceEnd.hasOggEnd(demuxer.source)
        case "matroska,webm": MatroskaEnd.isBroken(demuxer.source)
        case "mov,mp4,m4a,3gp,3g2,mj2": FragmentChain.isBroken(demuxer.source)
        case "asf": ASFEnd.isCut(demuxer.source)
        case "avi": DeclaredEnd.isCutAVI(demuxer.source)
        case "voc": DeclaredEnd.isCutVOC(demuxer.source)
        default: false
        }
    }
}

// MARK: - Skipping

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
    private func clockFrame(of packet: borrowing Packet) -> Int64? {
        pages == nil ? packet.timestamp.map { self.frame(at: $0) } : arrival.pages.frame
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
            let now = stream.ticks(exactly: place, rate: track.sampleRateHz),
            let then = stream.ticks(exactly: frame, rate: track.sampleRateHz),
            let step = stream.ticks(exactly: length, rate: track.sampleRateHz),
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
        guard let firstNumber, let block = stream.flacBlockFrames, track.length.exactFrames != nil else { return nil }
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
