/// How many values each tag has in a source, by its raw tags.
///
/// libav keeps the first value or the last, or puts all into one text. What is lost so can be told only by looking at
/// the source itself. A name counts without its case.
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

    /// Counts further values of a tag. Tags of one name that belong to different parts of the file have different owners.
    mutating func add(_ name: String, of owner: String = "", values: Int = 1) {
        let key = name.lowercased() + (owner.isEmpty ? "" : "\0" + owner)
        guard values > 0, counts[key] != nil || order.count < Self.mostNames else { return }
        if counts[key] == nil { order.append(key) }
        counts[key, default: 0] += values
    }

    /// A file with more names has something else in mind.
    private static let mostNames = 1_000
    /// Values in one block of tags that are looked at.
    static let mostValues = 10_000
    /// The same where each has parts of its own.
    static let mostParts = 10 * mostValues
    /// Bytes of text that are looked at.
    static let mostTextBytes: Int64 = 16 << 20
    /// A name of a tag is no longer.
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
