import Conversion

/// AU, the format of Sun and NeXT.
struct AU: ContainerRules {
    func recognises(_ head: [UInt8]) -> Bool {
        head.count == 12 && head.starts(with: Array(".snd".utf8)) && bigEndian(head[8...]) == 0
    }

    func streamedHeader(of source: ByteSource, _ size: Int64) -> StreamedHeader? {
        guard let head = source.bytes(at: 0, count: 12), head.count == 12, head.starts(with: Array(".snd".utf8)),
            StreamedHeader.isPlaceholder(bigEndian(head[8..<12]))
        else { return nil }
        return StreamedHeader(soundBytes: size - bigEndian(head[4..<8]))
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
