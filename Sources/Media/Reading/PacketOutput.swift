public import Conversion

/// The packets of one track, for an output that copies the codec (passthrough).
///
/// Their bytes are the container's. Their durations are in frames, and each marks the frames in it that are not sound.
public final class PacketOutput {
    public let track: Track
    /// Frames of sound in the packets handed out so far.
    public private(set) var deliveredFrames: Int64 = 0
    /// The frames that the output must have: those that the container states, unless the packets are trusted.
    var plannedFrames: Int64 { (trustsPackets ? nil : track.length.exactFrames) ?? deliveredFrames }
    /// Remarks about the source after a successful copy. Complete once there are no more packets.
    public private(set) var remarks: [Remark] = []
    let demuxer: Demuxer
    private let stream: InputStream
    private let stop: StopSignal
    private var lengths: PacketLength
    private var feed: PacketFeed
    /// Priming frames still to come.
    private var priming: Int64
    /// Frames in all packets so far. `soundStart` is where the sound begins among them.
    private var rawFrames: Int64 = 0
    private var soundStart: Int64 = 0
    private var isFirst = true
    /// Whether packets count, and not what the container says of them.
    private let trustsPackets: Bool
    /// What the container states wrongly of packets that were trusted.
    private var journal = DamageJournal()
    /// By how much the container's clock has run ahead of them.
    private var framesAhead: Int64 = 0

    init(_ demuxer: Demuxer, _ track: Track, _ options: Reader.Options) throws {
        self.demuxer = demuxer
        self.track = track
        stream = demuxer.streams[track.index]
        stop = options.stop
        trustsPackets = options.damage == .trustPackets
        priming = Int64(track.undroppedPriming)
        feed = try PacketFeed(demuxer, track, bearsDamage: false)
        lengths = PacketLength(stream)
        if lengths.isUnreadable {
            throw MediaError(.corruptStream, at: .open, "the codec's headers are damaged", stream: track.index)
        }
    }

    /// Fills `packet` with the next one; `false` at the end. Damage is not copied: it throws, unless packets are trusted and
    /// only the container says that there is any.
    public func next(into packet: inout Packet) throws -> Bool {
        try stop.check(at: .decode)
        do {
            let isThere = try feed.next(into: &packet)
            if (isThere ? feed.nextLink : feed.linkBehindLast) != nil {
                let detail = "the source has several streams one after the other, each with its own headers"
                throw failure(.passthroughRefused, detail)
            }
            guard isThere else {
                try checkEnd()
                return false
            }
            // `checkEnd` handles a packet that the end of the source cuts short.
            if packet.isMarkedCorrupt, try feed.hasMore() {
                let mark = Contradiction(.packetMark, found: "a mark at frame \(Figures.grouped(deliveredFrames))")
                let detail = "the container marks a packet as damaged"
                try refuse(Loss(code: .corruptStream, frames: 0, detail: detail, contradiction: mark))
            }
            try count(&packet)
        } catch let error as LibAVError {
            let code: FailureCode = feed.ioFailed ? .sourceIO : .corruptStream
            throw MediaError(
                error,
                code,
                at: .decode,
                "the rest of the source cannot be read",
                stream: track.index,
                position: position,
                frame: deliveredFrames
            )
        }
        return true
    }

    /// Sets the packet's duration in frames, and the frames to drop at its ends.
    private func count(_ packet: inout Packet) throws {
        guard let frames = lengths.frames(in: packet) ?? feed.frames(of: packet) else {
            throw MediaError(
                .passthroughRefused,
                at: .decode,
                "the length of the \(track.codecName) packets is unknown",
                stream: track.index
            )
        }
        let found = feed.takeLoss()
        let decoded = rawFrames + framesAhead
        if let loss = try feed.missing(before: packet, decoded: decoded, estimate: found, usual: frames) {
            try refuse(loss)
            // A clock that jumps to and fro does not add up without end.
            framesAhead = min(framesAhead.addingSaturated(loss.frames), Plausible.frames)
        }
        if try feed.isSpliced() { throw failure(.corruptStream, "part of a packet is missing") }
        try feed.markPadding(in: &packet)
        var (start, end) = packet.skip
        if isFirst {
            let isStated = start != 0 || track.undroppedPriming != 0
            start = max(start, track.codec.silentStart(of: stream, frames: frames, isStated: isStated))
        }
        isFirst = false
        priming += Int64(start)
        var front = min(priming, frames)
        priming -= front
        // Matroska drops whole packets, and only by their end marks. Before the sound, that is priming.
        if deliveredFrames == 0, front + Int64(end) >= frames { front = frames }
        soundStart += front
        rawFrames += frames
        if let soundEnd = trustsPackets ? feed.paddingStart(framesAhead) : feed.soundEnd {
            end = max(end, Int(max(0, rawFrames - soundStart - soundEnd)))
        }
        let back = min(Int64(end), frames - front)
        deliveredFrames += frames - front - back
        packet.duration = frames
        if front > 0 || back > 0 || packet.hasSkip { try packet.setSkip(start: Int(front), end: Int(back)) }
    }

    private func checkEnd() throws {
        try feed.refuseHiddenSound()
        remarks = feed.remarks
        defer { remarks += journal.remarks }
        if let error = feed.takeEarlyEnd() {
            throw MediaError(
                error,
                feed.isAtEndOfSource ? .truncated : .corruptStream,
                at: .decode,
                "the rest of the container cannot be read",
                stream: track.index,
                position: position,
                frame: deliveredFrames
            )
        }
        if track.length.shortfall(deliveredFrames) > 0, !feed.headerCountsItself {
            let promised = track.length.frames ?? 0
            let detail = "the header promises frame \(promised), but the data ends earlier"
            let contradiction = contradiction(of: promised)
            try refuse(Loss(code: .truncated, frames: 0, detail: detail, contradiction: contradiction))
        }
        if let exact = track.length.exactFrames, deliveredFrames > exact {
            let detail =
                "the header promises \(Plural.count(exact, "frame")), but the packets hold \(deliveredFrames)"
            let contradiction = contradiction(of: exact)
            try refuse(Loss(code: .corruptStream, frames: 0, detail: detail, contradiction: contradiction))
        }
        if let loss = feed.takeLoss(), track.length.exactFrames == nil { try refuse(loss) }
        // Of a file, trusted packets reach to its end. Of a pipe, they have passed, and are not in the output.
        if let loss = feed.uncountedSound { throw failure(loss) }
        if feed.endsUnmarked {
            let mark = Contradiction(.endMark, promised: "a mark of its end", found: "the end of the source")
            let detail = "the source stops in the middle of its stream"
            try refuse(Loss(code: .truncated, frames: 0, detail: detail, contradiction: mark))
        }
    }

    /// The contradiction of a length of `promised` frames.
    private func contradiction(of promised: Int64) -> Contradiction {
        Contradiction(
            .statedLength,
            promised: Contradiction.length(promised, rate: track.sampleRateHz),
            found: Contradiction.length(deliveredFrames, rate: track.sampleRateHz)
        )
    }

    /// Throws, unless packets are trusted and only the container shows the loss.
    private func refuse(_ loss: Loss) throws {
        guard trustsPackets, loss.isByContainer, let contradiction = loss.contradiction else { throw failure(loss) }
        journal.ignore(contradiction)
    }

    private func failure(_ loss: Loss) -> MediaError {
        var error = failure(loss.code, loss.detail)
        error.contradiction = loss.evidence
        if let hint = loss.hint { error.hint = hint }
        return error
    }

    private func failure(_ code: FailureCode, _ detail: String) -> MediaError {
        MediaError(code, at: .decode, detail, stream: track.index, position: position, frame: deliveredFrames)
    }

    private var position: MediaTime { MediaTime(frames: deliveredFrames, rate: track.sampleRateHz) }
}
