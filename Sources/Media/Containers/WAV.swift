import Conversion

/// WAV and RF64.
struct WAV: ContainerRules {
    /// From the first packet, libav decides whether PCM is really PCM.
    let opening = OpeningTraits(needsFirstPacket: true)
    let packets = PacketTraits(landing: .byByte)

    /// A recorder's format (ACT) also begins like WAV, then has zeros up to a mark in byte 256.
    func isCertain(_ start: [UInt8]) -> Bool {
        start.count > 256 && start.starts(with: "RIFF".utf8) && start[8..<12].elementsEqual("WAVE".utf8)
            && start[44..<256].contains { $0 != 0 }
    }

    func headerPatches(in source: ByteSource) throws -> [SourcePatch] { try WAVHeader(source)?.patches() ?? [] }

    func pcmWidth(in source: ByteSource) -> PCMWidth? {
        let header = WAVHeader(source)
        return PCMWidth(marksIntegers: header?.isExtensible == true, isBigEndian: header?.isBigEndian == true)
    }

    private static func chunks(of source: ByteSource) -> Chunks { WAVHeader.chunks(of: source) }

    func packetsThatTellTheCodec(in source: ByteSource) -> Int {
        HiddenFrames.packetsThatTellTheCodec(of: Self.chunks(of: source).first("data", in: source)?.place, in: source)
    }

    func streamedHeader(of source: ByteSource, _ size: Int64) -> StreamedHeader? {
        guard let data = Self.chunks(of: source).first("data", in: source), StreamedHeader.isPlaceholder(data.size),
            !provesEmpty(source)
        else { return nil }
        let streamed = StreamedHeader(soundBytes: size - data.place)
        guard data.size >= 0xFFFF_FFFE || data.size == 0,
            let wide = Self.chunks(of: source).first("ds64", in: source)?.place,
            let sizes = source.bytes(at: wide, count: 16), sizes.count == 16
        else { return streamed }
        guard StreamedHeader.isWidePlaceholder(littleEndian(sizes[8..<16])) else { return nil }
        // In RF64, libav reads as much as ds64 states.
        let patch =
            bigEndianBytes(size - 8, count: 8).reversed() + bigEndianBytes(size - data.place, count: 8).reversed()
        return StreamedHeader(soundBytes: size - data.place, patches: [SourcePatch(place: wide, bytes: patch)])
    }

    /// The header of RIFX that libav sees has fewer tags anyway.
    func capTags(_ cap: inout TagCap, from start: Int64) {
        if WAVHeader(cap.source)?.isBigEndian != true { cap.capChunks(isBig: false) }
    }

    func countTags(in source: ByteSource, _ size: Int64, into values: inout TagValues) {
        ID3Frames.countInChunks(of: source, size, isBig: WAVHeader(source)?.isBigEndian == true, into: &values)
    }

    /// The length that the header claims. libav trusts the file size instead, so it does not notice a truncated file.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard let stream = demuxer.streams.first(where: \.isAudio), stream.isPCM, stream.blockAlign > 0,
            var size = Self.chunks(of: demuxer.source).first("data", in: demuxer.source)?.size
        else { return nil }
        // Of a file, such a header has been recognised before.
        let isStreamed = !demuxer.source.isSeekable && StreamedHeader.isPlaceholder(size)
        // Zero and all ones mean that the size was not known when the header was written.
        if size == 0 || size >= 0xFFFF_FFFF - 1 {
            guard let wide = Self.chunks(of: demuxer.source).first("ds64", in: demuxer.source)?.place,
                let sizes = demuxer.source.bytes(at: wide, count: 16), sizes.count == 16
            else { return nil }
            size = littleEndian(sizes[8..<16])
            guard !StreamedHeader.isWidePlaceholder(size) else { return nil }
        } else if isStreamed {
            return nil
        }
        guard size > 0 else { return nil }
        return ContainerFacts(soundFrames: size / Int64(stream.blockAlign))
    }

    /// The length of PCM is known to the frame and is checked elsewhere.
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool {
        guard !stream.isPCM, let data = Self.chunks(of: source).first("data", in: source),
            !StreamedHeader.isPlaceholder(data.size)
        else { return false }
        return Chunks.end(data.place + data.size, isBehind: source)
    }

    /// A size of zero may also mean that the header was never completed. The size of the whole file then is not right.
    func provesEmpty(_ source: ByteSource) -> Bool {
        guard let name = source.bytes(at: 0, count: 4),
            [Array("RIFF".utf8), Array("RIFX".utf8)].contains(name),
            Self.chunks(of: source).first("data", in: source)?.size == 0,
            Self.chunks(of: source).areComplete(in: source)
        else { return false }
        guard let fact = Self.chunks(of: source).first("fact", in: source) else { return true }
        return source.bytes(at: fact.place, count: 4) == [0, 0, 0, 0]
    }
}

/// As an output.
extension WAV {
    func muxerName(_ format: ResolvedFormat) -> String { "wav" }

    /// Reserves space for a ds64 chunk, used only when the data exceeds 4 GB.
    func muxerOptions(_ format: ResolvedFormat) -> [(String, String)] { [("rf64", "auto")] }

    var canStream: Bool { true }
}
