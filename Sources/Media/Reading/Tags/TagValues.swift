/// Counts the values of each tag in a source, from its raw bytes.
///
/// libav keeps the first or the last value, or joins all of them into one text. Only the source itself shows what
/// is lost that way. Names are case-insensitive.
struct TagValues {
    private var counts: [String: Int] = [:]
    private var order: [String] = []

    /// Names with more than one value, in the order of the source.
    var repeated: [(name: String, values: Int)] {
        order.compactMap { key in
            guard let count = counts[key], count > 1 else { return nil }
            return (String(key.prefix { $0 != "\0" }), count)
        }
    }

    /// Counts more values of a tag. Tags of the same name in different parts of the file have different owners.
    mutating func add(_ name: String, of owner: String = "", values: Int = 1) {
        let key = name.lowercased() + (owner.isEmpty ? "" : "\0" + owner)
        guard values > 0, counts[key] != nil || order.count < Self.mostNames else { return }
        if counts[key] == nil { order.append(key) }
        counts[key, default: 0] += values
    }

    /// A file with more names is hostile.
    private static let mostNames = 1_000
    /// Limit on the values examined in one block of tags.
    static let mostValues = 10_000
    /// The same limit if values consist of parts.
    static let mostParts = 10 * mostValues
    /// Limit on the bytes of text examined.
    static let mostTextBytes: Int64 = 16 << 20
    /// Limit on the bytes of a tag's name.
    static let longestName = 256

    init() {}

    /// Reads the tags of an open source.
    init(_ demuxer: Demuxer) {
        let source = demuxer.source
        guard let size = source.size else { return }
        switch demuxer.name {
        case "flac":
            if let comments = VorbisComments.inFLAC(source, size) { VorbisComments.count(in: comments, into: &self) }
        case "ogg":
            if let comments = VorbisComments.inOgg(source, size) { VorbisComments.count(in: comments, into: &self) }
        case "mov,mp4,m4a,3gp,3g2,mj2":
            MP4Items.count(in: source, size, into: &self)
        case "wav", "aiff", "w64":
            if let tag = ID3Frames.inChunks(source, size, isBig: demuxer.name == "aiff") {
                ID3Frames.count(in: source, at: tag, into: &self)
            }
        case "matroska,webm":
            MatroskaTags.count(in: source, size, into: &self)
        case "asf":
            ASFAttributes.count(in: source, into: &self)
        default:
            ID3Frames.count(in: source, at: 0, into: &self)
            if order.isEmpty { APEItems.count(in: source, size, into: &self) }
        }
    }
}
