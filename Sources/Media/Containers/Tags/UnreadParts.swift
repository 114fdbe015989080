/// What a file has that no output gets: a copy in the same container would lack it.
struct UnreadParts {
    /// In the words of the container: `chunk smpl`, `frame GEOB`. Each occurs once.
    private(set) var names: [String] = []
    /// Streams that are neither sound nor pictures that are kept.
    private(set) var streams = 0

    /// So many are named at most.
    private static let most = 64

    init() {}

    init(of demuxer: Demuxer) {
        let source = demuxer.source
        streams = demuxer.streams.count { $0.isVideo && !$0.isCover || $0.isSubtitle }
        if demuxer.streams.contains(where: { $0.isAttachment && !$0.isCover }) { add("attachment") }
        // An output has such a header for LAME's delay alone. Without it, players estimate the length of a variable bit rate.
        if let header = demuxer.framed?.header, header.priming == 0 { add("header Xing, Info or VBRI") }
        guard source.isSeekable, let size = source.size else { return }
        source.readingAhead { demuxer.rules.findUnread(in: source, size, &self) }
    }

    mutating func add(_ name: String) {
        guard names.count < Self.most, !names.contains(name) else { return }
        names.append(name)
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
        ID3Frames.findUnread(in: chunks, of: source, &parts)
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
    /// Chapters in a CUE sheet are kept, but not the sheet.
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        if TagBlocks.end(in: source, before: size) > 0 { parts.add("tags in front of FLAC") }
        FLACBlocks.each(in: source, size) { kind, _ in
            switch kind {
            case 2: parts.add("block APPLICATION")
            case FLACBlocks.cueSheet: parts.add("block CUESHEET")
            case 0, 1, 3, FLACBlocks.comments, 6: break
            default: parts.add("block \(kind)")
            }
            return true
        }
    }
}

extension MP3 {
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        ID3Frames.findUnread(in: source, at: 0, &parts)
        // Programs that change the level keep there how to undo it. What an ID3v1 tag says is in other tags, too.
        let end = TagBlocks.soundEnd(of: source, size: size)
        let ape = Array("APETAGEX".utf8)
        for place in [end, size - 32, size - 160] where place >= end && place + 32 <= size {
            if source.bytes(at: place, count: 8) == ape { parts.add("tag of APE") }
        }
    }
}

extension ADTS {
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        ID3Frames.findUnread(in: source, at: 0, &parts)
    }
}
