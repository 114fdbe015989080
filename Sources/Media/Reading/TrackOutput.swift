public import Conversion

/// The decoded samples of one track, in order, each exactly once, trimmed to the sound and to the requested ranges.
///
/// Positions count frames at the track's rate from the first frame of sound. Priming and padding do not count.
public final class TrackOutput {
    public let track: Track
    /// Frames handed out so far.
    public private(set) var deliveredFrames: Int64 = 0
    /// The sound that was missing, and where.
    public var damage: DamageAccount { journal.account }
    /// Remarks about the source other than damage.
    public var remarks: [Remark] { remarksAtEnd + journal.remarks }
    /// Those that are known at the end of the source.
    var remarksAtEnd: [Remark] = []

    /// Packets sent to the decoder: the cost of a range.
    var decodedPackets = 0

    let options: Reader.Options
    private let reopen: () throws -> Demuxer
    var decoder: Decoder
    var feed: PacketFeed
    /// The stream that is read.
    var link: SourceLink
    /// Where the next stream begins in the source, while the decoder gives the rest of this one.
    var linkAhead: Int64?
    var packet: Packet
    /// Where the output is on the track's time line.
    var clock: TrackClock
    /// Places to which the output can return; `nil` if it never has to.
    var index: SeekIndex?
    /// What of the source is wanted.
    var cursor: RangeCursor
    /// What was damaged, concealed or skipped.
    var journal = DamageJournal()
    private var lastShape: SampleShape?
    private var lastFrameCount = 0
    /// What the last block stands for, if it is silence that the source does not have; `nil` for its sound.
    package private(set) var filling: Filling?
    /// The block in which a range ended, kept for a next range that begins in it.
    private var held: SampleBlock
    private var servesHeld = false
    /// The remainder with which the kept block begins, if it has another rate than the track.
    private var heldRest: Int64 = 0
    /// How far the decoded frames go on behind the end of the sound.
    private(set) var surplusFrames: Int64 = 0
    var phase = Phase.decoding
    /// Whether only the end of the sound is looked for, which no range can then lie beyond.
    var seeksEnd = false
    /// Set if the whole track is read and checked against its digest.
    let digest: FLACDigest?
    /// Set if the digest of the whole track is wanted.
    private let sound: SoundDigester?
    /// The lowest and the highest bit rate of the packets so far; `nil` if the options do not ask for them, and if no packet
    /// states one.
    package private(set) var packetBitRates: ClosedRange<Int>?
    /// Reads the bit rates; `nil` if they are not wanted.
    private let rated: (any CodecRules)?

    enum Phase { case decoding, draining, ended }

    /// What silence stands for.
    package enum Filling {
        /// Sound that is lost.
        case loss
        /// Nothing: the time line of the track has a pause here.
        case pause
    }

    /// Longest block of silence that replaces damage.
    private static let silenceFrames: Int64 = 4096

    /// `reopen` opens the same source again from its start, for a range that begins before the end of the previous one.
    init(
        _ demuxer: Demuxer,
        _ track: Track,
        _ cursor: RangeCursor,
        _ options: Reader.Options,
        reopen: @escaping () throws -> Demuxer
    ) throws {
        self.track = track
        link = SourceLink(track)
        self.cursor = cursor
        clock = TrackClock(rate: track.sampleRateHz, priming: track.undroppedPriming)
        self.options = options
        self.reopen = reopen
        packet = try Packet()
        held = try SampleBlock()
        feed = try PacketFeed(demuxer, track, bearsDamage: options.damage != .strict)
        decoder = try TrackOutput.decoder(of: track, in: demuxer)
        if cursor.mayTurnBack, demuxer.source.isSeekable {
            index = SeekIndex(
                preroll: feed.preroll,
                isBare: demuxer.framed != nil,
                isPaged: feed.pages != nil,
                options.seeking
            )
            index!.noteJump(toFirst: true)
            if track.edits != nil, !feed.traits.mayLandInEdits { index!.stop() }
        }
        digest =
            options.checksDigest && cursor.isWhole && !track.isExcerpt
            ? track.codec.digest(of: demuxer.streams[track.index]) : nil
        sound = options.digestsSound && cursor.isWhole ? SoundDigester(track) : nil
        rated = options.watchesBitRates ? track.codec : nil
        try refuseUncountedSound()
    }

    static func decoder(of track: Track, in demuxer: Demuxer) throws -> Decoder {
        do {
            return try Decoder.open(demuxer.streams[track.index], demuxer.speakers[track.index])
        } catch let error as LibAVError {
            if let format = Allowlist.withheld(codec: track.codecName) { throw MediaError.withheld(format, at: .open) }
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
    public var promisedFrames: Int64? { cursor.frames(of: track.plausibleFrames) }

    /// Fills `block` with the next samples; `false` once all ranges are done.
    ///
    /// The next call reuses the block's memory.
    public func next(into block: inout SampleBlock) throws -> Bool {
        while let range = cursor.current {
            filling = nil
            if let frames = cursor.silenceLeft {
                if frames > 0 { return try fillPause(&block, frames) }
                try take(cursor.advance(at: clock.place))
            } else if servesHeld {
                servesHeld = false
                try block.share(held)
                if try deliver(&block, upTo: cursor.held?.upperBound ?? clock.place, heldRest) { return true }
            } else if clock.place >= range.upperBound {
                try finishRange()
            } else if clock.owedSilence > 0 {
                try fillSilence(&block)
                if try deliver(&block, upTo: clock.place) { return true }
            } else if phase == .ended {
                try finishRange()
            } else {
                try options.stop.check(at: .decode)
                if try decode(into: &block, for: range), try deliver(&block, upTo: clock.place, clock.blockRest) {
                    return true
                }
            }
        }
        try refuseClaimsOfPipe()
        return false
    }

    // MARK: Decoding

    /// One step of the decoder; `true` if `block` holds sound.
    private func decode(into block: inout SampleBlock, for range: Range<Int64>) throws -> Bool {
        do {
            let (answer, skip) = try decoder.receive(into: &block)
            switch answer {
            case .filled: return try keepSound(of: &block, trueSkip(skip))
            case .ended:
                if let linkAhead {
                    try begin(linkAt: linkAhead)
                } else {
                    phase = .ended
                    try settleEnd()
                }
                return false
            case .wantsInput:
                try sendNextPacket(for: range)
                return false
            }
        } catch let error as LibAVError {
            try note(error)
            return false
        }
    }

    private func sendNextPacket(for range: Range<Int64>) throws {
        guard phase == .decoding else {
            if let linkAhead { return try begin(linkAt: linkAhead) }
            return phase = .ended
        }
        try skipAhead(to: range.lowerBound)
        try markPlace()
        let before = clock.decoded
        guard try feed.next(into: &packet) else {
            linkAhead = feed.linkBehindLast
            if let error = feed.takeEarlyEnd(), linkAhead == nil || !feed.isReadUpToLink { try endEarly(error) }
            phase = .draining
            return try decoder.sendEnd()
        }
        if let next = feed.nextLink {
            (linkAhead, phase) = (next, .draining)
            return try decoder.sendEnd()
        }
        index?.note(packet, at: before)
        if track.edits == nil, let frames = feed.skippedFrames(in: packet) { clock.addPriming(ofPacket: frames) }
        try settlePacket()
        journal.bear(feed.takeLoss())
        let loss =
            clock.hasChangedRate
            ? journal.pending
            : try feed.missing(
                before: packet,
                decoded: clock.decoded - link.decoded,
                estimate: journal.pending,
                usual: usualFrames
            )
        journal.takePending()
        if let loss { try enter(loss) }
        // The end of the source handles a packet that it cuts short.
        if packet.isMarkedCorrupt {
            if try feed.hasMore(), !feed.endsBeforeItsHeaderSays { try suspect() } else { journal.noteLostData() }
        }
        if try feed.isSpliced() {
            let one = feed.frames(of: packet) ?? usualFrames
            return try bear(Loss(code: .corruptStream, frames: one, detail: "part of a packet is missing"))
        }
        try feed.markPadding(in: &packet)
        journal.expect(try feed.exactFrames(of: packet), at: clock.decoded)
        decodedPackets += 1
        sound?.add(packet)
        noteBitRate()
        try decoder.send(packet)
    }

    private func noteBitRate() {
        guard let rated, let rate = packet.withBytes({ rated.bitRate(of: $0) }) else { return }
        packetBitRates = min(packetBitRates?.lowerBound ?? rate, rate)...max(packetBitRates?.upperBound ?? rate, rate)
    }

    /// The frames to drop from a block. What a decoder infers applies only if the packet was identified as the first.
    private func trueSkip(_ told: (start: Int, end: Int)) -> (start: Int, end: Int) {
        // The time line counts all frames, and says which of them are played.
        if track.edits != nil { return (0, 0) }
        return feed.codec.decoderInfersSkip ? (packet.skip.start, told.end) : told
    }

    /// Drops priming and padding from a fresh block and advances the clock by the rest.
    private func keepSound(of block: inout SampleBlock, _ skip: (start: Int, end: Int)) throws -> Bool {
        guard let shape = block.shape else { return false }
        lastShape = shape
        lastFrameCount = block.frameCount
        feed.noteBlock(of: block.frameCount)
        let excess = journal.excess(ofBlock: block.frameCount, padding: skip.end, at: clock.decoded)
        if excess > 0, !trustsPackets { block.trim(front: 0, back: excess) }
        let start = clock.place
        let (front, back) = clock.count(
            TrackClock.Block(
                frames: block.frameCount,
                rate: shape.sampleRateHz,
                skip: (skip.start, skip.end - feed.wronglyDropped),
                isDiscarded: block.isMarkedDiscard
            )
        )
        let isSound = front + back < block.frameCount
        block.trim(front: front, back: back)
        block.position = start
        return isSound
    }

    /// Trims `block`, which ends at `end`, to the range and to the promised length; `false` if nothing is left. It begins
    /// `rest` behind its position, in fractions of a frame as `TrackClock` counts them.
    private func deliver(_ block: inout SampleBlock, upTo end: Int64, _ rest: Int64 = 0) throws -> Bool {
        let place = block.position..<max(block.position, end)
        if cursor.keeps(place) {
            try held.share(block)
            heldRest = rest
        }
        let rate = block.shape?.sampleRateHz ?? track.sampleRateHz
        let excess = cursor.excess(of: place, soundEnd: soundEnd)
        if place.upperBound > soundEnd { surplusFrames = max(surplusFrames, place.upperBound - soundEnd) }
        let front = clock.blockFrames(excess.front, rate: rate, rest: rest)
        // At another rate, too, a range ends at the frame at which the next one begins.
        let kept = clock.blockFrames(Int64(place.count) - excess.back, rate: rate, rest: rest)
        let back = excess.back > 0 ? max(0, Int64(block.frameCount) - kept) : 0
        guard front.addingSaturated(back) < Int64(block.frameCount) else { return false }
        block.trim(front: Int(front), back: Int(back))
        if front > 0 { block.position = place.lowerBound + excess.front }
        block.position += cursor.shift
        deliveredFrames += Int64(block.frameCount)
        digest?.update(block)
        sound?.add(block)
        return true
    }

    /// The digest of the track, once `next` has returned false; `nil` if the options do not ask for it, if the track was not
    /// read as a whole, or if it has no sound. Call it once.
    public func finishSoundDigest() -> SoundDigest? {
        var value = sound?.finish()
        if !damage.isEmpty { value?.decoder = "libavcodec \(LibAV.codecVersion)" }
        return value
    }

    /// Where the sound certainly ends. Anything that the decoder gives beyond it is padding.
    var soundEnd: Int64 {
        // Sound beyond the promised length is kept, except padding, and except frames after damage was recorded.
        let isPromised = !trustsPackets && !journal.account.isEmpty && feed.endsWhereItPromised
        let padding = trustsPackets ? feed.paddingStart(clock.followed) : feed.soundEnd
        let end = isPromised ? link.track.sourceLength.exactFrames : padding
        return end.map { link.place(of: $0, rate: clock.rate) } ?? .max
    }

    // MARK: Ranges

    private func finishRange() throws {
        if oweRest() { return }
        if !seeksEnd { try checkEnd() }
        try take(cursor.advance(at: clock.place))
    }

    /// Turns to `range` instead of the ranges so far. What was read of them stays counted.
    func turn(to range: Range<Int64>) throws { try take(cursor.turn(to: range, at: clock.place)) }

    private func take(_ step: RangeCursor.Step) throws {
        servesHeld = false
        switch step {
        case .onwards:
            if let range = cursor.current, cursor.silenceLeft == nil { try leap(to: range.lowerBound) }
        case .heldBlock: servesHeld = true
        case .restart: try goBack(to: cursor.current?.lowerBound ?? 0)
        }
    }

    /// Begins again at the start of the source.
    func restart() throws { try goBack(to: 0) }

    /// Opens the source again.
    func reopenSource() throws {
        let demuxer = try reopen()
        feed = try PacketFeed(demuxer, track, bearsDamage: options.damage != .strict)
        decoder = try TrackOutput.decoder(of: track, in: demuxer)
        clock = TrackClock(rate: track.sampleRateHz, priming: track.undroppedPriming)
        (link, linkAhead) = (SourceLink(track), nil)
        phase = .decoding
        cursor.forgetHeld()
        journal.startOver()
        index?.noteJump(toFirst: true)
    }

    /// Skips ahead towards `frame`, as far as positions stay exact.
    private func skipAhead(to frame: Int64) throws {
        guard let target = clock.target(for: frame) else { return }
        do {
            guard let landed = try feed.skip(from: clock.decoded, to: target, using: &packet, &index, clock) else {
                return
            }
            decoder.flush()
            clock.jump(to: landed)
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

    private func checkEnd() throws {
        // An edit list may play parts that trusted packets do not have.
        if trustsPackets, track.edits != nil { return }
        let end = min(clock.place, soundEnd)
        guard let wanted = cursor.wantBeyond(end) else { return }
        throw MediaError(
            .rangeOutsideSource,
            at: .decode,
            "the range \(wanted), but the source ends at frame \(end)",
            stream: track.index,
            position: MediaTime(frames: end, rate: track.sampleRateHz),
            frame: end
        )
    }

    /// Owes silence for what the last part of the source lacks, where its length was known only roughly, so that the
    /// other parts keep their places. Returns whether there was any.
    private func oweRest() -> Bool {
        guard let edits = track.edits, case .about(_, let tolerance) = edits.source, phase == .ended,
            let missing = cursor.current.map({ $0.upperBound - clock.reached }),
            (1...max(1, tolerance)).contains(missing)
        else { return false }
        clock.oweSilence(missing)
        return true
    }

    private func fillSilence(_ block: inout SampleBlock) throws {
        let frames = min(clock.owedSilence, Self.silenceFrames)
        try fill(&block, frames)
        block.position = clock.place
        clock.giveSilence(frames)
        filling = .loss
    }

    /// Fills `block` with some of the silence that the time line of the track has here.
    private func fillPause(_ block: inout SampleBlock, _ left: Int64) throws -> Bool {
        let frames = min(left, Self.silenceFrames)
        try fill(&block, frames)
        block.position = cursor.giveSilence(frames)
        deliveredFrames += frames
        filling = .pause
        return true
    }

    private func fill(_ block: inout SampleBlock, _ frames: Int64) throws {
        var shape = lastShape ?? decoder.shape ?? track.silentShape
        shape.sampleRateHz = track.sampleRateHz
        do {
            try block.reserve(Int(frames), shape)
        } catch let error as LibAVError {
            throw MediaError(error, .corruptStream, at: .decode, "cannot make silence in the format of this track")
        }
        block.silence()
    }

    // MARK: Places

    /// Whether packets count, and not what the container says of them.
    var trustsPackets: Bool { options.damage == .trustPackets }

    /// The frame on the time line of the track.
    var frame: Int64 { clock.reached + cursor.shift }
    var position: MediaTime { MediaTime(frames: frame, rate: track.sampleRateHz) }

    /// The usual number of frames per packet of this codec.
    var usualFrames: Int64 { Int64(decoder.frameSize > 0 ? decoder.frameSize : lastFrameCount) }
}

extension Track {
    /// The format of silence before the first block has shown one.
    var silentShape: SampleShape {
        SampleShape(
            format: isFloat ? .f32 : bitDepth > 16 ? .s32 : .s16,
            sampleRateHz: sampleRateHz,
            channelCount: channelCount,
            channelMask: channelMask
        )
    }
}
