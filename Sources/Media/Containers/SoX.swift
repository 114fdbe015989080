/// SoX's own format.
struct SoX: SourceRules {
    /// The header states the samples of all channels together; its magic number shows the byte order. libav ignores
    /// the field and computes its own count from the file size.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard let head = demuxer.source.bytes(at: 0, count: 16), head.count == 16, stream.channelCount > 0 else {
            return nil
        }
        let samples = head[0] == 0x2E ? littleEndian(head[8..<16]) : bigEndian(head[8..<16])
        guard samples > 0 else { return nil }
        return ContainerFacts(soundFrames: samples / Int64(stream.channelCount))
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofPCM(stated, stream)
    }

    /// libav reads on past the samples.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { track.length.exactFrames }
}
