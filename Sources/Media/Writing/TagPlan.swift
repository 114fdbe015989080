import Conversion

/// The tags that go into a container and where, and those that it cannot carry.
struct TagPlan {
    let tags: [Tag]
    let lost: [String]
    /// Remarks about lost tags and a lost cover.
    let remarks: [Remark]
    /// Whether the tags belong to the stream, as in Ogg, and not to the file.
    let belongsToStream: Bool
    /// The pictures for which the container has room.
    let pictures: [Picture]
    /// The same, if the container holds each as a separate stream.
    let pictureStreams: [Picture]

    /// With `inStream`, the output is written in order.
    init(_ tags: [Tag], pictures all: [Picture] = [], in format: ResolvedFormat, inStream: Bool = false) {
        var carried: [Tag] = []
        var lost: [String] = []
        var remarks: [Remark] = []
        let rules = format.rules
        for tag in tags where !tag.isTechnical {
            let isStored =
                format.container.stores(tag: tag.name ?? tag.key, inStream: inStream) && rules.takes(tag)
            if isStored { carried.append(tag) } else { lost.append(tag.key) }
        }
        if !lost.isEmpty {
            let names = lost.joined(separator: ", ")
            let detail = "\(format.container.title) cannot store: \(names)"
            remarks.append(Remark(.tags, detail, count: Int64(lost.count)))
        }
        let place = format.container.coverPlace
        let ordered = rules.statesPictureKinds ? all : PictureKind.frontFirst(all)
        let pictures = rules.pictureRoom(beside: carried).fitting(ordered)
        self.pictures = pictures
        pictureStreams = [.stream, .attachment].contains(place) ? pictures : []
        if place == .comment, let comment = PictureBlock.tag(pictures) { carried.append(comment) }
        if !all.isEmpty, place == .none || place == .tag && inStream {
            lost.append("cover")
            remarks.append(Remark(.cover, "\(format.container.title) cannot store a cover"))
        } else if pictures.count < all.count {
            if pictures.isEmpty { lost.append("cover") }
            let count = all.count - pictures.count
            let lacking = "\(Plural.count(count, "picture")) \(Plural.past(count)) not carried over"
            remarks.append(Remark(.cover, "\(lacking): too large for \(format.container.title)", count: Int64(count)))
        }
        self.tags = rules.prepared(carried)
        self.lost = lost
        self.remarks = remarks
        belongsToStream = rules.putsTagsOnStream
    }
}
