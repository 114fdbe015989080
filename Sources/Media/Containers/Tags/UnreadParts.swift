import Conversion

/// What a file has that no output gets: a copy in the same container would lack it.
struct UnreadParts {
    /// In the words of the container: `chunk smpl`, `frame GEOB`. Each occurs once.
    private(set) var names: [String] = []
    /// Streams of video or subtitles.
    private(set) var streams = 0

    /// So many are named at most.
    private static let most = 64

    init(of demuxer: Demuxer) {
        let source = demuxer.source
        streams = demuxer.streams.count { $0.isVideo && !$0.isCover || $0.isSubtitle }
        if demuxer.streams.contains(where: { $0.isAttachment && !$0.isCover }) { add("attachment") }
        if demuxer.streams.contains(where: \.isOfChapters) { add("pictures of chapters") }
        for stream in demuxer.streams where stream.isData || stream.isUnknown { addData(stream.fourCC) }
        // An output has such a header for LAME's delay alone. Without it, players estimate the length of a variable bit rate.
        if let header = demuxer.framed?.header, header.priming == 0 { add("header Xing, Info or VBRI") }
        guard source.isSeekable, let size = source.size else { return }
        source.readingAhead { demuxer.rules.findUnread(in: source, size, &self) }
    }

    mutating func add(_ name: String) {
        guard names.count < Self.most, !names.contains(name) else { return }
        names.append(name)
    }

    /// Adds a stream that is neither sound nor pictures nor texts, by the name of its codec.
    private mutating func addData(_ name: String) {
        switch name {
        // In MP4, the titles of chapters, which libav has read.
        case "text", "tx3g": break
        case "tmcd": add("time code track")
        case _ where name.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) }: add("data track \(name)")
        default: add("data stream")
        }
    }

    /// Adds the chunks with other names than `kept`.
    mutating func addChunks(_ chunks: Chunks, in source: ByteSource, without kept: Set<String>) {
        chunks.each(in: source) { name, _, _ in
            // Zeros behind the last chunk, or other bytes that are none.
            guard name.allSatisfy({ (0x20...0x7E).contains($0) }) else { return false }
            let name = String(decoding: name, as: UTF8.self)
            if !kept.contains(name), !Self.fillers.contains(name) { add("chunk \(name)") }
            return true
        }
    }

    /// Adds what the lists of WAV hold beside texts and the titles of cue points.
    mutating func addLists(_ chunks: Chunks, in source: ByteSource) {
        chunks.each(in: source) { name, place, size in
            guard name.elementsEqual("LIST".utf8), let type = source.bytes(at: place, count: 4), type.count == 4 else {
                return true
            }
            let text = String(decoding: type.map { (0x20...0x7E).contains($0) ? $0 : 0x3F }, as: UTF8.self)
            if text == "adtl" {
                addNotes(chunks, in: source, place + 4, upTo: place + max(size, 4))
            } else if text != "INFO" {
                add("chunk LIST of type \(text)")
            }
            return true
        }
    }

    /// Adds the chunks about cue points that hold no titles, such as `ltxt` with the length of a region.
    private mutating func addNotes(_ chunks: Chunks, in source: ByteSource, _ start: Int64, upTo end: Int64) {
        chunks.each(in: source, from: start, most: Self.mostNotes) { name, place, size in
            guard place <= end, name.allSatisfy({ (0x20...0x7E).contains($0) }) else { return false }
            let name = String(decoding: name, as: UTF8.self)
            // The number of the point, and a length of zero, say nothing.
            let isEmpty = name == "ltxt" && size <= 20 && source.bytes(at: place + 4, count: 4) == [0, 0, 0, 0]
            if name != "labl", !isEmpty { add("chunk \(name)") }
            return true
        }
    }

    /// Several for each of 65,535 points.
    private static let mostNotes = 4 << 16
    private static let fillers: Set<String> = ["JUNK", "junk", "PAD ", "FLLR", "free"]
}

extension Reader {
    /// What the source has that no output gets.
    package var unreadParts: (names: [String], streams: Int) {
        let parts = UnreadParts(of: demuxer)
        return (parts.names, parts.streams)
    }
}

extension WAV {
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        var kept: Set<String> = ["fmt ", "data", "ds64", "fact", "LIST", "id3 ", "ID3 ", "cue ", "PEAK"]
        kept.formUnion(broadcast(in: source)?.names ?? [])
        let chunks = WAVHeader.chunks(of: source)
        parts.addChunks(chunks, in: source, without: kept)
        parts.addLists(chunks, in: source)
        ID3Frames.findUnread(in: chunks, of: source, &parts)
    }
}

extension W64 {
    /// A chunk has a name of 16 bytes, of which four are letters, and a size that includes the name.
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        let kept: Set<String> = ["fmt ", "data", "fact", "junk"]
        var place: Int64 = 40
        for _ in 0..<Chunks.most {
            guard place < size, let head = source.bytes(at: place, count: 24), head.count == 24,
                case let bytes = littleEndian(head[16...]), bytes >= 24, bytes <= size - place,
                head[..<4].allSatisfy({ (0x20...0x7E).contains($0) })
            else { return }
            let name = String(decoding: head[..<4], as: UTF8.self)
            if !kept.contains(name) { parts.add("chunk \(name)") }
            place += (bytes + 7) / 8 * 8
        }
    }
}

extension AIFF {
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        let kept: Set<String> = [
            "COMM", "SSND", "FVER", "CHAN", "NAME", "AUTH", "(c) ", "ANNO", "MARK", "ID3 ", "id3 ",
        ]
        parts.addChunks(.iff, in: source, without: kept)
        ID3Frames.findUnread(in: .iff, of: source, &parts)
    }
}

extension CAF {
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        let kept: Set<String> = ["desc", "data", "pakt", "kuki", "chan", "info", "mark", "strg"]
        parts.addChunks(Self.chunks, in: source, without: kept)
    }
}

extension FLAC {
    var hasTagBlocks: Bool { true }

    /// Chapters in a CUE sheet are kept, but not the sheet.
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        if TagBlocks.end(in: source, before: size) > 0 { parts.add("tags before the FLAC data") }
        parts.addTagBlocks(in: source, size)
        FLACBlocks.each(in: source, size) { kind, _ in
            switch kind {
            case 2: parts.add("FLAC metadata block APPLICATION")
            case FLACBlocks.cueSheet: parts.add("FLAC metadata block CUESHEET")
            case 0, 1, 3, FLACBlocks.comments, 6: break
            default: parts.add("FLAC metadata block of type \(kind)")
            }
            return true
        }
    }
}

extension MP3 {
    var hasTagBlocks: Bool { true }

    /// Programs that change the level keep in an APE tag how to undo it.
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        ID3Frames.findUnread(in: source, at: 0, &parts)
        parts.addTagBlocks(in: source, size)
    }
}

extension ADTS {
    var hasTagBlocks: Bool { true }

    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        ID3Frames.findUnread(in: source, at: 0, &parts)
        // An APE tag is read in place of an ID3 tag.
        let readsAPE = source.bytes(at: 0, count: 3) != Array("ID3".utf8)
        parts.addTagBlocks(in: source, size, keepsAPE: readsAPE)
        if readsAPE { APEItems.findUnread(in: source, size, &parts) }
    }
}

extension WavPack {
    var hasTagBlocks: Bool { true }

    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        parts.addTagBlocks(in: source, size, keepsAPE: true)
        APEItems.findUnread(in: source, size, &parts)
    }
}

extension Matroska {
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        MatroskaTags.findUnread(in: source, size, &parts)
        MatroskaTags.findUnreadChapters(in: source, size, &parts)
    }
}
