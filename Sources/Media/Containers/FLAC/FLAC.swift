import Conversion

/// FLAC in its own container.
struct FLAC: ContainerRules, NumberedRules {
    let packets = PacketTraits(clock: .frameNumbers, jump: .byFrameNumber, landing: .byByte)

    func isCertain(_ start: [UInt8]) -> Bool {
        guard start.count >= 21, start.starts(with: "fLaC".utf8), start[4] & 0x7F == 0 else { return false }
        let (shortest, longest) = (bigEndian(start[8..<10]), bigEndian(start[10..<12]))
        let rate = bigEndian(start[18..<21]) >> 4
        return bigEndian(start[5..<8]) == 34 && shortest >= 16 && longest >= shortest && (1...655_350).contains(rate)
    }

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capFLAC(from: start) }

    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        if let comments = VorbisComments.inFLAC(source, size) { VorbisComments.collect(in: comments, into: &collector) }
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .counted(stated)
    }

    /// A total of zero also means that the length was not known. Only the MD5 shows that the encoder had no samples.
    func provesEmpty(_ source: ByteSource) -> Bool {
        guard let start = source.bytes(at: 0, count: 42), start.count == 42,
            start.starts(with: "fLaC".utf8), start[4] & 0x7F == 0, start[21] & 0x0F == 0,
            start[22..<26].allSatisfy({ $0 == 0 }), start[26...].elementsEqual(Self.digestOfNothing)
        else { return false }
        var place: Int64 = 4
        for _ in 0..<Chunks.most {
            guard let head = source.bytes(at: place, count: 4), head.count == 4 else { return false }
            place += 4 + bigEndian(head[1...])
            if head[0] & 0x80 != 0 { return source.ends(at: place) }
        }
        return false
    }

    /// The MD5 of no bytes.
    private static let digestOfNothing: [UInt8] = [
        0xD4, 0x1D, 0x8C, 0xD9, 0x8F, 0x00, 0xB2, 0x04, 0xE9, 0x80, 0x09, 0x98, 0xEC, 0xF8, 0x42, 0x7E,
    ]

    var numbered: (any NumberedRules)? { self }

    func numbers(of stream: InputStream, _ track: Track) -> FrameNumbers { FrameNumbers(stream, track) }
}

/// As an output.
extension FLAC {
    func muxerName(_ format: ResolvedFormat) -> String { "flac" }

    var tagFormat: TagFormat? { .vorbis }

    func keepsValues(of name: String) -> Bool { true }

    func takes(name: String) -> Bool { VorbisComments.takes(name: name) }

    func chapterTags(_ chapters: [Chapter]) -> [Tag] { CommentChapters.tags(chapters) }

    func prepared(_ tags: [Tag]) -> [Tag] { CommentValues.joined(NativeTags(tags, in: .vorbis).tags) }

    /// Each has a block, whose size has 24 bits.
    func pictureRoom(beside tags: [Tag]) -> PictureRoom { PictureRoom(each: 1 << 24 - 1) }

    func seekTable(of source: ByteSource) -> FLACSeekTable? { FLACSeekTable(in: source) }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        try facts.seekTable?.write(to: sink)
        let tags = facts.tags.filter { !$0.isTechnical }
        try CommentValues.divide(tags, in: sink) { VorbisComments.inFLAC($0, sink.size) }
    }
}
