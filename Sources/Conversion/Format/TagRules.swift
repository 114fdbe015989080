/// What an output can hold beside its sound. The converter writes by these rules, and forecasts read them.
extension Container {
    /// Whether the container can store a tag of this name. In a stream, which is written in order, WAV has nothing but its
    /// INFO list.
    public func stores(tag name: String, inStream: Bool = false) -> Bool {
        switch self {
        case .wav: !inStream || Self.infoHolds(tag: name)
        case .w64, .au, .raw: false
        case .aiff, .aifc, .caf, .flac, .m4a, .mp4, .adts, .mp3, .ogg, .webm, .mka, .wavpack: true
        }
    }

    /// The tags for which libav has a code in the INFO list.
    private static let infoTags: Set<String> = [
        "title", "artist", "album", "comment", "copyright", "date", "genre", "track", "language", "encoded_by",
    ]

    /// Whether the INFO list of WAV has a place for a tag, or for the number that states it.
    public static func infoHolds(tag name: String) -> Bool {
        guard let row = TagTable.row(key: name) else { return infoTags.contains(name.lowercased()) }
        return infoTags.contains((row.totalOf.flatMap { TagTable.row($0) } ?? row).libavName.lowercased())
    }

    /// Where the container stores a cover.
    public enum CoverPlace: Sendable {
        case none
        /// In a stream with one picture.
        case stream
        /// In an attachment.
        case attachment
        /// In a comment, as FLAC's picture block.
        case comment
        /// Among the tags.
        case tag
    }

    public var coverPlace: CoverPlace {
        switch self {
        case .flac, .m4a, .mp4: .stream
        case .mka: .attachment
        case .ogg: .comment
        case .aiff, .aifc, .mp3, .wav, .wavpack: .tag
        case .w64, .caf, .au, .raw, .adts, .webm: .none
        }
    }

    /// How many chapters the container can hold. A stream holds none.
    public var mostChapters: Int {
        switch self {
        // A byte or two count them.
        case .mp3: 255
        case .aiff, .aifc, .wav, .caf: 65_535
        // Their numbers have three digits.
        case .flac, .ogg: 1_000
        case .m4a, .mp4, .mka: 65_535
        // The tracks of a CUE sheet have numbers of two digits.
        case .wavpack: 99
        case .w64, .au, .raw, .adts, .webm: 0
        }
    }

    /// Whether a container describes itself with a tag of this name. Such tags are not copied: in another file they are
    /// false.
    public static func describesItself(byTag name: String) -> Bool { technicalTags.contains(name.lowercased()) }

    /// Whether such a tag is about the packets of sound. It holds where they are copied.
    public static func describesPackets(byTag name: String) -> Bool {
        ["itunnorm", "encodersettings"].contains(name.lowercased())
    }

    private static let technicalTags: Set<String> = [
        "encoder", "major_brand", "minor_version", "compatible_brands", "itunsmpb", "itunnorm", "duration",
        "metadata_block_picture", "encoded_by_library", "creation_time", "vendor_id", "handler_name", "encodersettings",
    ]
}

/// What a source has beside its sound, as far as a description lists it.
public struct SourceExtras: Sendable, Hashable {
    /// The names of its tags, without those by which its container describes itself.
    public var tags: [String]
    public var hasCover: Bool
    public var hasChapters: Bool

    public init(tags: [String] = [], hasCover: Bool = false, hasChapters: Bool = false) {
        self.tags = tags.filter { !Container.describesItself(byTag: $0) }
        (self.hasCover, self.hasChapters) = (hasCover, hasChapters)
    }

    public init(_ source: SourceReport) {
        // Of more tags than fit, a report says how many in an entry that is not a tag.
        self.init(
            tags: source.tags.filter { !$0.isTechnical }.map(\.name),
            hasCover: source.cover != nil,
            hasChapters: !source.chapters.isEmpty
        )
    }
}

extension ResolvedFormat {
    /// What the output would lack of `extras`.
    public func losses(of extras: SourceExtras) -> [Remark.Kind] {
        var losses: [Remark.Kind] = []
        if !lostTags(of: extras).isEmpty { losses.append(.tags) }
        if extras.hasChapters, container.mostChapters == 0 { losses.append(.chapters) }
        if extras.hasCover, container.coverPlace == .none { losses.append(.cover) }
        return losses
    }

    /// The tags that the container cannot store.
    public func lostTags(of extras: SourceExtras) -> [String] { extras.tags.filter { !container.stores(tag: $0) } }
}
