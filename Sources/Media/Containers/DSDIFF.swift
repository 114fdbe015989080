/// DSDIFF, one-bit sound as Philips stores it, and the other formats that libav reads as IFF.
struct DSDIFF: SourceRules {
    private static let chunks = Chunks(start: 16, sizeBytes: 8, sizesAreBig: true, arePadded: true)

    /// Length from the bytes of the sound. A byte holds eight samples of one channel, one frame to libav.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard stream.codec.packets.bytesAreFrames, stream.channelCount > 0,
            let size = Self.chunks.first("DSD ", in: demuxer.source)?.size, size > 0
        else { return nil }
        return ContainerFacts(soundFrames: size / Int64(stream.channelCount))
    }

    /// libav reads on past the samples.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { track.length.exactFrames }

    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool { Chunks.iff.areCut(source) }
}
