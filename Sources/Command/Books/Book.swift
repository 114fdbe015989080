import Conversion
import Storage

/// Files that are heard one after another, as those of a book or of an album.
struct Book: Sendable {
    /// A file, and what a pump room has found out about it.
    struct File: Sendable {
        /// Where it is: a path, or a location.
        let place: String
        /// Its path below the folder of the book.
        let name: String
        /// `nil` if no room has looked at it.
        var facts: Facts?
        /// Why a room could not read it.
        var problem: String?

        var track: Int? { facts?.track }
    }

    /// What a file says of itself.
    struct Facts: Sendable, Equatable {
        var disc: Int?
        var discs: Int?
        var track: Int?
        var tracks: Int?
        var title: String?
        /// `nil` if it is unknown without decoding.
        var length: MediaTime?
        var isExact = true
        var chapters: [ChapterReport] = []
        /// `1400 x 1400`
        var cover: String?
    }

    /// A chapter of the output, as far as the files tell.
    struct Chapter: Sendable, Equatable {
        let title: String?
        /// `nil` behind a file of unknown length.
        let start: MediaTime?
        let length: MediaTime?
        /// Whether a length that goes into it is an estimate.
        let isEstimate: Bool
        /// The index of its file.
        let file: Int
    }

    /// In the order in which they are heard.
    let files: [File]
    /// What is odd about their numbers and their order.
    var doubts: [String]

    /// Puts the files of a folder, which messages call `folder`, in order.
    init(_ files: [File], in folder: String, order: BookOrder?, list: [String]? = nil) {
        let arrangement = BookArrangement(files, in: folder, order: order, list: list)
        self.files = arrangement.places.map { files[$0] }
        doubts = arrangement.doubts
    }

    /// Files whose order the user gave.
    init(inOrder files: [File]) { (self.files, doubts) = (files, []) }
}

extension [Book.File] {
    /// The chapters of these files, one after another with `gap` between them: those inside a file, or else the file itself
    /// if `marking`.
    func chapters(marking: Bool, gap: MediaTime = .zero) -> [Book.Chapter] {
        var chapters: [Book.Chapter] = []
        var (start, isEstimate): (MediaTime?, Bool) = (.zero, false)
        for (index, file) in enumerated() {
            let facts = file.facts
            let inner = facts?.chapters ?? []
            for chapter in inner {
                chapters.append(
                    Book.Chapter(
                        title: chapter.title,
                        start: start.map { $0 + chapter.start },
                        length: chapter.end - chapter.start,
                        isEstimate: isEstimate,
                        file: index
                    )
                )
            }
            if inner.isEmpty {
                chapters.append(
                    Book.Chapter(
                        title: marking ? facts?.title ?? file.name.lastPathName?.withoutExtension : nil,
                        start: start,
                        length: facts?.length,
                        isEstimate: isEstimate || facts?.isExact == false,
                        file: index
                    )
                )
            }
            isEstimate = isEstimate || facts?.isExact == false
            start = start.flatMap { start in facts?.length.map { start + $0 + gap } }
        }
        return chapters
    }

    /// The length of all files; `nil` if that of any is unknown.
    var length: MediaTime? {
        reduce(MediaTime?.some(.zero)) { sum, file in
            sum.flatMap { sum in file.facts?.length.map { sum + $0 } }
        }
    }

    var hasEstimates: Bool { contains { $0.facts?.isExact == false } }
}
