import Conversion

/// AIFF and AIFC.
struct AIFF: ContainerRules {
    func recognises(_ head: [UInt8]) -> Bool {
        head.count == 12 && head.starts(with: Array("FORM".utf8)) && bigEndian(head[4..<8]) < 4
            && [Array("AIFF".utf8), Array("AIFC".utf8)].contains(Array(head[8...]))
    }

    /// The sound chunk begins with two numbers of four bytes. The first of them counts bytes before the sound.
    private static let numberBytes: Int64 = 8

    func soundCount(in source: ByteSource) -> SoundCount? {
        guard let sound = Chunks.iff.first("SSND", in: source), let offset = source.bytes(at: sound.place, count: 4),
            offset.count == 4
        else { return nil }
        let besides = Self.numberBytes + bigEndian(offset)
        guard sound.size <= Self.numberBytes || besides <= sound.size else { return nil }
        return SoundCount(place: sound.place + besides, stated: sound.size, besides: besides, chunks: .iff)
    }

    /// Another chunk (COMM) states the number of frames, and libav reads no more than that. What its numbers cannot
    /// express is read without libav.
    func restating(_ count: SoundCount, as bytes: Int64?, in source: ByteSource) -> [SourcePatch] {
        guard let common = Chunks.iff.first("COMM", in: source)?.place,
            let shape = source.bytes(at: common, count: 22), shape.count >= 18
        else { return [] }
        let (channels, bits) = (bigEndian(shape[0..<2]), bigEndian(shape[6..<8]))
        let isIMA = shape.count == 22 && shape[18...].elementsEqual("ima4".utf8)
        let frameBytes = channels * (isIMA ? 34 : (bits + 7) / 8)
        let most = Int64(UInt32.max) - max(count.place, count.besides)
        guard frameBytes > 0, most > 0 else { return [] }
        // libav takes a greater number of frames for an error.
        let frames = min(min(bytes ?? most, most) / frameBytes, Int64(Int32.max))
        guard frames > 0 else { return [] }
        let sound = count.besides + frames * frameBytes
        return [
            SourcePatch(place: 4, bytes: bigEndianBytes(count.place - count.besides - 8 + sound, count: 4)),
            SourcePatch(place: common + 2, bytes: bigEndianBytes(frames, count: 4)),
            SourcePatch(place: count.place - count.besides - 4, bytes: bigEndianBytes(sound, count: 4)),
        ]
    }

    func describesSoundTooLate(_ source: ByteSource) -> Bool { Chunks.iff.has("SSND", before: "COMM", in: source) }

    /// libav takes `sowt` for 16 bits, whatever the header says.
    func pcmWidth(in source: ByteSource) -> PCMWidth? {
        guard let common = Chunks.iff.first("COMM", in: source)?.place,
            let shape = source.bytes(at: common, count: 22), shape.count == 22, shape[18...].elementsEqual("sowt".utf8)
        else { return nil }
        return PCMWidth(bytes: Int(bigEndian(shape[6..<8]) + 7) / 8)
    }

    func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder? {
        Chunks.iff.layout("CHAN", in: source, countIn: "COMM", at: 0..<2)
    }

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capChunks(.iff) }

    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        ID3Frames.collect(in: .iff, of: source, into: &collector)
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofPCM(stated, stream)
    }

    /// The length of PCM is known to the frame and is checked elsewhere.
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool { !stream.isPCM && Chunks.iff.areCut(source) }

    func provesEmpty(_ source: ByteSource) -> Bool {
        guard let common = Chunks.iff.first("COMM", in: source)?.place,
            source.bytes(at: common + 2, count: 4) == [0, 0, 0, 0],
            let sound = Chunks.iff.first("SSND", in: source), sound.size == Self.numberBytes
        else { return false }
        return Chunks.iff.areComplete(in: source)
    }
}

/// As an output.
extension AIFF {
    func muxerName(_ format: ResolvedFormat) -> String { "aiff" }

    var lastChapterFrame: Int64 { ChapterChunks.last }

    func keepsValues(of name: String) -> Bool { ID3Tag.keepsValues(of: name, version: 4) }

    func pictureRoom(beside tags: [Tag]) -> PictureRoom { ID3Tag.pictureRoom }

    /// The tag that makes libav write AIFC where plain AIFF would do: big-endian integers of 16 bits and more.
    func codecTag(_ format: ResolvedFormat) -> UInt32? {
        guard format.container == .aifc, format.codec == .pcm, format.sampleKind == .integer,
            format.endianness == .big
        else { return nil }
        let names = [16: "twos", 24: "in24", 32: "in32"]
        return names[format.bitDepth].map { $0.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        try LayoutChunk.apply(to: sink, format, .iff, named: "CHAN")
        // AIFF has places for four texts only.
        let tag = ID3Tag(facts.tags.filter { !$0.isTechnical }, pictures: facts.pictures, version: 4)
        var chunks = ChapterChunks.iff(facts.chapters, rate: format.sampleRateHz)
        if !tag.isEmpty { chunks.append(.init(name: "ID3 ", content: tag.bytes)) }
        try FurtherChunks.append(chunks, to: sink, .iff, frames: facts.frames)
    }
}
