extension TagTable {
    /// The table as `docs/tags.md` shows it.
    public static var markdown: String {
        let formats: [TagFormat] = [.id3, .vorbis, .mp4, .ape, .matroska, .riff, .asf]
        let titles = ["name"] + formats.map { $0 == .id3 ? "ID3v2" : $0.title }
        var lines = [line(titles), line(titles.map { _ in "---" })]
        for row in rows.sorted(by: { $0.name < $1.name }) {
            lines.append(line(["`\(row.name)`"] + formats.map { cell(of: row, in: $0) }))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

    private static func cell(of row: TagRow, in format: TagFormat) -> String {
        let names = row.names[format] ?? []
        if names.isEmpty, let number = row.totalOf, let shared = self.row(number)?.names[format]?.first {
            return "in `\(shared)`"
        }
        let old = row.names[.id3v23] ?? []
        guard format == .id3, old != names else { return quoted(names) }
        return "\(quoted(names)); 2.3: \(quoted(old))"
    }

    private static func quoted(_ names: [String]) -> String { names.map { "`\($0)`" }.joined(separator: ", ") }
}
