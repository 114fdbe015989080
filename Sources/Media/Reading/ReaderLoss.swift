import Conversion

/// Which tags, pictures and chapters of a source its reader does not give, or not as they are.
package struct ReaderLoss: Sendable {
    let hidesTags: Bool
    let tagsAreCut: Bool
    private(set) var repeatedTags: [KnownTags.Repeated]
    private(set) var unreadChapters: Int
    /// How many pictures the container has, how many of them are in the description, and how many others were looked at and
    /// have impossible sides.
    let pictures: (all: Int, known: Int, odd: Int)

    init(_ reader: Reader) {
        hidesTags = reader.demuxer.hidesTags
        tagsAreCut = reader.tagsAreCut
        repeatedTags = reader.repeatedTags
        unreadChapters = reader.unreadChapters
        let covers = reader.demuxer.streams.filter(\.isCover)
        let odd = covers.prefix(Reader.mostPictures).count { stream in
            stream.attachedPicture.map(Picture.hasImpossibleSides) ?? false
        }
        pictures = (covers.count, reader.description.pictures.count, odd)
    }

    /// The same without that in place of which the caller sets something: these tags, and all chapters.
    func without(_ tags: [String: Recipe.TagValues], chapters: Bool) -> ReaderLoss {
        var loss = self
        let names = Set(tags.keys.map(TagTable.commonName(ofKey:)))
        loss.repeatedTags.removeAll { names.contains(TagTable.commonName(ofKey: $0.name)) }
        if chapters { loss.unreadChapters = 0 }
        return loss
    }

    /// The remark on tags beyond those that are read.
    var ofTags: Remark? { hidesTags ? TagCap.remark : tagsAreCut ? TagCollector.remark : nil }
}

extension Reader {
    package var loss: ReaderLoss { ReaderLoss(self) }
}
