import Conversion

/// W64. Its chunks have 16-byte names. Their size includes the chunk header, and they are aligned to eight bytes.
struct W64: ContainerRules {
    private static let firstChunk: Int64 = 40
    private static let headBytes: Int64 = 24

    let opening = OpeningTraits(needsFirstPacket: true)
    let packets = PacketTraits(landing: .byByte)

    func soundCount(in source: ByteSource) -> SoundCount? {
        dataChunk(in: source).map { place, size in
            SoundCount(
                place: place + Self.headBytes,
                stated: size,
                besides: Self.headBytes,
                width: .bits64,
                chunks: Chunks(start: Self.firstChunk, sizeBytes: 8, sizesAreBig: false, arePadded: true, areWide: true)
            )
        }
    }

    /// libav does not accept sizes that mark an unknown length.
    func restating(_ count: SoundCount, as bytes: Int64?, in source: ByteSource) -> [SourcePatch] {
        let bytes = bytes ?? 1 << 59
        return [
            SourcePatch(place: 16, bytes: bigEndianBytes(count.place + bytes, count: 8).reversed()),
            SourcePatch(place: count.place - 8, bytes: bigEndianBytes(bytes + Self.headBytes, count: 8).reversed()),
        ]
    }

    /// libav 5.1 takes them for a chunk and does not open a file with one of an impossible size. It passes over a long one.
    func hidingTrail(of count: SoundCount, in source: ByteSource) -> [SourcePatch] {
        guard let place = count.trail(in: source) else { return [] }
        return [SourcePatch(place: place + 16, bytes: bigEndianBytes(1 << 59, count: 8).reversed())]
    }

    func headerPatches(in source: ByteSource) throws -> [SourcePatch] {
        alignmentPatches(in: source) + emptyPatches(in: source)
    }

    /// The right size of a frame, where the header states a wrong one.
    private func alignmentPatches(in source: ByteSource) -> [SourcePatch] {
        let place = Self.firstChunk + Self.headBytes
        guard source.bytes(at: Self.firstChunk, count: 4)?.elementsEqual("fmt ".utf8) == true,
            let format = source.bytes(at: place, count: 40), let right = WAVHeader.alignment(of: format)
        else { return [] }
        return [SourcePatch(place: place + 12, bytes: right)]
    }

    /// libav does not open a file whose data chunk holds nothing. It is shown a byte, which it cannot read.
    private func emptyPatches(in source: ByteSource) -> [SourcePatch] {
        guard provesEmpty(source), let data = dataChunk(in: source) else { return [] }
        return [SourcePatch(place: data.place + 16, bytes: bigEndianBytes(Self.headBytes + 1, count: 8).reversed())]
    }

    /// The data chunk then holds nothing, and it ends the file exactly where the file's own size says.
    func provesEmpty(_ source: ByteSource) -> Bool {
        guard let size = source.endSize, let head = source.bytes(at: 16, count: 8), littleEndian(head) == size,
            let data = dataChunk(in: source)
        else { return false }
        return data.size == Self.headBytes && data.place + Self.headBytes == size
    }

    func pcmWidth(in source: ByteSource) -> PCMWidth? {
        let format = source.bytes(at: Self.firstChunk, count: Int(Self.headBytes) + 2)
        return PCMWidth(marksIntegers: format?.starts(with: "fmt ".utf8) == true && format?.suffix(2) == [0xFE, 0xFF])
    }

    func packetsThatTellTheCodec(in source: ByteSource) -> Int {
        HiddenFrames.packetsThatTellTheCodec(of: dataChunk(in: source).map { $0.place + Self.headBytes }, in: source)
    }

    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard stream.isPCM, stream.blockAlign > 0, let size = dataChunk(in: demuxer.source)?.size,
            size >= Self.headBytes, size < 1 << 60
        else { return nil }
        return ContainerFacts(soundFrames: (size - Self.headBytes) / Int64(stream.blockAlign))
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofPCM(stated, stream)
    }

    /// Where the data chunk begins, and the size that it states.
    private func dataChunk(in source: ByteSource) -> (place: Int64, size: Int64)? {
        var place = Self.firstChunk
        for _ in 0..<Chunks.most {
            guard let head = source.bytes(at: place, count: Int(Self.headBytes)), head.count == Int(Self.headBytes)
            else { return nil }
            let size = littleEndian(head[16..<24])
            if head.starts(with: Array("data".utf8)) { return (place, size) }
            guard size >= Self.headBytes, size < 1 << 60 else { return nil }
            place += (size + 7) / 8 * 8
        }
        return nil
    }
}

/// As an output.
extension W64 {
    func muxerName(_ format: ResolvedFormat) -> String { "w64" }

    /// libav cannot read an empty file.
    var mayBeEmpty: Bool { false }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        try W64Patch.apply(to: sink, format, facts)
    }
}

/// Corrects the size of W64's data chunk: libav counts the padding to eight bytes as sound.
enum W64Patch {
    private static let dataID: [UInt8] = Array("data".utf8)
    private static let headBytes: Int64 = 24

    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        let bytesPerFrame = Int64(format.codec == .pcm ? format.bitDepth / 8 : 1) * Int64(format.channelCount)
        var place: Int64 = 40
        while place + headBytes <= sink.size {
            let head = try sink.bytes(at: place, count: Int(headBytes))
            let size = head[16..<24].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            if head.starts(with: dataID) {
                let exact = headBytes + facts.frames * bytesPerFrame
                return try sink.patch(Array(bigEndianBytes(exact, count: 8).reversed()), at: place + 16)
            }
            guard size >= headBytes else { throw sink.malformed("a W64 chunk of \(Plural.count(size, "byte"))") }
            place += (size + 7) / 8 * 8
        }
        throw sink.malformed("no data chunk in W64")
    }
}
