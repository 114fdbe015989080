public import Conversion

/// The packets of one track, for an output that copies the codec (passthrough).
///
/// Their bytes are the container's. Their durations are in frames, and each marks the frames in it that are not sound.
public final class PacketOutput {
    public let track: Track
    /// Frames of sound in the packets handed out so far.
    public private(set) var deliveredFrames: Int64 = 0
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

    init(_ demuxer: Demuxer, _ track: Track, _ options: Reader.Options) throws {
        self.demuxer = demuxer
        self.track = track
        stream = demuxer.streams[track.index]
        stop = options.stop
        priming = Int64(track.undroppedPriming)
        feed = try PacketFeed(demuxer, track, bearsDamage: false)
        lengths = PacketLength(stream)
        if lengths.isUnreadable {
            throw MediaError(.corruptStream, at: .open, "the codec's headers are damaged", stream: track.index)
        }
    }

    /// Fills `packet` with the next one; `false` at the end. Damage is not copied: it throws.
    public func next(into packet: inout Packet) throws -> Bool {
        try stop.check(at: .decode)
        do {
            guard try feed.next(into: &packet) else {
                try checkEnd()
                return false
            }
            if feed.nextLink != nil {
                let detail = "the source has several streams one after the other, each with its own headers"
                throw failure(.passthroughRefused, detail)
            }
            // `checkEnd` handles a packet that the end of the source cuts short.
            if packet.isMarkedCorrupt, try feed.hasMore() {
                throw failure(.corruptStream, "the container marks a packet as damaged")
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
        if let loss = try feed.missing(before: packet, decoded: rawFrames, estimate: found, usual: frames) {
            throw failure(loss)
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
        if let soundEnd = feed.soundEnd { end = max(end, Int(max(0, rawFrames - soundStart - soundEnd))) }
        let back = min(Int64(end), frames - front)
        deliveredFrames += frames - front - back
        packet.duration = frames
        if front > 0 || back > 0 || packet.hasSkip { try packet.setSkip(start: Int(front), end: Int(back)) }
    }

    private func checkEnd() throws {
        remarks = feed.remarks
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
            throw failure(
                .truncated,
                "the header promises frame \(track.length.frames ?? 0), but the data ends earlier"
            )
        }
        if let exact = track.length.exactFrames, deliveredFrames > exact {
            throw failure(
                .corruptStream,
                "the header promises \(Plural.count(exact, "frame")), but the packets hold \(deliveredFrames)"
            )
        }
        if let loss = feed.takeLoss(), track.length.exactFrames == nil { throw failure(loss) }
        if let loss = feed.uncountedSound { throw failure(loss) }
        if feed.endsUnmarked { throw failure(.truncated, "the source stops in the middle of its stream") }
    }

    private func failure(_ loss: Loss) -> MediaError {
        var error = failure(loss.code, loss.detail)
        error.contradiction = loss.evidence
        return error
    }

    private func failure(_ code: FailureCode, _ detail: String) -> MediaError {
        MediaError(code, at: .decode, detail, stream: track.index, position: position, frame: deliveredFrames)
    }

    private var position: MediaTime { MediaTime(frames: deliveredFrames, rate: track.sampleRateHz) }
}
