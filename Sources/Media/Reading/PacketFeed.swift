import Conversion

/// The packets of one track on their way to the decoder: what each should hold, what is missing between them, skipping
/// ahead, and how they end.
struct PacketFeed: ~Copyable {
    /// Whether the source itself failed, and not what it holds.
    var ioFailed: Bool { demuxer.source.failure != nil }

    let demuxer: Demuxer
    let stream: InputStream
    let track: Track
    let bearsDamage: Bool
    /// A packet that was read too early and comes next.
    var ahead: Packet
    /// Takes turns with it: nothing is allocated per packet.
    private var spare: Packet?
    var holdsAhead = false
    private var earlyEnd: LibAVError?
    /// See `isPartialFrame`.
    private(set) var partialPacketBytes: Int64?
    /// See `endsBeforeItsHeaderSays`.
    private var isCutByHeader: Bool?
    /// Bytes in all packets that were read.
    private var packetBytes: Int64 = 0
    var watch: TimestampWatch?
    let pages: OggPages?
    /// What is known of the way to the packet in hand, and to the one ahead.
    var arrival = Arrival()
    private var arrivalAhead = Arrival()
    /// Whether the next packet only fills the decoder's window.
    var givesNothing = false
    private var packetCount: Int64 = 0
    private(set) var lastPlace: Int64 = 0
    /// Frames in all packets that were handed out or skipped; `nil` once one did not say.
    var place: Int64? = 0
    /// Cleared after a skip that failed.
    var maySkip = true
    /// Frames in the packet that was read last.
    var readFrames: Int64?
    var lengths: PacketLength
    /// What the numbers in a bare FLAC stream's frames count.
    private var numbering: FLACNumbering?
    private var pace: PacketPace?
    /// Whether the packets of this codec say nothing, and the container is one that does not round.
    private let countsByContainer: Bool
    /// Where, when and with which number the first packet lies.
    var firstPlace: Int64?
    var firstTime: Int64?
    var firstNumber: Int64?
    private var firstDuration: Int64 = 0
    private var lastPage: Int64?
    /// The FLAC packet handed out last, and what the decoder made of it.
    private var given: (header: FLACFrameHeader, blocks: Int64, frames: Int64)?

    struct Arrival {
        /// What was found missing before the packet.
        var loss: Loss?
        /// What the codec says that it holds.
        var frames: Int64?
        /// Where a frame of FLAC begins by its own number.
        var start: Int64?
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
        numbering = demuxer.name == "flac" ? FLACNumbering(blockFrames: stream.flacBlockFrames) : nil
        pace = PacketPace(stream)
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
        guard isThere else {
            if isBareMLP, let size = demuxer.source.size, size > packetBytes { partialPacketBytes = size - packetBytes }
            return false
        }
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
                if packet.byteCount == 0, track.codecName == "qcelp" { try packet.setBytes([0]) }
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
        if packetCount == 1, track.codecName == "aac", packet.skip.start == 0,
            !demuxer.name.hasPrefix("mov") || track.primingFrames == FAACMark.priming,
            packet.withBytes({ FAACMark.begins($0) })
        {
            try packet.setSkip(start: FAACMark.priming, end: packet.skip.end)
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
        mutating get {
            demuxer.name == "matroska,webm"
                ? MatroskaEnd.isBroken(demuxer.source) : demuxer.source.isExhausted || endsBeforeItsHeaderSays
        }
    }

    /// libav puts several FLAC frames into one packet where rate or channels change, and gives some of them again.
    private mutating func isRepeated(_ packet: borrowing Packet) -> Bool {
        guard demuxer.name == "flac", let header = packet.flacHeader else { return false }
        if let given, let numbering,
            numbering.isRepeated(header, behind: given.header, blocks: given.blocks, frames: given.frames)
        {
            return true
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
        packetBytes += Int64(packet.byteCount)
        readFrames = countsByContainer ? frames(of: packet) : lengths.frames(in: packet)
        // The first one of Vorbis only fills the window.
        if packetCount == 1, track.codecName == "vorbis" { readFrames = 0 }
        arrivalAhead.frames = readFrames
        if numbering != nil, let header = packet.flacHeader, header.isIntact {
            arrivalAhead.start = numbering!.start(of: header)
        }
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
        if let pace, !pace.isSteady, let whole = pace.whole { return whole }
        return packet.duration > 0 ? stream.exactFrames(packet.duration, rate: track.sampleRateHz) : nil
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
            pace != nil, let time = packet.timestamp, try hasMore(), let following = ahead.timestamp, following > time
        else { return nil }
        let (step, rate) = (following - time, track.sampleRateHz)
        return pace!.frames(
            exact: stream.exactFrames(step, rate: rate),
            near: stream.nearestFrames(step, rate: rate),
            own: arrival.frames
        )
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
        // Between two edits the clock stands still, or goes back.
        if packet.isMarkedDiscard {
            watch!.forget()
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
            // In fragments a damaged number moves all that follows, and no length bounds what it claims.
            if step > PacketPace.longest, demuxer.name.hasPrefix("mov"), track.length.frames == nil {
                watch!.accept(frame, decoded: decoded + lost)
                return estimate
            }
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
        guard pages == nil, try hasMore(),
            let following = isMisled ? arrivalAhead.start : ahead.timestamp.map({ self.frame(at: $0) })
        else { return false }
        return watch!.distance(following, decoded: decoded + usual) < watch!.distance(frame, decoded: decoded) / 2
    }

    /// Whether libav's times of a FLAC stream mean nothing.
    var isMisled: Bool { numbering?.misleadsLibAV == true }

    func frame(at time: Int64) -> Int64 { stream.nearestFrames(time, rate: track.sampleRateHz) }

    // MARK: Ends

    /// Where the encoder's padding begins, in containers that say so and leave the cutting to us.
    var soundEnd: Int64? {
        if track.isCutAtLength { return track.length.exactFrames }
        if track.endsWithItsPackets { return nil }
        switch demuxer.name {
        case "mov,mp4,m4a,3gp,3g2,mj2":
            return stream.ticks(exactly: 1, rate: track.sampleRateHz) == nil ? nil : track.length.frames
        case "caf": return stream.isPCM ? nil : track.length.frames
        // libav reads on behind the samples.
        case "mpc8", "dsf", "au", "nistsphere", "sox", "iff": return track.length.exactFrames
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
        mutating get {
            switch demuxer.name {
            case "ogg": !SourceEnd.hasOggEnd(demuxer.source)
            case "matroska,webm": MatroskaEnd.isBroken(demuxer.source)
            case "mov,mp4,m4a,3gp,3g2,mj2": FragmentChain.isBroken(demuxer.source)
            case "asf": ASFEnd.isCut(demuxer.source)
            default: endsBeforeItsHeaderSays
            }
        }
    }

    /// Whether the container's own size or count says that the source goes on behind its end. Of samples in WAV and AIFF
    /// the length is known to the frame, and is looked at elsewhere.
    var endsBeforeItsHeaderSays: Bool {
        mutating get {
            if let isCutByHeader { return isCutByHeader }
            let isKnown = stream.isPCM && ["wav", "aiff"].contains(demuxer.name)
            isCutByHeader = !isKnown && DeclaredEnd.isCut(demuxer.source, container: demuxer.name)
            return isCutByHeader!
        }
    }
}
