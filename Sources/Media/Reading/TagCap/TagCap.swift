import Conversion

/// Hides from libav the tags and chapters of a file beyond `TagBudget`, by showing it something harmless in their place.
///
/// It follows the layout of files that are in order. One that leads it astray has libav see all; the limit for opening ends that.
struct TagCap {
    /// What libav sees instead. Nothing moves by it.
    var patches: [SourcePatch] = []
    var budget = TagBudget()
    let source: ByteSource
    let size: Int64

    /// A file of less has no room for so many.
    private static let leastBytes: Int64 = 64 << 10
    /// Each read looks at all of them.
    private static let mostPatches = 4096
    /// Pieces that are looked at: the rest of a file of more is left as it is.
    static let mostPieces = 1 << 20

    /// Looks through the file that libav takes for `container`; `nil` where all of it may be shown.
    init?(_ source: ByteSource, container: String) throws {
        guard let size = source.size, size >= Self.leastBytes else { return nil }
        self.source = source
        self.size = size
        source.readingAhead { cap(container) }
        guard !patches.isEmpty else { return nil }
        if patches.count > Self.mostPatches {
            throw MediaError(
                .metadataTooLarge,
                at: .open,
                "the \(container) file has more than \(TagBudget.mostTags) tags in too many places",
                hint: "take the tags out"
            )
        }
    }

    private mutating func cap(_ container: String) {
        let behindTags = capID3(at: 0)
        switch container {
        case "matroska,webm": capMatroska()
        case "flac": capFLAC(from: behindTags)
        case "ogg": capOgg()
        case "mov,mp4,m4a,3gp,3g2,mj2": capMP4()
        case "wav", "avi", "aiff": capChunks(isBig: container == "aiff")
        case "caf": capCAF()
        case "asf": capASF()
        default: capAPE()
        }
    }

    /// What a conversion has to tell of it.
    static let remark = Remark(
        .tags,
        "the source has more tags and chapters than are read (\(TagBudget.mostTags) at most); the first ones were kept"
    )

    mutating func patch(_ place: Int64, _ bytes: [UInt8]) { patches.append(SourcePatch(place: place, bytes: bytes)) }
}
