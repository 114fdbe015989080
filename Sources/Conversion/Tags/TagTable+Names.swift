extension TagTable {
    /// The tag that `format` calls `native`. Case does not matter.
    ///
    /// A name that users or programs made up is that of the row with the same name, if there is one: many programs write
    /// `TXXX:ISRC`. A native name has a prefix where `TagFormat` has one, as in `TXXX:MYFIELD` and `----:MYFIELD`.
    public static func name(of native: String, in format: TagFormat) -> TagName {
        let folded = native.lowercased()
        if let row = places[format]?[folded] { return .common(row) }
        guard let prefix = format.customPrefix, folded.hasPrefix(prefix.lowercased()) else {
            return .native(native, format)
        }
        let own = String(native.dropFirst(prefix.count))
        return row(key: own).map { TagName.common($0.name) } ?? .custom(own)
    }

    /// The name under which `format` holds `name`; `nil` if it cannot.
    public static func native(for name: TagName, in format: TagFormat) -> String? {
        switch name {
        case .common(let name):
            guard let row = known[name] else { return nil }
            return row.names[format]?.first ?? format.customPrefix.map { $0 + row.key }
        case .custom(let name): return format.customPrefix.map { $0 + name }
        case .native(let name, let own): return own == format ? name : nil
        }
    }

    /// The row of a name; `nil` for a name that is not in the table.
    public static func row(_ name: String) -> TagRow? { known[name] }

    /// The row of a tag that is called `key`: by its name in Vorbis comments, in libav, or in the table. `nil` for a
    /// tag that is not in the table.
    public static func row(key: String) -> TagRow? {
        let folded = key.lowercased()
        // libav adds the language of lyrics in ID3.
        return keyRows[folded] ?? (folded.hasPrefix("lyrics-") ? known["lyrics"] : nil)
    }

    /// What two names of one tag have in common: the name of its row, or else the name itself in lower case.
    public static func commonName(ofKey key: String) -> String { row(key: key)?.name ?? key.lowercased() }

    /// The row of the tag that states the total of the number `name`, as `totaltracks` does that of `tracknumber`; `nil` for
    /// tags without a total.
    public static func total(of name: String) -> TagRow? { totals[name].flatMap { known[$0] } }

    /// What states a total behind the number in `native`, as in `3/12`; `nil` if nothing does.
    static func total(behind native: String, in format: TagFormat) -> TagName? {
        guard let number = places[format]?[native.lowercased()], let total = totals[number] else { return nil }
        return .common(total)
    }

    /// What libav may call a tag of a file, the likeliest first, in lower case.
    public static func libavNames(of text: Tags.Text) -> [String] {
        var native = text.native.lowercased()
        if let prefix = text.format.customPrefix?.lowercased(), native.hasPrefix(prefix) {
            native = String(native.dropFirst(prefix.count))
        }
        guard case .common(let name) = text.name else { return [native] }
        return [native, name] + (known[name]?.libav ?? [])
    }

    /// What libav would call a tag that it has left out, as it leaves out those of an ID3 tag in WAV, and those of an APE tag
    /// behind a name that APE forbids; `nil` if it keeps the tag in another one, or may have another name for it. A total
    /// behind a number is in the number.
    public static func libavName(ofMissing text: Tags.Text) -> String? {
        if case .custom(let name) = text.name { return text.format.isID3 || text.format == .ape ? name : nil }
        guard let row = text.name.rowName.flatMap({ known[$0] }), !text.isBehindNumber else { return nil }
        return row.libavName
    }

    /// The rows by their names.
    private static let known: [String: TagRow] = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })

    /// The rows by what they may be called. Where two tags have one name, that in Vorbis comments counts: there,
    /// `MUSICBRAINZ_TRACKID` is the table's `musicbrainz_recordingid`.
    private static let keyRows: [String: TagRow] = {
        var found: [String: TagRow] = [:]
        for row in rows { found[row.key.lowercased()] = row }
        for row in rows {
            for name in row.libav + [row.name] where found[name] == nil { found[name] = row }
        }
        return found
    }()

    /// The names of the rows by those in each format, in lower case.
    private static let places: [TagFormat: [String: String]] = {
        var places: [TagFormat: [String: String]] = [:]
        for row in rows {
            for (format, names) in row.names {
                for name in names { places[format, default: [:]][name.lowercased()] = row.name }
            }
        }
        return places
    }()

    /// The totals by the numbers that they are behind.
    private static let totals: [String: String] = {
        var totals: [String: String] = [:]
        for row in rows { if let number = row.totalOf { totals[number] = row.name } }
        return totals
    }()
}
