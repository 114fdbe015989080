import Conversion

/// AU, the format of Sun and NeXT.
struct AU: ContainerRules {
    func recognises(_ head: [UInt8]) -> Bool {
        head.count == 12 && head.starts(with: Array(".snd".utf8)) && bigEndian(head[8...]) == 0
    }

    func soundCount(in source: ByteSource) -> SoundCount? {
        guard let head = source.bytes(at: 0, count: 12), head.count == 12, head.starts(with: Array(".snd".utf8)) else {
            return nil
        }
        return SoundCount(place: bigEndian(head[4..<8]), stated: bigEndian(head[8..<12]))
    }

    func restating(_ count: SoundCount, as bytes: Int64?, in source: ByteSource) -> [SourcePatch] { [Self.endless] }

    /// libav refuses sizes of two gigabytes and more, but for -1.
    func headerPatches(in source: ByteSource) throws -> [SourcePatch] {
        soundCount(in: source).map { $0.stated >= 1 << 31 ? [Self.endless] : [] } ?? []
    }

    private static let endless = SourcePatch(place: 8, bytes: [0xFF, 0xFF, 0xFF, 0xFF])

    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard stream.isPCM, stream.blockAlign > 0, let bytes = demuxer.extent?.count.bytes, bytes > 0 else {
            return nil
        }
        return ContainerFacts(soundFrames: bytes / Int64(stream.blockAlign))
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofPCM(stated, stream)
    }

    /// The file ends where the sound would begin. The header states no sound, or that the sound ends with the file:
    /// SoX and `patch` write that.
    func provesEmpty(_ source: ByteSource) -> Bool {
        guard let size = source.endSize, let head = source.bytes(at: 0, count: 12), head.count == 12,
            head.starts(with: Array(".snd".utf8)), bigEndian(head[4..<8]) == size
        else { return false }
        return [0, 0xFFFF_FFFF].contains(bigEndian(head[8..<12]))
    }

    /// libav reads on past the samples.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { track.length.exactFrames }
}

/// As an output.
extension AU {
    func muxerName(_ format: ResolvedFormat) -> String { "au" }

    /// Without frames, the size says that it is unknown: libav 7.1 does not recognise a file whose size is zero.
    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        if facts.frames == 0 { try sink.patch([0xFF, 0xFF, 0xFF, 0xFF], at: 8) }
    }
}
