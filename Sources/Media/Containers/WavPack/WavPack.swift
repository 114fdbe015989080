import Conversion

/// WavPack.
struct WavPack: ContainerRules {
    let packets = PacketTraits(clock: .frameNumbers, landing: .byByte)

    /// libav decodes the first block while it opens the file.
    func headerPatches(in source: ByteSource) throws -> [SourcePatch] {
        guard let block = source.headBytes(at: 0, count: 64 * 1024),
            let (place, bytes) = block.withUnsafeBytes(WavPackBlock.naming)
        else { return [] }
        return [SourcePatch(place: Int64(place), bytes: bytes)]
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .counted(stated)
    }

    func nextStart(in source: ByteSource, behind place: Int64) -> Int64? {
        WavPackSync.next(in: source, from: place + 1)
    }
}

/// As an output.
extension WavPack {
    func muxerName(_ format: ResolvedFormat) -> String { "wv" }
}
