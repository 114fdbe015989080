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

    func describesSoundTooLate(_ source: ByteSource) -> Bool {
        Self.chunks(of: source).has("data", before: "fmt ", in: source)
    }

    func pcmWidth(in source: ByteSource) -> PCMWidth? {
        let header = WAVHeader(source)
        return PCMWidth(marksIntegers: header?.isExtensible == true, isBigEndian: header?.isBigEndian == true)
    }

    private static func chunks(of source: ByteSource) -> Chunks { WAVHeader.chunks(of: source) }

    func packetsThatTellTheCodec(in source: ByteSource) -> Int {
        HiddenFrames.packetsThatTellTheCodec(of: Self.chunks(of: source).first("data", in: source)?.place, in: source)
    }

    /// RF64 counts in its chunk ds64.
    func soundCount(in source: ByteSource) -> SoundCount? {
        let chunks = Self.chunks(of: source)
        guard let data = chunks.first("data", in: source) else { return nil }
        let name = source.bytes(at: 0, count: 4)
        if name == Array("RF64".utf8) || name == Array("BW64".utf8), data.size == 0 || data.size >= 0xFFFF_FFFE,
            let sizes = Self.wideSizes(in: source)
        {
            return SoundCount(place: data.place, stated: littleEndian(sizes[8...]), width: .bits64, chunks: chunks)
        }
        return SoundCount(place: data.place, stated: data.size, chunks: chunks)
    }

    /// The sizes of the file and of the sound in RF64.
    private static func wideSizes(in source: ByteSource) -> [UInt8]? {
        guard let place = chunks(of: source).first("ds64", in: source)?.place,
            let sizes = source.bytes(at: place, count: 16), sizes.count == 16
        else { return nil }
        return sizes
    }

    /// A size of -1 makes libav read up to the end. In RF64, it reads as much as ds64 states.
    func restating(_ count: SoundCount, as bytes: Int64?, in source: ByteSource) -> [SourcePatch] {
        guard count.width == .bits64, let wide = Self.chunks(of: source).first("ds64", in: source)?.place else {
            return [SourcePatch(place: count.place - 4, bytes: [0xFF, 0xFF, 0xFF, 0xFF])]
        }
        let bytes = bytes ?? 1 << 59
        let sizes = [count.place + bytes - 8, bytes].flatMap { bigEndianBytes($0, count: 8).reversed() }
        return [SourcePatch(place: wide, bytes: sizes)]
    }

    /// The header of RIFX that libav sees has fewer tags anyway.
    func capTags(_ cap: inout TagCap, from start: Int64) {
        if WAVHeader(cap.source)?.isBigEndian != true { cap.capChunks(.riff) }
    }

    func broadcast(in source: ByteSource) -> BroadcastChunks? {
        WAVHeader(source)?.isBigEndian == false ? BroadcastChunks(in: source) : nil
    }

    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        ID3Frames.collect(in: Self.chunks(of: source), of: source, into: &collector)
    }

    /// The length that the header claims. libav trusts the file size instead, so it does not notice a truncated file.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard let stream = demuxer.streams.first(where: \.isAudio), stream.isPCM, stream.blockAlign > 0,
            let bytes = demuxer.extent?.count.bytes, bytes > 0
        else { return nil }
        return ContainerFacts(soundFrames: bytes / Int64(stream.blockAlign))
    }

    /// In a pipe, libav reads on in a second chunk of sound.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { stream.isPCM ? track.length.exactFrames : nil }

    /// The length of PCM is known to the frame and is checked elsewhere.
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool {
        guard !stream.isPCM, let count = soundCount(in: source), !count.isMarker else { return false }
        return Chunks.end(count.place + count.bytes, isBehind: source)
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

    var lastChapterFrame: Int64 { ChapterChunks.last }

    /// Reserves space for a ds64 chunk, used only when the data exceeds 4 GB.
    func muxerOptions(_ format: ResolvedFormat) -> [(String, String)] { [("rf64", "auto")] }

    var canStream: Bool { true }

    func keepsValues(of name: String) -> Bool { ID3Tag.keepsValues(of: name, version: 4) }

    func pictureRoom(beside tags: [Tag]) -> PictureRoom { ID3Tag.pictureRoom }

    /// Adds what recorders say, the chapters, and an ID3 tag with all tags if the INFO list, which libav writes, does not
    /// hold all of them.
    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        let tags = facts.tags.filter { !$0.isTechnical }
        let areInList = tags.allSatisfy { $0.values.count == 1 && Container.infoHolds(tag: $0.name ?? $0.key) }
        var chunks = facts.broadcast + ChapterChunks.riff(facts.chapters, rate: format.sampleRateHz)
        if !areInList || !facts.pictures.isEmpty {
            chunks.append(.init(name: "id3 ", content: ID3Tag(tags, pictures: facts.pictures, version: 4).bytes))
        }
        try FurtherChunks.append(chunks, to: sink, .riff, frames: facts.frames)
    }
}
