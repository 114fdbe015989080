import Console
import Conversion

/// The output of `tags` for one file.
struct TagsPage {
    let name: String
    let report: SourceReport

    /// A name of the table, or that of the file, and its values.
    private var texts: [(name: String, values: [String])] {
        var texts: [(name: String, values: [String])] = []
        for tag in report.tags where !tag.isTechnical {
            let (name, values) = (tag.tableName, tag.values ?? [tag.value])
            if let place = texts.firstIndex(where: { $0.name == name }) {
                texts[place].values += values.filter { !texts[place].values.contains($0) }
            } else {
                texts.append((name, values))
            }
        }
        return texts
    }

    private var pictures: [CoverReport] { report.pictures ?? [report.cover].compactMap(\.self) }

    /// The names of tags that the report has in part.
    private var shortened: [String] { report.tags.filter { $0.isShortened == true }.map(\.tableName) }

    /// What the page does not show, because a report has only so much; `nil` if it shows all.
    var note: String? {
        var missing: [String] = []
        if let count = report.unlistedTags { missing.append(Plural.count(count, "tag")) }
        if let count = report.unlistedChapters { missing.append(Plural.count(count, "chapter")) }
        var parts: [String] = []
        if !shortened.isEmpty { parts.append("only the beginning of \(shortened.joined(separator: ", ")) is shown") }
        if !missing.isEmpty { parts.append("not shown: \(missing.joined(separator: " and "))") }
        return parts.isEmpty ? nil : "\(name.printable): \(parts.joined(separator: "; "))"
    }

    var isEmpty: Bool { texts.isEmpty && report.chapters.isEmpty && pictures.isEmpty }

    // MARK: For people

    /// A table with a row for each value. `named` puts the name of the file above it.
    func lines(for outlet: Outlet, named: Bool) -> [String] {
        guard !isEmpty else { return [] }
        var table = TextTable([.init(title: "TAG"), .init(title: "VALUE", isElastic: true)])
        for text in texts {
            for (index, value) in text.values.enumerated() {
                table.add([.init(index == 0 ? text.name : ""), .init(value)])
            }
        }
        for (index, chapter) in report.chapters.enumerated() {
            let title = chapter.title.map { "  \($0)" } ?? ""
            table.add([.init("chapter \(index + 1)"), .init(chapter.start.short + title)])
        }
        for picture in pictures {
            let kind = picture.type == "image/png" ? "PNG" : "JPEG"
            let size = "\(kind) of \(picture.width) x \(picture.height), \(Figures.bytes(Int64(picture.bytes)))"
            table.add([.init("picture"), .init(picture.shows.map { "\($0): \(size)" } ?? size)])
        }
        return (named ? [outlet.paint(name.printable, .strong)] : []) + table.lines(for: outlet)
    }

    // MARK: For programs

    struct Record: Encodable {
        let source: String
        let container: String
        let tags: [String: [String]]
        let chapters: [ChapterReport]
        let pictures: [CoverReport]
        /// The names of tags whose values are not whole, and how many tags and chapters are missing; `nil` for none.
        let shortenedTags: [String]?
        let unlistedTags: Int?
        let unlistedChapters: Int?
    }

    var record: Record {
        Record(
            source: name,
            container: report.container,
            tags: Dictionary(texts.map { ($0.name, $0.values) }) { first, _ in first },
            chapters: report.chapters,
            pictures: pictures,
            shortenedTags: shortened.isEmpty ? nil : shortened,
            unlistedTags: report.unlistedTags,
            unlistedChapters: report.unlistedChapters
        )
    }
}

extension TagReport {
    /// Its name in the table; its own if the table does not have it.
    var tableName: String { commonName ?? TagTable.row(key: name)?.name ?? name }
}
