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
        guard let size = demuxer.source.size else { return }
        demuxer.rules.countTags(in: demuxer.source, size, into: &self)
    }

    var isEmpty: Bool { order.isEmpty }
}
