import Conversion

/// WavPack.
struct WavPack: ContainerRules {
    let packets = PacketTraits(clock: .frameNumbers, landing: .byByte)

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
