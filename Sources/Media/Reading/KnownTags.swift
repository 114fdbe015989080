import Conversion

/// The tags of a source as libav names them, completed by those that its bytes hold beside them.
struct KnownTags {
    /// A tag with several values is one text here, with `;` between them, as libav makes it of Vorbis comments.
    private(set) var tags: [Tag]
    /// The tags with several values.
    private(set) var repeated: [Repeated] = []

    /// A tag with several values, and their number.
    struct Repeated {
        /// In lower case.
        let name: String
        let count: Int
    }

    init(_ tags: [Tag], completedBy own: Tags) {
        self.tags = tags
        // Of two tags with the same name, the first one is what libav has of the file.
        var places = Dictionary(tags.indices.map { (tags[$0].key.lowercased(), $0) }) { first, _ in first }
        for text in own.texts {
            let names = TagTable.libavNames(of: text)
            let joined = text.values.joined(separator: ";")
            if let place = names.compactMap({ places[$0] }).first {
                let tag = tags[place]
                // What libav has joined or translated itself stays.
                if text.values.contains(tag.value) { self.tags[place] = Tag(key: tag.key, value: joined) }
                note(tag.key, text)
            } else if let name = TagTable.libavName(ofMissing: text) {
                places[name] = self.tags.count
                self.tags.append(Tag(key: name, value: joined))
                note(name, text)
            } else {
                note(names[0], text)
            }
        }
    }

    private mutating func note(_ name: String, _ text: Tags.Text) {
        if text.values.count > 1 { repeated.append(Repeated(name: name.lowercased(), count: text.values.count)) }
    }
}
