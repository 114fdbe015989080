import Conversion

/// Feeds the packets of one track to the decoder. It knows the frames each packet should hold, finds gaps between
/// packets, skips ahead and checks how the stream ends.
struct PacketFeed: ~Copyable {
    /// Whether reading the source failed, as opposed to damaged contents.
    var ioFailed: Bool { demuxer.source.failure != nil }

    let demuxer: Demuxer
    /// How libav delivers the packets of this container.
    let traits: PacketTraits
    /// What is special about the packets of this codec.
    let codec: CodecTraits
    /// The syntax of the frames, for a source without a container.
    let syntax: FrameSyntax?
    let stream: InputStream
    let track: Track
    let bearsDamage: Bool
    /// A packet that was read ahead and comes next.
    var ahead: Packet
    /// Swapped with `ahead`, so that nothing is allocated per packet.
    private var spare: Packet?
    var holdsAhead = false
    private var earlyEnd: LibAVError?
    /// See `isPartialFrame`.
    private(set) var partialPacketBytes: Int64?
    /// See `endsBeforeItsHeaderSays`.
    private var isCutByHeader: Bool?
    /// Total bytes of the packets read.
    private var packetBytes: Int64 = 0
    var watch: TimestampWatch?
    let pages: OggPages?
    /// Facts about the current packet; `arrivalAhead` has those of the packet read ahead.
    var arrival = Arrival()
    var arrivalAhead = Arrival()
    /// Whether the next packet only fills the decoder's window and gives no output.
    var givesNothing = false
    private var packetCount: Int64 = 0
    private(set) var lastPlace: Int64 = 0
    /// Total frames of the packets handed out or skipped; `nil` once a packet did not state its frames.
    var place: Int64? = 0
    /// Cleared after a failed skip.
    var maySkip = true
    /// Frames in the packet read last.
    var readFrames: Int64?
    var lengths: PacketLength
    /// What the numbers in the frames of a bare FLAC stream count.
    private var numbering: FLACNumbering?
    /// Whether a bare FLAC file is followed by another.
    private var chain: FLACChain?
    /// See `FLACOrder`.
    private var isInOrder: Bool?
    private var durations: PacketDurations?
    /// Whether the container counts the frames: the codec's packets do not, and this container does not round.
    private let countsByContainer: Bool
    /// Whether the times of two packets state exactly the frames between them.
    let timesStateFrames: Bool
    /// Where the encoder's padding begins, for containers that state it and whose padding libav does not cut.
    let soundEnd: Int64?
    /// Byte position, timestamp and frame number of the first packet.
    var firstPlace: Int64?
    var firstTime: Int64?
    var firstNumber: Int64?
    private var firstDuration: Int64 = 0
    private var lastPage: Int64?
    /// The FLAC packet handed out last, and the blocks and frames decoded from it.
    private var given: (header: FLACFrameHeader, blocks: Int64, frames: Int64)?

    struct Arrival {
        /// The loss found before the packet.
        var loss: Loss?
        /// The packet's frames according to the codec.
        var frames: Int64?
        /// The first frame of a FLAC packet, by its own number.
        var start: Int64?
        var pages = OggPages.Arrival()
    }

    /// The small parts of what reading changes.
    struct Numbers {
        fileprivate var (arrivalAhead, givesNothing) = (Arrival(), false)
        fileprivate var (packetBytes, packetCount) = (Int64(0), Int64(0))
        fileprivate var (lastPlace, lastPage) = (Int64(0), Int64?.none)
        fileprivate var (place, readFrames) = (Int64?.none, Int64?.none)
        fileprivate var (numbering, durations) = (FLACNumbering?.none, PacketDurations?.none)
        fileprivate var given: (header: FLACFrameHeader, blocks: Int64, frames: Int64)?
        fileprivate var chain: FLACChain?
    }

    var numbers: Numbers {
        get {
            var numbers = Numbers()
            (numbers.arrivalAhead, numbers.givesNothing) = (arrivalAhead, givesNothing)
            (numbers.packetBytes, numbers.packetCount) = (packetBytes, packetCount)
            (numbers.lastPlace, numbers.lastPage) = (lastPlace, lastPage)
            (numbers.place, numbers.readFrames) = (place, readFrames)
            (numbers.numbering, numbers.durations, numbers.given) = (numbering, durations, given)
            numbers.chain = chain
            return numbers
        }
        set {
            (arrivalAhead, givesNothing) = (newValue.arrivalAhead, newValue.givesNothing)
            (packetBytes, packetCount) = (newValue.packetBytes, newValue.packetCount)
            (lastPlace, lastPage) = (newValue.lastPlace, newValue.lastPage)
            (place, readFrames) = (newValue.place, newValue.readFrames)
            (numbering, durations, given) = (newValue.numbering, newValue.durations, newValue.given)
            chain = newValue.chain
            (earlyEnd, partialPacketBytes) = (nil, nil)
        }
    }

    init(_ demuxer: Demuxer, _ track: Track, bearsDamage: Bool) throws {
        self.demuxer = demuxer
        self.stream = demuxer.streams[track.index]
        self.track = track
        self.bearsDamage = bearsDamage
        ahead = try Packet()
        // Local, because `&&` below captures it: Swift 6.3 releases fields of an unfinished noncopyable `self` that an
        // autoclosure captures.
        let (rules, traits) = (demuxer.rules, demuxer.rules.packets)
        let (codecRules, codec) = (track.codec, track.codec.packets)
        (self.traits, self.codec) = (traits, codec)
        syntax = rules.frameSyntax
        countsByContainer = codec.framesAreInContainer && !traits.timesAreRounded
        timesStateFrames = !codec.exactTables.isDisjoint(with: traits.tables)
        soundEnd =
            track.isCutAtLength
            ? track.length.exactFrames : track.endsWithItsPackets ? nil : rules.soundEnd(of: track, stream)
        watch = TimestampWatch(traits.clock, track)
        pages = rules.pages(of: demuxer.source)
        numbering = rules.numbering(of: stream)
        if numbering != nil {
            chain = FLACChain(promisedFrames: track.length.exactFrames, rate: track.sampleRateHz)
        }
        lengths = PacketLength(codecRules.length(of: stream))
        durations = codecRules.durations(of: stream)
        demuxer.select(track.index)
    }

    // MARK: Reading

    /// Fills `packet`; `false` at the end. A source that breaks off also ends here: `takeEarlyEnd` returns the reason.
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
            if traits.lackIncompleteLast, let size = demuxer.source.size, size > packetBytes {
                partialPacketBytes = size - packetBytes
            }
            return false
        }
        if isPartialFrame(packet), try !hasMore() {
            partialPacketBytes = Int64(packet.byteCount)
            return false
        }
        lastPage = packet.place
        if let before = place { place = readFrames.map { before + $0 + (arrival.loss?.frames ?? 0) } }
        chain?.look(in: packet, at: place)
        return true
    }

    mutating func read(into packet: inout Packet) throws -> Bool {
        arrivalAhead = Arrival()
        // libav takes what follows an empty data chunk of WAV for sound.
        guard !track.isEmpty else { return false }
        while true {
            do {
                guard try demuxer.read(into: &packet, of: track.index) else {
                    arrivalAhead.loss = demuxer.framed?.takeLoss() ?? arrivalAhead.loss
                    return false
                }
                if traits.mayBeTags, packet.isTag { continue }
                if packet.byteCount == 0, let byte = codec.emptyPacket { try packet.setBytes([byte]) }
                arrivalAhead.loss = demuxer.framed?.takeLoss() ?? arrivalAhead.loss
                count(packet)
                try correctSkip(&packet)
                return true
            } catch let error as LibAVError {
                if error.wasInterrupted || error.isOutOfMemory || ioFailed { throw error }
                if let next = demuxer.resynchronise(behind: lastPlace) {
                    lastPlace = next
                    let detail = "some bytes here are not valid \(track.codecName)"
                    arrivalAhead.loss = Loss(code: .corruptStream, frames: 0, detail: detail, cause: error)
                    continue
                }
                earlyEnd = error
                return false
            }
        }
    }

    /// Corrects the skip marks (frames to drop) that libav 5.1 sets wrong or omits.
    private func correctSkip(_ packet: inout Packet) throws {
        if track.isCutAtLength {
            if packet.hasSkip { try packet.setSkip(start: packet.skip.start, end: 0) }
        } else if packetCount == 1, let (start, end) = demuxer.rules.firstSkip(of: packet, stream, track) {
            try packet.setSkip(start: start, end: end)
        }
        if packetCount == 1, packet.skip.start == 0, let priming = track.codec.markedPriming(of: packet),
            demuxer.rules.obeysMark(of: priming, in: track)
        {
            try packet.setSkip(start: priming, end: packet.skip.end)
        }
    }

    /// Whether another packet follows the current one.
    mutating func hasMore() throws -> Bool {
        guard !holdsAhead else { return true }
        var packet = try spare.take() ?? Packet()
        holdsAhead = try read(into: &packet)
        ahead.take(&packet)
        spare = consume packet
        return holdsAhead
    }

    /// Forgets how reading ended, because it goes on elsewhere.
    mutating func forgetEarlyEnd() { earlyEnd = nil }

    mutating func takeEarlyEnd() -> LibAVError? {
        defer { earlyEnd = nil }
        return earlyEnd
    }

    /// The loss found before the packet handed out last, or after the last packet.
    mutating func takeLoss() -> Loss? {
        defer { arrival.loss = nil }
        return arrival.loss
    }

    /// Whether the current packet was assembled from parts that do not belong together.
    mutating func isSpliced() throws -> Bool {
        guard pages != nil, try hasMore() else { return false }
        return arrivalAhead.pages.gap == .within
    }

    /// Whether the undecodable rest of a packet is only the byte that pads odd chunks to an even size. SoX counts it as
    /// sound of GSM.
    func isPadding(_ packet: borrowing Packet) -> Bool {
        guard stream.blockAlign > 1 else { return false }
        return stream.isPCM ? packet.byteCount % stream.blockAlign == 1 : packet.byteCount == 1
    }

    /// Whether the source was read to its end, so that the missing sound is missing from the source itself.
    var isAtEndOfSource: Bool {
        mutating get {
            demuxer.rules.isReadToEnd(demuxer.source) || endsBeforeItsHeaderSays
        }
    }

    /// Whether libav repeats this packet. Where rate or channels change, it puts several FLAC frames into one
    /// packet and gives some of them again.
    private mutating func isRepeated(_ packet: borrowing Packet) -> Bool {
        guard numbering != nil, let header = packet.flacHeader else { return false }
        if let given, let numbering, chain?.startsAnew != true,
            numbering.isRepeated(header, behind: given.header, blocks: given.blocks, frames: given.frames)
        {
            return true
        }
        given = (header, 0, 0)
        return false
    }

    /// Records that the packet handed out last gave a block of `frames`.
    mutating func noteBlock(of frames: Int) {
        given?.blocks += 1
        given?.frames += Int64(frames)
    }

    private mutating func count(_ packet: borrowing Packet) {
        packetCount += 1
        packetBytes += Int64(packet.byteCount)
        readFrames = countsByContainer ? frames(of: packet) : lengths.frames(in: packet)
        if packetCount == 1, codec.firstFillsWindow { readFrames = 0 }
        arrivalAhead.frames = readFrames
        if numbering != nil, let header = packet.flacHeader, header.isIntact {
            arrivalAhead.start = numbering!.start(of: header)
            if isMisled { packet.eachFLACHeader(behind: header) { _ = numbering!.start(of: $0) } }
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

    /// Frames in `packet` according to its container; `nil` if they are not a whole number.
    func frames(of packet: borrowing Packet) -> Int64? {
        if let durations, !durations.isSteady, let whole = durations.whole { return whole }
        return packet.duration > 0 ? stream.exactFrames(packet.duration, rate: track.sampleRateHz) : nil
    }

    /// Frames to drop from the start of this packet, if the packet states them and not the decoder. In MP4, SBR
    /// doubles the decoded frames but not the frames to drop.
    func skippedFrames(in packet: borrowing Packet) -> Int? {
        traits.stateTheirSkip && packet.skip.start > 0 ? packet.skip.start : nil
    }

    /// Frames that libav drops at the end of the current packet although they are sound.
    ///
    /// In a chained stream whose first link has one page, libav counts frames for a first packet that only fills the
    /// window. This does not apply to a single-page file, which is cut at its length.
    var wronglyDropped: Int {
        guard traits.countWindowFill, codec.firstFillsWindow, !track.isCutAtLength, firstTime == 0,
            lastPage == firstPlace
        else { return 0 }
        return Int(firstDuration)
    }

    /// Frames between `packet`, the current one, and the next, for containers and codecs where the packet holds
    /// exactly those. `nil` for others and for the last packet.
    mutating func exactFrames(of packet: borrowing Packet) throws -> Int64? {
        guard timesStateFrames, durations != nil, let time = packet.timestamp, try hasMore(),
            let following = ahead.timestamp, following > time
        else { return nil }
        let (step, rate) = (following - time, track.sampleRateHz)
        return durations!.frames(
            exact: stream.exactFrames(step, rate: rate),
            near: stream.nearestFrames(step, rate: rate),
            own: arrival.frames
        )
    }

    // MARK: Gaps

    /// The loss before the current packet, by the container's clock if it has a good one; `nil` if nothing is missing.
    ///
    /// `decoded` counts all frames since the start of the source, priming included. `estimate` is the estimated
    /// loss since then, and `usual` the usual frames per packet.
    mutating func missing(before packet: borrowing Packet, decoded: Int64, estimate: Loss?, usual: Int64) throws
        -> Loss?
    {
        guard watch != nil, !givesNothing else {
            givesNothing = false
            return estimate
        }
        // Between two edits the clock stands still or runs backwards.
        if packet.isMarkedDiscard {
            watch!.forget()
            return estimate
        }
        let isSuspect = arrival.pages.gap != .none
        guard let frame = clockFrame(of: packet) else {
            return isSuspect ? estimate ?? Loss(code: .corruptStream, frames: 0, detail: Self.brokenPages) : estimate
        }
        let lost = estimate?.frames ?? 0
        switch watch!.compare(frame, decoded: decoded, lost: lost, usual: usual, isSuspect: isSuspect) {
        case .agrees: return estimate
        case .ahead(let step):
            // A single wrong timestamp is not a gap.
            if try isAlone(frame, decoded + lost, usual) { return estimate }
            // In fragments, one damaged number shifts all that follows, and no stated length bounds the shift.
            if step > PacketDurations.longest, traits.mayShiftTogether, track.length.frames == nil {
                watch!.accept(frame, decoded: decoded + lost)
                return estimate
            }
            let frames = watch!.wholePackets(step, of: usual)
            watch!.accept(frame, decoded: decoded + frames)
            if let estimate { return estimate.costing(frames) }
            if isSuspect { return Loss(code: .corruptStream, frames: frames, detail: Self.brokenPages) }
            let missing = MediaTime(frames: frames, rate: track.sampleRateHz)
            let detail = "\(missing) of sound are missing according to the container's timestamps"
            return Loss(code: .timelineGap, frames: frames, detail: detail)
        case .behind(let step):
            if try isAlone(frame, decoded + lost, usual) { return estimate }
            // A clock that runs backwards loses no sound. It may show that less was lost than estimated.
            let frames = watch!.wholePackets(max(0, min(step, lost)), of: usual)
            watch!.accept(frame, decoded: decoded + frames)
            return estimate?.costing(frames)
        }
    }

    private static let brokenPages = "pages are missing here"

    /// Whether `frame` is a lone outlier: the next packet continues where the previous one ended, at `decoded`.
    private mutating func isAlone(_ frame: Int64, _ decoded: Int64, _ usual: Int64) throws -> Bool {
        guard pages == nil, try hasMore(),
            let following = isMisled ? arrivalAhead.start : ahead.timestamp.map({ self.frame(at: $0) })
        else { return false }
        return watch!.distance(following, decoded: decoded + usual) < watch!.distance(frame, decoded: decoded) / 2
    }

    /// Whether libav's timestamps of a FLAC stream are meaningless.
    var isMisled: Bool { numbering?.misleadsLibAV == true }

    func frame(at time: Int64) -> Int64 { stream.nearestFrames(time, rate: track.sampleRateHz) }

    // MARK: Ends

    /// Whether data after the promised length is not sound. Only MP3 and Ogg files are concatenated such that the
    /// first part does not count the rest.
    var endsWhereItPromised: Bool {
        track.length.exactFrames != nil && !traits.mayFollowTheEnd && pages?.isChained != true
            && chain?.isJoined != true
    }

    /// Whether another FLAC file follows the first in this source.
    var isJoined: Bool { chain?.isJoined == true }

    /// The frames that the headers of joined files promise in all; `nil` for a single file, and if one does not say.
    var joinedFrames: Int64? { chain.flatMap { $0.isJoined ? $0.promisedFrames : nil } }

    /// Whether nothing that was promised is missing after `frames`, and no sound can follow.
    func isComplete(after frames: Int64) -> Bool {
        if let joinedFrames { return frames >= joinedFrames }
        return endsWhereItPromised && track.length.shortfall(frames) == 0
    }

    /// Whether a FLAC frame can be searched by its number.
    var numbersAreInOrder: Bool {
        mutating get {
            if let isInOrder { return isInOrder }
            guard let firstPlace, let firstNumber, let block = stream.flacBlockFrames,
                let frames = track.length.exactFrames
            else { return false }
            isInOrder = FLACOrder.isProven(
                demuxer.source,
                from: firstPlace,
                start: firstNumber,
                frames: frames,
                rate: track.sampleRateHz,
                block: block
            )
            return isInOrder!
        }
    }

    /// Whether the source stops without the end that its container requires.
    var endsUnmarked: Bool {
        mutating get { demuxer.rules.lacksEnd(demuxer.source) || endsBeforeItsHeaderSays }
    }

    /// Whether the container's own size or count extends past the end of the source. `false` for PCM in WAV and
    /// AIFF, whose length is known to the frame and is checked elsewhere.
    var endsBeforeItsHeaderSays: Bool {
        mutating get {
            if let isCutByHeader { return isCutByHeader }
            // The size of a pipe is not known before its end.
            guard demuxer.source.endSize != nil else { return false }
            isCutByHeader = demuxer.rules.isCut(demuxer.source, stream)
            return isCutByHeader!
        }
    }
}
