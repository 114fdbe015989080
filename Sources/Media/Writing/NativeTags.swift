import Conversion

/// The tags of an output under the names of one format.
struct NativeTags {
    /// A name as `TagTable` spells it, and its values.
    struct Text: Equatable {
        let name: String
        fileprivate(set) var values: [String]
    }

    /// Each name occurs once.
    private(set) var texts: [Text] = []
    private var places: [String: Int] = [:]
    /// The values of each name.
    private var seen: [Set<String>] = []
    private let format: TagFormat?

    /// Without a format, the names are those of libav.
    init(_ tags: [Tag], in format: TagFormat?) {
        self.format = format
        let known = Dictionary(tags.map { ($0.name ?? "", $0.values) }) { first, _ in first }
        for tag in tags {
            guard let row = tag.name.flatMap({ TagTable.row($0) }) else {
                add(tag.values, as: format.flatMap { TagTable.native(for: .custom(tag.key), in: $0) } ?? tag.key)
                continue
            }
            if let total = TagTable.total(of: row.name) {
                addNumbers(tag, row, total, statedBeside: known[total.name]?.first)
            } else if let number = row.totalOf.flatMap({ TagTable.row($0) }), ownName(of: row) == nil {
                // The number states its total, if there is a number.
                if known[number.name] == nil { add(tag.values.map { "/" + $0 }, as: name(of: number)) }
            } else {
                add(tag.values, as: name(of: row, spelledLike: tag))
            }
        }
    }

    /// The same as tags.
    var tags: [Tag] { texts.map { Tag(key: $0.name, values: $0.values) } }

    /// Adds numbers, with their totals behind a slash only if the format has no name for those.
    private mutating func addNumbers(_ tag: Tag, _ row: TagRow, _ total: TagRow, statedBeside: String?) {
        let name = name(of: row, spelledLike: tag)
        for value in tag.values {
            let (number, behind) = TagNumbers.divided(value)
            if let totalName = ownName(of: total) {
                if !number.isEmpty { add([number], as: name) }
                if let behind, statedBeside == nil { add([behind], as: totalName) }
            } else {
                add([(behind ?? statedBeside).map { "\(number)/\($0)" } ?? value], as: name)
            }
        }
    }

    private mutating func add(_ values: [String], as name: String) {
        let folded = name.lowercased()
        guard let place = places[folded] else {
            places[folded] = texts.count
            texts.append(Text(name: name, values: values))
            seen.append(Set(values))
            return
        }
        let new = values.filter { !seen[place].contains($0) }
        texts[place].values += new
        seen[place].formUnion(new)
    }

    private func name(of row: TagRow) -> String { ownName(of: row) ?? row.key }

    /// The same. Case does not matter in comments, so small letters stay as they are.
    private func name(of row: TagRow, spelledLike tag: Tag) -> String {
        let name = name(of: row)
        let isFree = format == nil || format == .vorbis
        return isFree && tag.key == name.lowercased() ? tag.key : name
    }

    /// The name in the format; `nil` for a total for which it has none.
    private func ownName(of row: TagRow) -> String? {
        guard let format else { return row.totalOf == nil ? row.libavName : nil }
        if row.totalOf != nil { return row.names[format]?.first }
        return TagTable.native(for: .common(row.name), in: format)
    }
}
