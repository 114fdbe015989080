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
    }

    var record: Record {
        Record(
            source: name,
            container: report.container,
            tags: Dictionary(texts.map { ($0.name, $0.values) }) { first, _ in first },
            chapters: report.chapters,
            pictures: pictures
        )
    }
}

extension TagReport {
    /// Its name in the table; its own if the table does not have it.
    var tableName: String { commonName ?? TagTable.row(key: name)?.name ?? name }
}
