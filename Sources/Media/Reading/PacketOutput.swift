/// The packets of one track as they lie in the container, for an output that takes the codec as it is.
public final class PacketOutput {
    public let track: Track
    /// Frames in the packets handed out so far, by the container's own count.
    public private(set) var deliveredFrames: Int64 = 0
    let demuxer: Demuxer
    private let stream: InputStream
    private let stop: StopSignal

    init(_ demuxer: Demuxer, _ track: Track, _ options: Reader.Options) throws {
        self.demuxer = demuxer
        self.track = track
        stream = demuxer.streams[track.index]
        stop = options.stop
        demuxer.select(track.index)
    }

    /// Fills `packet` with the next one; `false` at the end. What is damaged is not copied: it throws.
    public func next(into packet: inout Packet) throws -> Bool {
        try stop.check(at: .decode)
        do {
            guard try demuxer.read(into: &packet, of: track.index) else { return false }
        } catch let error as LibAVError {
            if demuxer.source.failure != nil {
                throw MediaError(
                    error,
                    .sourceIO,
                    at: .decode,
                    "the source cannot be read on",
                    stream: track.index
                )
            }
            throw MediaError(
                error,
                demuxer.source.isExhausted ? .truncated : .corruptStream,
                at: .decode,
                "the container cannot be read on",
                stream: track.index
            )
        }
        if packet.isMarkedCorrupt {
            throw MediaError(
                .corruptStream,
                at: .decode,
                "the container marks a packet as damaged",
                stream: track.index
            )
        }
        deliveredFrames += stream.nearestFrames(packet.duration, rate: track.sampleRateHz)
        return true
    }
}
