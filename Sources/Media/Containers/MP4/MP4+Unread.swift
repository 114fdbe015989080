import Conversion

/// What outputs do not get of an MP4 file: items and boxes beside texts, numbers, covers and chapters.
extension MP4 {
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {
        var found = parts
        let _: Void? = source.eachBox(in: 0..<size) { name, content in
            if !Self.keptInFile.contains(name) { found.add(box: name, content, of: source) }
            if name == "moov" { Self.findUnread(inMovie: content, of: source, &found) }
            return nil
        }
        parts = found
    }

    /// Boxes with the sound, its times, and what libav reads of tags.
    private static let keptInFile: Set<String> = [
        "ftyp", "moov", "mdat", "free", "skip", "wide", "moof", "mfra", "sidx", "ssix", "styp", "prft", "pdin",
    ]
    private static let keptInMovie: Set<String> = [
        "mvhd", "trak", "mvex", "iods", "udta", "meta", "free", "skip", "wide",
    ]
    private static let keptInUser: Set<String> = ["meta", "chpl", "free", "skip"]

    private static func findUnread(
        inMovie movie: Range<Int64>,
        of source: ByteSource,
        _ parts: inout UnreadParts
    ) {
        var found = parts
        let _: Void? = source.eachBox(in: movie) { name, content in
            if !keptInMovie.contains(name) { found.add(box: name, content, of: source) }
            if name == "udta" { findUnread(inUser: content, of: source, &found) }
            // Other tracks count as streams.
            if name == "trak", isSound(content, of: source), let user = source.box("udta", in: content) {
                let _: Void? = source.eachBox(in: user) { name, content in
                    if !["free", "skip"].contains(name) { found.add(box: name, content, of: source) }
                    return nil
                }
            }
            return nil
        }
        parts = found
    }

    private static func isSound(_ track: Range<Int64>, of source: ByteSource) -> Bool {
        guard let media = source.box("mdia", in: track), let handler = source.box("hdlr", in: media) else {
            return false
        }
        return source.bytes(at: handler.lowerBound + 8, count: 4) == Array("soun".utf8)
    }

    private static func findUnread(inUser user: Range<Int64>, of source: ByteSource, _ parts: inout UnreadParts) {
        var found = parts
        let _: Void? = source.eachBox(in: user) { name, content in
            // The first letter of Apple's names is not ASCII. These are texts.
            if !keptInUser.contains(name), !name.hasPrefix("\u{FFFD}") { found.add(box: name, content, of: source) }
            return nil
        }
        MP4Items.findUnread(inUser: user, of: source, &found)
        parts = found
    }
}

extension UnreadParts {
    fileprivate mutating func add(box name: String, _ content: Range<Int64>, of source: ByteSource) {
        // Zeros at the end of `udta` are no box.
        guard name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return }
        let isXMP = name == "uuid" && source.bytes(at: content.lowerBound, count: 4) == [0xBE, 0x7A, 0xCF, 0xCB]
        add(isXMP ? "MP4 box uuid (XMP)" : "MP4 box \(name)")
    }
}
