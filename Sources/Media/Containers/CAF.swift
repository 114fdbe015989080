import Conversion

/// CAF, Apple's Core Audio Format.
struct CAF: ContainerRules {
    static let chunks = Chunks(start: 8, sizeBytes: 8, sizesAreBig: true, arePadded: false)

    /// The data chunk begins with an edit count of four bytes. Its size is -1 while the file is being written.
    private static let editCountBytes: Int64 = 4

    let packets = PacketTraits(tables: .packets)

    func soundCount(in source: ByteSource) -> SoundCount? {
        Self.chunks.first("data", in: source).map { data in
            SoundCount(
                place: data.place + Self.editCountBytes,
                stated: data.size,
                besides: Self.editCountBytes,
                width: .bits64,
                chunks: Self.chunks
            )
        }
    }

    /// libav reads up to the end where the size is -1.
    func restating(_ count: SoundCount, as bytes: Int64?, in source: ByteSource) -> [SourcePatch] {
        [SourcePatch(place: count.place - count.besides - 8, bytes: [UInt8](repeating: 0xFF, count: 8))]
    }

    func pcmWidth(in source: ByteSource) -> PCMWidth? { PCMWidth(isUnclear: true) }

    func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder? {
        Self.chunks.layout("chan", in: source, countIn: "desc", at: 24..<28)
    }

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capCAF() }

    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        stream.isPCM ? dataSize(demuxer.source, stream) : packetTable(demuxer.source)
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofPCM(stated, stream)
    }

    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { stream.isPCM ? nil : track.length.frames }

    /// The data chunk then holds only the edit count, and the packet table, if there is one, no packet.
    func provesEmpty(_ source: ByteSource) -> Bool {
        guard Self.chunks.first("data", in: source)?.size == Self.editCountBytes, Self.chunks.fill(source) else {
            return false
        }
        guard let table = Self.chunks.first("pakt", in: source) else { return true }
        return source.bytes(at: table.place, count: 16) == [UInt8](repeating: 0, count: 16)
    }

    /// The header of the packet table. libav adds priming and remainder to the valid frames instead of dropping them.
    private func packetTable(_ source: ByteSource) -> ContainerFacts? {
        guard let place = Self.chunks.first("pakt", in: source)?.place,
            let table = source.bytes(at: place, count: 24), table.count == 24
        else { return nil }
        let valid = bigEndian(table[8..<16])
        let priming = Int(bigEndian(table[16..<20]))
        guard valid > 0, priming < 1 << 20 else { return nil }
        // Some writers, libav among them, count the last packet as a full packet.
        let padding = Int(bigEndian(table[20..<24]))
        return ContainerFacts(primingFrames: priming, paddingFrames: padding, soundFrames: valid, tolerance: 4096)
    }

    /// Length from the size of the data chunk.
    private func dataSize(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard let size = Self.chunks.first("data", in: source)?.size, size > Self.editCountBytes,
            stream.blockAlign > 0
        else { return nil }
        return ContainerFacts(soundFrames: (size - Self.editCountBytes) / Int64(stream.blockAlign))
    }
}

/// As an output.
extension CAF {
    func muxerName(_ format: ResolvedFormat) -> String { "caf" }

    /// All packets but the last have the same length.
    func copying(_ codec: Codec) -> CopyTraits {
        Self.hasPacketTable(codec)
            ? CopyTraits(trims: .sixteenBits, needEqualPackets: true, loseOpusGain: true) : CopyTraits()
    }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        if Self.hasPacketTable(format.codec) { try CAFPatch.apply(to: sink, format, facts) }
        try LayoutChunk.apply(to: sink, format, Self.chunks, named: "chan")
        let rate = format.codec == .opus ? OpusHeader.rateHz : format.sampleRateHz
        let marks = ChapterChunks.caf(facts.chapters, rate: rate)
        try FurtherChunks.append(marks, to: sink, Self.chunks, frames: facts.frames)
    }

    private static func hasPacketTable(_ codec: Codec) -> Bool { codec == .opus || codec == .alac }
}

/// Corrects CAF's packet table: libav counts whole packets as sound there, and writes no priming.
enum CAFPatch {
    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        guard let table = try CAF.chunks.first("pakt", in: sink) else { throw sink.malformed("no packet table in CAF") }
        let head = try sink.bytes(at: table, count: 24)
        guard head.count == 24 else { throw sink.malformed("CAF's packet table is truncated") }
        let scale = format.codec == .opus ? Int64(OpusHeader.rateHz / format.sampleRateHz) : 1
        let (sound, priming) = (facts.frames * scale, Int64(facts.delay) * scale)
        let coded = bigEndian(head[8..<16])
        guard coded >= sound + priming else {
            throw sink.malformed("CAF's packets hold fewer frames than were encoded")
        }
        try sink.patch(
            bigEndianBytes(sound, count: 8) + bigEndianBytes(priming, count: 4)
                + bigEndianBytes(coded - sound - priming, count: 4),
            at: table + 8
        )
    }
}

/// Caps the strings of CAF by lowering their count.
extension TagCap {
    /// Pairs of strings after their count.
    mutating func capCAF() {
        var place: Int64 = 8
        for _ in 0..<4096 {
            guard let head = source.bytes(at: place, count: 16), head.count == 16 else { return }
            let length = bigEndian(head[4..<12])
            guard length >= 0, length <= size else { return }
            if head.starts(with: Array("info".utf8)), length >= 4, place + 12 + length <= size {
                let stated = bigEndian(head[12..<16])
                var count: Int64 = 0
                while count < stated, count <= Int64(TagBudget.mostTags), budget.takes() { count += 1 }
                if count < stated { patch(place + 12, bigEndianBytes(count, count: 4)) }
            }
            place += 12 + length
        }
    }
}
