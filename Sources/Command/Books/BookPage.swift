import Console
import Conversion
import Storage

/// What dry runs print of a book: its chapters, where they begin, and what is odd.
struct BookPage {
    let output: String
    let files: [Book.File]
    let doubts: [String]
    /// Whether each file without chapters is one.
    let marks: Bool
    var gap = MediaTime.zero
    /// The picture that becomes the cover; `nil` for that of the first file.
    var cover: String?
    /// Whether packets are to be copied, and why they cannot be; `nil` if the sound is encoded.
    var copying: Copying?

    /// Whether the headers of the files tell that their packets can be copied.
    enum Copying: Equatable {
        case possible
        /// With `encodes`, the sound is encoded instead.
        case impossible(String, encodes: Bool)

        init(unless reason: String?, encodes: Bool) {
            if let reason { self = .impossible(reason, encodes: encodes) } else { self = .possible }
        }

        fileprivate var reason: String? {
            if case .impossible(let reason, _) = self { reason } else { nil }
        }

        fileprivate var line: String {
            switch self {
            case .possible: "  packets: copied, by the headers of the files"
            case .impossible(let reason, let encodes):
                "  packets: cannot be copied\(encodes ? ", so the sound is encoded" : ""): \(reason.printable)"
            }
        }
    }

    private var chapters: [Book.Chapter] { files.chapters(marking: marks, gap: gap) }

    func lines(for outlet: Outlet) -> [String] {
        let chapters = chapters
        var title = [outlet.paint(output.printable, .strong)]
        if let length = files.length {
            let gaps = gap.multiplied(by: Int64(max(0, files.count - 1)))
            title.append((files.hasEstimates ? "about " : "") + (length + gaps).short)
        }
        title.append(Figures.count(files.count, "file"))
        if marks || files.contains(where: { $0.facts?.chapters.isEmpty == false || !$0.marks.isEmpty }) {
            title.append(Figures.count(chapters.count, "chapter"))
        }
        if let cover = cover ?? files.first?.facts?.cover { title.append("cover \(cover.printable)") }
        // Without a probe, no time is known.
        let isTimed = files.contains { $0.facts != nil }
        let times: [TextTable.Column] = [.init(title: "START", isNumber: true), .init(title: "LENGTH", isNumber: true)]
        var table = TextTable(
            [.init(title: "#", isNumber: true), .init(title: "CHAPTER", isElastic: true)] + (isTimed ? times : [])
                + [.init(title: "FILE", isElastic: true, keepsEnd: true)]
        )
        for (index, chapter) in chapters.enumerated() {
            let mark = chapter.isEstimate ? "~" : ""
            let words = [chapter.start, chapter.length].map { $0.map { mark + $0.short } ?? "?" }
            let cells = ["\(index + 1)", chapter.title ?? ""] + (isTimed ? words : []) + [files[chapter.file].name]
            table.add(cells.map { TextTable.Cell($0) })
        }
        let rows = table.lines(for: outlet).map { "  " + $0 }
        let packets = [copying?.line].compactMap(\.self)
        return [title.joined(separator: "  ")] + rows + packets + doubts.map { "  doubt: \($0.printable)" }
    }

    // MARK: - Programs

    struct Record: Encodable {
        struct File: Encodable {
            let path: String
            let disc: Int?
            let track: Int?
            let title: String?
            let seconds: Double?
            let isEstimate: Bool?
        }

        struct Chapter: Encodable {
            let title: String?
            /// `nil` behind a file of unknown length.
            let start: String?
            /// The place of its file in `files`.
            let file: Int
        }

        let output: String
        let files: [File]
        let chapters: [Chapter]
        let cover: String?
        /// Whether packets are copied; `nil` if the sound is encoded.
        let copiesPackets: Bool?
        let reasonAgainstCopying: String?
        let doubts: [String]
    }

    var record: Record {
        Record(
            output: output,
            files: files.map { file in
                Record.File(
                    path: file.place,
                    disc: file.facts?.disc,
                    track: file.facts?.track,
                    title: file.facts?.title,
                    seconds: file.facts?.length?.seconds,
                    isEstimate: file.facts?.length == nil ? nil : file.facts?.isExact == false
                )
            },
            chapters: chapters.map { .init(title: $0.title, start: $0.start?.description, file: $0.file) },
            cover: cover,
            copiesPackets: copying.map { $0 == .possible },
            reasonAgainstCopying: copying?.reason,
            doubts: doubts
        )
    }
}
