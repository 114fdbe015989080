import Conversion

/// Hides tags and chapters beyond `TagBudget` from libav, by overwriting them with harmless content as libav reads.
///
/// It expects well-formed files. If a file misleads it, libav sees all tags, until the limit for opening.
struct TagCap {
    /// The bytes that libav sees changed. They do not move any other byte.
    var patches: [SourcePatch] = []
    var budget = TagBudget()
    let source: ByteSource
    let size: Int64

    /// A smaller file cannot hold enough tags to matter.
    private static let leastBytes: Int64 = 64 << 10
    /// Each read of the source goes through all patches.
    private static let mostPatches = 4096
    /// Limit on the pieces to examine. Anything after them in the file stays as it is.
    static let mostPieces = 1 << 20

    /// Examines a file of `container`; `nil` if libav may see all of it.
    init?(_ source: ByteSource, _ rules: any SourceRules, container: String) throws {
        guard let size = source.size, size >= Self.leastBytes else { return nil }
        self.source = source
        self.size = size
        source.readingAhead { cap(rules) }
        guard !patches.isEmpty else { return nil }
        if patches.count > Self.mostPatches {
            throw MediaError(
                .metadataTooLarge,
                at: .open,
                "the \(container) file has more than \(TagBudget.mostTags) tags in too many places",
                hint: "remove the tags"
            )
        }
    }

    private mutating func cap(_ rules: any SourceRules) {
        let behindTags = capID3(at: 0)
        rules.capTags(&self, from: behindTags)
    }

    /// The remark of a conversion that hid tags.
    static let remark = Remark(
        .tags,
        "the source has more than \(TagBudget.mostTags) tags and chapters; only the first ones were kept"
    )

    mutating func patch(_ place: Int64, _ bytes: [UInt8]) { patches.append(SourcePatch(place: place, bytes: bytes)) }
}
