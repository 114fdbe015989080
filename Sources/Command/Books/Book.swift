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
        /// The chapters in a list beside it.
        var marks: [Mark] = []

        var track: Int? { facts?.track }
    }

    /// Where a chapter begins in its file.
    struct Mark: Sendable, Equatable {
        let start: MediaTime
        let title: String?
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
        var packets: BookPackets?
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
    var files: [File]
    /// The chapters of the whole, if lists beside the files say where they are; empty otherwise.
    var chapters: [Recipe.Chapter] = []
    /// The path of the picture beside the files that becomes the cover; `nil` for the cover in the first file.
    var cover: String?
    /// What is odd about their numbers and their order.
    var doubts: [String]

    /// Puts the files of a folder, which messages call `folder`, in order.
    init(_ files: [File], in folder: String, order: BookOrder?, list: [String]? = nil) {
        let arrangement = BookArrangement(files, in: folder, order: order, list: list)
        self.files = arrangement.places.map { files[$0] }
        doubts = arrangement.doubts
    }

    /// Doubts files that are heard several times, because links give them several names. `path` is where a file is on this
    /// machine.
    mutating func doubtRepeatedFiles(in folder: String, path: (Book.File) -> String?) {
        var names: [FileIdentity: [String]] = [:]
        var order: [FileIdentity] = []
        for file in files {
            guard let identity = path(file).flatMap({ FileFacts.of(path: $0, followingLinks: true)?.identity }) else {
                continue
            }
            if names[identity] == nil { order.append(identity) }
            names[identity, default: []].append(file.name)
        }
        for identity in order {
            guard let names = names[identity], names.count > 1 else { continue }
            doubts.append("\(folder): \(Self.repetition(names[0], names.dropFirst()))")
        }
    }

    /// How many other names of one file a doubt lists.
    private static let mostNames = 8

    /// `2.mp3 and 3.mp3 are the same file as 1.mp3, and all are heard`
    private static func repetition(_ first: String, _ others: ArraySlice<String>) -> String {
        guard others.count > 1 else { return "\(others.joined()) is the same file as \(first), and both are heard" }
        let isLong = others.count > mostNames
        let front = isLong ? others.prefix(mostNames) : others.dropLast()
        let last = isLong ? "\(Figures.grouped(others.count - mostNames)) more" : others.last ?? ""
        return "\(front.joined(separator: ", ")) and \(last) are the same file as \(first), and all are heard"
    }

    /// Tells what rooms have found out about the files, of which nothing else follows.
    mutating func show(_ known: [File]) {
        let facts = Dictionary(known.map { ($0.place, $0.facts) }) { first, _ in first }
        for index in files.indices { files[index].facts = facts[files[index].place] ?? nil }
    }

    /// Files whose order the user gave.
    init(inOrder files: [File]) { (self.files, doubts) = (files, []) }
}

extension Book.File {
    /// The folder of the book and that of the file in it; none for a file that the user named itself.
    var folders: [String] {
        guard name != place, place.hasSuffix("/" + name) else { return [] }
        return [String(Substring(place.utf8.dropLast(name.utf8.count + 1))), place.parentName]
    }

    /// The chapters in the list beside the file, or else those inside it.
    fileprivate var innerChapters: [(start: MediaTime, length: MediaTime?, title: String?)] {
        guard !marks.isEmpty else { return (facts?.chapters ?? []).map { ($0.start, $0.end - $0.start, $0.title) } }
        // A list may be that of a longer recording. An estimate is no reason to leave out a chapter.
        let isExact = facts?.isExact ?? false
        let heard = marks.filter { mark in !isExact || facts?.length.map { mark.start < $0 } ?? true }
        return heard.enumerated().map { index, mark in
            let whole = facts?.length.flatMap { mark.start < $0 ? $0 : nil }
            let end = index + 1 < heard.count ? heard[index + 1].start : whole
            return (mark.start, end.map { $0 - mark.start }, mark.title)
        }
    }
}

extension [Book.File] {
    /// The chapters of these files, one after another with `gap` between them: those inside a file, or else the file itself
    /// if `marking`.
    func chapters(marking: Bool, gap: MediaTime = .zero) -> [Book.Chapter] {
        var chapters: [Book.Chapter] = []
        var (start, isEstimate): (MediaTime?, Bool) = (.zero, false)
        for (index, file) in enumerated() {
            let facts = file.facts
            let inner = file.innerChapters
            for chapter in inner {
                chapters.append(
                    Book.Chapter(
                        title: chapter.title,
                        start: start.map { $0 + chapter.start },
                        length: chapter.length,
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
