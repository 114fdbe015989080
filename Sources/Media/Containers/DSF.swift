/// DSF, one-bit sound as Sony stores it.
struct DSF: SourceRules {
    /// The header states one-bit samples per channel. libav makes one frame of eight of them.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard let bytes = demuxer.source.bytes(at: 64, count: 8), bytes.count == 8 else { return nil }
        let samples = littleEndian(bytes)
        return samples > 0 ? ContainerFacts(soundFrames: samples / 8) : nil
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .about(stated.near, tolerance: 8 * 4096, unlessZero: true)
    }

    /// libav reads on past the samples.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { track.length.exactFrames }
}
