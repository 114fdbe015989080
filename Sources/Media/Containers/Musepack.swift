/// Musepack, in its stream versions 7 and 8.
struct Musepack: SourceRules {
    let isVersion8: Bool

    /// The decoder delay in frames, which every Musepack decoder has.
    private static let decoderDelay = 481
    private static let packetFrames: Int64 = 1152

    /// The first packet of version 8 states the total samples and the silent samples at the start. libav honours
    /// neither, nor the decoder delay.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard isVersion8, let bytes = demuxer.source.bytes(at: 0, count: 64), bytes.count == 64,
            bytes.starts(with: Array("MPCKSH".utf8))
        else { return nil }
        var place = 6
        /// A variable-length number: seven bits per byte, and the top bit says that another byte follows.
        func number() -> Int64 {
            var value: Int64 = 0
            for _ in 0..<8 {
                value = value << 7 | Int64(bytes[place] & 0x7F)
                place += 1
                if bytes[place - 1] & 0x80 == 0 { break }
            }
            return value
        }
        _ = number()
        // A checksum and a version lie in between.
        place += 5
        let (samples, silence) = (number(), number())
        guard samples > silence, silence < 1 << 20 else { return nil }
        return ContainerFacts(primingFrames: Self.decoderDelay + Int(silence), soundFrames: samples - silence)
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .about(stated.near, tolerance: 2 * Self.packetFrames, unlessZero: true)
    }

    /// libav reads on past the samples.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { isVersion8 ? track.length.exactFrames : nil }
}
