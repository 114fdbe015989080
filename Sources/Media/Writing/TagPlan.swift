import Conversion

/// The tags that go into a container and where, and those that it cannot carry.
struct TagPlan {
    let tags: [Tag]
    let lost: [String]
    /// Remarks about lost tags and a lost cover.
    let remarks: [Remark]
    /// Whether the tags belong to the stream, as in Ogg, and not to the file.
    let belongsToStream: Bool
    /// The cover, if the container holds it as a separate stream.
    let coverStream: Picture?

    init(_ tags: [Tag], cover: Picture?, in format: ResolvedFormat) {
        var carried: [Tag] = []
        var lost: [String] = []
        var remarks: [Remark] = []
        for tag in tags where !tag.isTechnical {
            if TagPlan.carries(tag, format) { carried.append(tag) } else { lost.append(tag.key) }
        }
        if !lost.isEmpty {
            let names = lost.joined(separator: ", ")
            let detail = "\(format.container.title) cannot store: \(names)"
            remarks.append(Remark(.tags, detail, count: Int64(lost.count)))
        }
        coverStream = TagPlan.holdsCoverStream(format.container) ? cover : nil
        if let cover, coverStream == nil {
            if format.container == .ogg {
                carried.append(Tag(key: "METADATA_BLOCK_PICTURE", value: PictureBlock.base64(cover)))
            } else {
                lost.append("cover")
                remarks.append(Remark(.cover, "\(format.container.title) cannot store a cover"))
            }
        }
        self.tags = carried.filter { !(TagPlan.isMP4(format.container) && TagPlan.mp4Custom($0)) }
        self.lost = lost
        self.remarks = remarks
        belongsToStream = format.container == .ogg
    }

    private static func holdsCoverStream(_ container: Container) -> Bool {
        [.mp3, .flac, .m4a, .mp4, .mka, .aiff, .aifc].contains(container)
    }

    private static func isMP4(_ container: Container) -> Bool { container == .m4a || container == .mp4 }

    private static func carries(_ tag: Tag, _ format: ResolvedFormat) -> Bool {
        switch format.container {
        case .raw, .w64, .au: false
        case .wav: waveInfo.contains(tag.key.lowercased())
        default: true
        }
    }

    /// The tags for which libav has a code in WAV's INFO list.
    private static let waveInfo: Set<String> = [
        "title", "artist", "album", "comment", "copyright", "date", "genre", "track", "language", "encoded_by",
    ]

    /// Whether MP4's item list has no name of its own for a tag; `MP4Patch` adds such a tag as a freeform item.
    static func mp4Custom(_ tag: Tag) -> Bool { !tag.isTechnical && !mp4Known.contains(tag.key.lowercased()) }

    private static let mp4Known: Set<String> = [
        "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
        "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "track", "disc",
        "compilation", "episode_sort", "season_number", "media_type", "hd_video", "gapless_playback", "sort_name",
        "sort_artist", "sort_album", "sort_album_artist", "sort_composer", "sort_show",
    ]
}

/// FLAC's picture block, which Ogg stores in its comments.
enum PictureBlock {
    static func base64(_ picture: Picture) -> String {
        var block = bigEndianBytes(3, count: 4)
        let mime = Array(picture.mimeType.utf8)
        block += bigEndianBytes(Int64(mime.count), count: 4) + mime + bigEndianBytes(0, count: 4)
        for value in [picture.width, picture.height, 24, 0, picture.bytes.count] {
            block += bigEndianBytes(Int64(value), count: 4)
        }
        return Base64.encode(block + picture.bytes)
    }
}
