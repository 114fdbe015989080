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

    /// With `inStream`, the output is written in order.
    init(_ tags: [Tag], cover: Picture?, in format: ResolvedFormat, inStream: Bool = false) {
        var carried: [Tag] = []
        var lost: [String] = []
        var remarks: [Remark] = []
        let rules = format.rules
        for tag in tags where !tag.isTechnical {
            let isStored = format.container.stores(tag: tag.name ?? tag.key, inStream: inStream)
            if isStored { carried.append(tag) } else { lost.append(tag.key) }
        }
        if !lost.isEmpty {
            let names = lost.joined(separator: ", ")
            let detail = "\(format.container.title) cannot store: \(names)"
            remarks.append(Remark(.tags, detail, count: Int64(lost.count)))
        }
        let coverPlace = format.container.coverPlace
        coverStream = [.stream, .attachment].contains(coverPlace) ? cover : nil
        if let cover, coverStream == nil {
            if coverPlace == .comment {
                carried.append(Tag(key: "METADATA_BLOCK_PICTURE", value: PictureBlock.base64(cover)))
            } else if coverPlace != .tag || inStream {
                lost.append("cover")
                remarks.append(Remark(.cover, "\(format.container.title) cannot store a cover"))
            }
        }
        self.tags = rules.prepared(carried)
        self.lost = lost
        self.remarks = remarks
        belongsToStream = rules.putsTagsOnStream
    }
}
