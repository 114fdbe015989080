import Conversion

/// Feeds the packets of one track to the decoder: reads one ahead where that is needed, and asks small values about
/// each packet. `FrameCount` counts frames without decoding, `GapWatch` finds gaps, `FrameNumbers` reads the numbers of
/// bare frames, and `EndCheck` knows how the source should end.
struct PacketFeed: ~Copyable {
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
    let pages: OggPages?
    /// Whether the times of two packets state exactly the frames between them.
    let timesStateFrames: Bool
    /// Where the encoder's padding begins, for containers that state it and whose padding libav does not cut.
    private(set) var soundEnd: Int64?
    /// The delay of the codec, if the duration of the last packet shows where the padding begins.
    private let delay: CodecDelay?
    /// Frames at the end that may never leave the decoder.
    let mostKeptAtEnd: Int64

    /// The packet that was read ahead, if `lookAhead` says so.
    var ahead: Packet
    /// Swapped with `ahead`, so that nothing is allocated per packet.
    private var spare: Packet?
    /// What was found about the current packet.
    var arrival = Arrival()
    var lookAhead = LookAhead()
    var counts: FrameCount
    var gaps: GapWatch
    var numbers: FrameNumbers?
    var ends: EndCheck
    /// Cleared after a failed skip.
    var maySkip = true
    /// Whether packets can be searched by their numbers, once that was looked for.
    var numbersAreInOrder: Bool?
    /// Where the fragments lie before which others are missing, once that was looked for.
    private var fragmentsBehindGaps: [Range<Int64>]?

    init(_ demuxer: Demuxer, _ track: Track, bearsDamage: Bool) throws {
        self.demuxer = demuxer
        self.stream = demuxer.streams[track.index]
        self.track = track
        self.bearsDamage = bearsDamage
        ahead = try Packet()
        let (rules, traits, codec) = (demuxer.rules, demuxer.rules.packets, track.codec)
        (self.traits, self.codec) = (traits, codec.packets)
        syntax = rules.frameSyntax
        timesStateFrames = !codec.packets.exactTables.isDisjoint(with: traits.tables)
        soundEnd =
            track.isCutAtLength
            ? track.sourceLength.exactFrames : track.endsWithItsPackets ? nil : rules.soundEnd(of: track, stream)
        let delay = rules.paged == nil ? nil : codec.startInOgg(of: stream).delay
        self.delay = track.isCutAtLength ? nil : delay
        mostKeptAtEnd = max(traits.mayKeepAtEnd, Int64(delay?.decoder ?? 0))
        pages = rules.paged?.pages(of: demuxer.source)
        // Of a pipe, opening kept everything.
        if pages == nil, demuxer.framed == nil { demuxer.source.forget(before: .max) }
        counts = FrameCount(
            PacketLength(codec.length(of: stream)),
            codec.durations(of: stream),
            codec.packets,
            timesAreRounded: traits.timesAreRounded
        )
        gaps = GapWatch(traits, rate: track.sampleRateHz, length: track.sourceLength)
        numbers = rules.numbered?.numbers(of: stream, track)
        ends = EndCheck(track.sourceLength, traits)
        demuxer.select(track.index)
    }

    /// Whether reading the source failed, as opposed to damaged contents.
    var ioFailed: Bool { demuxer.source.failure != nil }

    // MARK: Reading

    /// Fills `packet`; `false` at the end. A source that breaks off also ends here: `takeEarlyEnd` returns the reason.
    mutating func next(into packet: inout Packet) throws -> Bool {
        var isThere: Bool
        repeat {
            if lookAhead.take() {
                packet.take(&ahead)
                isThere = true
            } else {
                isThere = try read(into: &packet)
            }
            arrival = lookAhead.arrival
        } while isThere && numbers?.isRepeated(packet) == true
        guard isThere else {
            ends.noteEnd(of: demuxer.source.size, behind: counts.bytes)
            return false
        }
        if isPartialFrame(packet), try !hasMore() {
            ends.notePartial(Int64(packet.byteCount))
            return false
        }
        counts.give(from: packet.place, lost: arrival.loss?.frames ?? 0)
        numbers?.look(in: packet, at: counts.place)
        noteSoundEnd(in: packet)
        return true
    }

    /// Marks the padding in `packet`, the current one, if it is the last of a movie in fragments.
    mutating func markPadding(in packet: inout Packet) throws {
        guard mayHidePadding, packet.skip.end == 0, let frames = arrival.frames, try !hasMore() else { return }
        let padding = padding(inLast: frames)
        if padding > 0 { try packet.setSkip(start: packet.skip.start, end: Int(padding)) }
    }

    /// Whether only the last fragment shows where the padding begins.
    private var mayHidePadding: Bool { demuxer.rules.movie != nil && track.length == .none && timesStateFrames }

    /// Frames of padding in the last packet, which has `frames`, of a source that was read to its end.
    mutating func padding(inLast frames: Int64) -> Int64 {
        // In a clock that rounds packets, the last one may be shorter without padding.
        guard mayHidePadding, !endsUnmarked, stream.ticks(exactly: frames, rate: track.sampleRateHz) != nil,
            let ticks = demuxer.rules.movie?.lastDuration(ofTrack: stream.containerID, in: demuxer.source),
            let stated = stream.exactFrames(ticks, rate: track.sampleRateHz), (1..<frames).contains(stated)
        else { return 0 }
        return frames - stated
    }

    /// Notes where the sound ends in the last packet of a stream, of which libav states only the sound as duration.
    private mutating func noteSoundEnd(in packet: borrowing Packet) {
        guard let delay, delay.packetFrames == delay.statedPacketFrames, packet.duration > 0,
            let frames = counts.frames, let place = counts.place,
            let sound = stream.exactFrames(packet.duration, rate: track.sampleRateHz), sound < frames
        else { return }
        soundEnd = place - frames + sound + Int64(delay.decoder - track.undroppedPriming)
    }

    mutating func read(into packet: inout Packet) throws -> Bool {
        lookAhead.begin()
        // libav takes what follows an empty data chunk of WAV for sound.
        guard !track.isEmpty else { return false }
        while true {
            do {
                guard try demuxer.read(into: &packet, of: track.index) else {
                    lookAhead.note(demuxer.framed?.takeLoss())
                    return false
                }
                if traits.mayBeTags, packet.isTag { continue }
                if packet.byteCount == 0, let byte = codec.emptyPacket { try packet.setBytes([byte]) }
                lookAhead.note(demuxer.framed?.takeLoss())
                count(packet)
                if counts.isAtFirst || track.isCutAtLength { try correctSkip(&packet) }
                return true
            } catch let error as LibAVError {
                if error.wasInterrupted || error.isOutOfMemory || ioFailed { throw error }
                if let next = demuxer.resynchronise(behind: counts.lastPlace) {
                    counts.resume(at: next)
                    let detail = "some bytes here are not valid \(track.codecName)"
                    lookAhead.note(Loss(code: .corruptStream, frames: 0, detail: detail, cause: error))
                    continue
                }
                lookAhead.end(with: error)
                return false
            }
        }
    }

    /// Corrects the skip marks (frames to drop) that libav 5.1 sets wrong or omits.
    private func correctSkip(_ packet: inout Packet) throws {
        if track.isCutAtLength {
            if packet.hasSkip { try packet.setSkip(start: packet.skip.start, end: 0) }
        } else if let (start, end) = demuxer.rules.firstSkip(of: packet, stream, track) {
            try packet.setSkip(start: start, end: end)
        }
        if counts.isAtFirst, packet.skip.start == 0, let priming = track.codec.markedPriming(of: packet),
            demuxer.rules.movie?.obeysMark(of: priming, in: track) ?? true
        {
            try packet.setSkip(start: priming, end: packet.skip.end)
        }
    }

    private mutating func count(_ packet: borrowing Packet) {
        let stated = counts.isByContainer ? frames(of: packet) : nil
        counts.read(packet, stated: stated)
        lookAhead.arrival.frames = counts.frames
        if numbers != nil { lookAhead.arrival.start = numbers!.start(of: packet, isFirst: counts.isAtFirst) }
        if let pages, let place = packet.place {
            lookAhead.arrival.pages = pages.arrive(at: place, firstFrames: counts.frames, counts.lengths)
            lookAhead.arrival.link = pages.nextLink
        }
    }

    /// Whether another packet follows the current one.
    mutating func hasMore() throws -> Bool {
        guard !lookAhead.isHeld else { return true }
        var packet = try spare.take() ?? Packet()
        lookAhead.isHeld = try read(into: &packet)
        ahead.take(&packet)
        spare = consume packet
        return lookAhead.isHeld
    }

    mutating func takeEarlyEnd() -> LibAVError? { lookAhead.takeEarlyEnd() }

    /// The loss found before the packet handed out last, or after the last packet.
    mutating func takeLoss() -> Loss? { arrival.takeLoss() }

    /// Where the next stream begins, if the current packet belongs to it and not to the stream of this feed.
    var nextLink: Int64? { arrival.link }

    /// The same behind the last packet. libav does not give the packets of a stream with another codec.
    var linkBehindLast: Int64? {
        guard let pages else { return nil }
        let end = demuxer.source.endSize ?? demuxer.source.readBytes
        _ = pages.arrive(at: end, firstFrames: nil, counts.lengths)
        return pages.nextLink
    }

    /// Whether no page of this stream lies between the last packet and the next stream. libav may refuse the next stream.
    var isReadUpToLink: Bool {
        guard let pages, let link = pages.nextLink, let page = pages.goodPage(at: counts.lastPlace) else {
            return false
        }
        return page.endsStream || counts.lastPlace + Int64(page.bytes) == link
    }

    /// Whether the current packet was assembled from parts that do not belong together.
    mutating func isSpliced() throws -> Bool {
        guard pages != nil, try hasMore() else { return false }
        return lookAhead.arrival.pages.gap == .within
    }

    /// Records that the packet handed out last gave a block of `frames`.
    mutating func noteBlock(of frames: Int) { numbers?.noteBlock(of: frames) }

    // MARK: What a packet should hold

    /// Frames in `packet` according to its container; `nil` if they are not a whole number.
    func frames(of packet: borrowing Packet) -> Int64? {
        if let whole = counts.wholeFrames { return whole }
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
    var wronglyDropped: Int { traits.countWindowFill && !track.isCutAtLength ? Int(counts.framesOfWindow) : 0 }

    /// Frames between `packet`, the current one, and the next, for containers and codecs where the packet holds
    /// exactly those. `nil` for others and for the last packet.
    mutating func exactFrames(of packet: borrowing Packet) throws -> Int64? {
        guard timesStateFrames, counts.knowsDurations, let time = packet.timestamp, try hasMore(),
            let following = ahead.timestamp, following > time
        else { return nil }
        let (step, rate) = (following - time, track.sampleRateHz)
        return counts.frames(
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
        guard gaps.watchesNext() else { return estimate }
        // Between two edits the clock stands still or runs backwards.
        if packet.isMarkedDiscard {
            gaps.forget()
            return estimate
        }
        let position = GapWatch.Position(
            frame: clockFrame(of: packet),
            decoded: decoded,
            usual: usual,
            isSuspect: arrival.isSuspect
        )
        switch gaps.compare(position, estimate: estimate) {
        case .loss(let loss): return loss
        // A single wrong timestamp is not a gap.
        case .jump(let jump):
            if try isAlone(jump) { return estimate }
            let isProven = if gaps.doubts(jump) { lacksFragment(before: packet.place) } else { false }
            return gaps.accept(jump, isProven: isProven)
        }
    }

    /// Whether fragments are missing before the one whose sound lies at `place`.
    private mutating func lacksFragment(before place: Int64?) -> Bool {
        guard let place, let movie = demuxer.rules.movie else { return false }
        // More of a pipe may have passed.
        if fragmentsBehindGaps == nil || !demuxer.source.isSeekable {
            fragmentsBehindGaps = movie.fragmentsBehindGaps(in: demuxer.source)
        }
        return fragmentsBehindGaps?.contains { $0.contains(place) } == true
    }

    private mutating func isAlone(_ jump: GapWatch.Jump) throws -> Bool {
        guard pages == nil, try hasMore(),
            let following = isMisled ? lookAhead.arrival.start : ahead.timestamp.map({ self.frame(at: $0) })
        else { return false }
        return gaps.isAlone(jump, before: following)
    }

    /// The position that the container gives the current packet; `nil` if it gives none.
    func clockFrame(of packet: borrowing Packet) -> Int64? {
        if isMisled { return arrival.start }
        return pages == nil ? packet.timestamp.map { self.frame(at: $0) } : arrival.pages.frame
    }

    /// Whether libav's timestamps are meaningless, and only the numbers in the frames count.
    var isMisled: Bool { numbers?.misleadLibAV == true }

    private func frame(at time: Int64) -> Int64 { stream.nearestFrames(time, rate: track.sampleRateHz) }
}
