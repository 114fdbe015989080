import Conversion

/// The tags of a source as libav names them, completed by those that its bytes hold beside them.
struct KnownTags {
    private(set) var tags: [Tag]
    /// The tags with several values.
    private(set) var repeated: [Repeated] = []

    /// A tag with several values, and their number.
    struct Repeated {
        /// In lower case.
        let name: String
        let count: Int
        /// Whether `tags` has the values apart. If not, it has one text, as libav tells it.
        let isApart: Bool
    }

    init(_ tags: [Tag], completedBy own: Tags) {
        // libav takes the first role in ID3's lists of people for their text.
        let lists = Set(own.texts.filter(\.format.isID3).map { $0.native.prefix(4).uppercased() })
        let others = tags.filter { !Self.listsOfPeople.contains($0.key) || !lists.contains($0.key) }
        let tags = others.dividingTotals.filter { !($0.value == "0" && Self.isWithoutNumber($0, own)) }
        self.tags = tags
        // Of two tags with the same name, the first one is what libav has of the file.
        var places = Dictionary(tags.indices.map { (tags[$0].key.lowercased(), $0) }) { first, _ in first }
        for text in own.texts where !text.isBehindNumber {
            let names = TagTable.libavNames(of: text)
            let row = text.name.rowName
            let place =
                names.compactMap { places[$0] }.first
                ?? row.flatMap { row in self.tags.firstIndex { $0.name == row } }
            if let place {
                let tag = self.tags[place]
                let all = Tag(key: tag.key, values: text.values, name: row)
                // What libav has translated, such as a number of a genre, stays.
                let isSame =
                    text.values.contains(tag.value) || tag.value == all.value || Self.isLonger(text, than: tag.value)
                self.tags[place] = isSame ? all : Tag(key: tag.key, values: tag.values, name: row)
                note(tag.key, text, isApart: isSame)
            } else if let name = TagTable.libavName(ofMissing: text) {
                places[name.lowercased()] = self.tags.count
                self.tags.append(Tag(key: name, values: text.values, name: row))
                note(name, text, isApart: true)
                addTotal(of: text, in: own)
            } else {
                note(names[0], text, isApart: false)
            }
        }
    }

    /// Whether the file states the total alone of this number. libav takes that of MP4 for the number 0.
    private static func isWithoutNumber(_ tag: Tag, _ own: Tags) -> Bool {
        guard let number = tag.name, let total = TagTable.total(of: number), own[.common(number)].isEmpty else {
            return false
        }
        return own.texts.contains { $0.isBehindNumber && $0.name == .common(total.name) }
    }

    /// Adds the total that stands behind a number.
    private mutating func addTotal(of text: Tags.Text, in own: Tags) {
        guard let total = text.name.rowName.flatMap({ TagTable.total(of: $0) }),
            let behind = own.texts.first(where: { $0.isBehindNumber && $0.name == .common(total.name) }),
            !tags.contains(where: { $0.name == total.name })
        else { return }
        tags.append(Tag(key: total.libavName, values: [behind.values[0]], name: total.name))
    }

    /// Whether libav has the year of a date, or more of it, and the file has all.
    private static func isLonger(_ text: Tags.Text, than date: String) -> Bool {
        guard text.name == .common("date"), text.values.count == 1, !date.isEmpty else { return false }
        // libav divides day and time by a space.
        return String(text.values[0].map { $0 == "T" ? " " : $0 }).hasPrefix(date)
    }

    private static let listsOfPeople: Set<String> = ["TIPL", "TMCL", "IPLS"]

    private mutating func note(_ name: String, _ text: Tags.Text, isApart: Bool) {
        guard text.values.count > 1 else { return }
        repeated.append(Repeated(name: name.lowercased(), count: text.values.count, isApart: isApart))
    }
}

extension [Tag] {
    /// The same with the totals behind numbers, as in `3/12`, as tags of their own, as they are in FLAC. If the file states a
    /// total elsewhere too, that one counts.
    fileprivate var dividingTotals: [Tag] {
        let names = Set(compactMap(\.name))
        return flatMap { tag -> [Tag] in
            guard let total = tag.name.flatMap({ TagTable.total(of: $0) }), let parts = TagNumbers(tag.values) else {
                return [tag]
            }
            let numbers = Tag(key: tag.key, values: parts.numbers, name: tag.name)
            let ofAll = Tag(key: total.libavName, value: parts.total)
            return (parts.numbers.isEmpty ? [] : [numbers]) + (names.contains(total.name) ? [] : [ofAll])
        }
    }
}
