import Conversion

/// Collects the tags of a source from its raw bytes, within limits: a file may be hostile.
///
/// libav keeps the first or the last value of a tag, or joins all of them into one text. Only the source itself shows them.
struct TagCollector {
    private(set) var tags = Tags()
    private var valuesLeft = TagCollector.mostValues
    private var bytesLeft = TagCollector.mostTextBytes

    /// A file with more names is hostile.
    private static let mostNames = 1_000
    /// Limit on the values in one block of tags, and on all values of a source.
    static let mostValues = 10_000
    /// The same limit if values consist of parts.
    static let mostParts = 10 * mostValues
    /// Limit on the bytes of text. A FLAC file holds 16 MiB of comments.
    static let mostTextBytes: Int64 = 8 << 20
    /// Limit on the bytes of one value. Longer ones are pictures or garbage.
    static let longestValue: Int64 = 1 << 20
    /// Limit on the bytes of a tag's name.
    static let longestName = 256

    /// The remark of a conversion of a source with more than that.
    static let remark = Remark(
        .tagValues,
        "the source has more or longer tags than are read in full; of those beyond the limit, one value is kept"
    )

    /// Whether a text of so many bytes may be read. If not, the tags are marked as cut.
    mutating func takes(_ bytes: Int64) -> Bool {
        guard bytes >= 0, bytes <= min(bytesLeft, Self.longestValue), valuesLeft > 0 else {
            tags.isCut = true
            return false
        }
        bytesLeft -= bytes
        return true
    }

    /// Adds the values of a tag that `format` calls `native`. Values end at a NUL, and empty ones do not count.
    mutating func add(_ values: [String], native: String, in format: TagFormat) {
        let values = values.map(Self.untilNUL).filter { !$0.isEmpty }
        guard !native.isEmpty, !values.isEmpty else { return }
        guard values.count <= valuesLeft, tags.texts.count < Self.mostNames else {
            tags.isCut = true
            return
        }
        valuesLeft -= values.count
        tags.add(values, native: native, in: format)
    }

    private static func untilNUL(_ text: String) -> String { String(text.prefix { $0 != "\0" }) }

    init() {}
}

extension Demuxer {
    /// All tags of the source under their own names; none of a pipe, which shows its bytes only once.
    var ownTags: Tags {
        guard let size = source.size else { return Tags() }
        var collector = TagCollector()
        source.readingAhead { rules.collectTags(in: source, size, into: &collector) }
        return collector.tags
    }
}
