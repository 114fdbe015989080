import Console
import Conversion
import Storage

/// What lies beside the files of a book and belongs to it: a cover, and lists of chapters.
enum BesideBook {
    // MARK: - Cover

    private static let pictureNames = ["cover", "folder", "front"]
    private static let pictureEndings = ["jpg", "jpeg", "png"]

    /// A picture beside the files.
    struct Cover: Equatable {
        /// `nil` if there is none.
        var path: String?
        /// Those about files that are called like a cover and cannot be one.
        var doubts: [String] = []
    }

    /// The pictures among the names in a folder that are called like a cover, the best first. Capitals do not matter.
    static func pictures(among names: [String]) -> [String] {
        let ranked = names.compactMap { name -> (rank: Int, name: String)? in
            guard let stem = pictureNames.firstIndex(of: name.withoutExtension.lowercased()),
                let ending = pictureEndings.firstIndex(of: name.ownExtension.lowercased())
            else { return nil }
            return (stem * pictureEndings.count + ending, name)
        }
        return ranked.sorted { ($0.rank, $0.name) < ($1.rank, $1.name) }.map(\.name)
    }

    /// The cover in the first of `folders` that has one. A folder that cannot be read has none.
    static func cover(in folders: [String]) -> Cover {
        let globs = pictureNames.flatMap { name in pictureEndings.map { "\(name).\($0)" } }
        var cover = Cover()
        for folder in folders {
            var walk = FolderWalk(filter: NameFilter(includes: globs, excludes: []))
            // `try?`: the files of the book have been found, and a cover is no condition.
            guard let names = try? walk.names(in: folder.isEmpty ? "/" : folder) else { continue }
            for name in pictures(among: names) {
                let path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
                guard let problem = CoverFile.problem(path) else {
                    cover.path = path
                    return cover
                }
                cover.doubts.append("\(path) \(problem), and is left out")
            }
        }
        return cover
    }

    // MARK: - Chapters

    /// The longest list that is read.
    private static let mostBytes = 1_000_000

    /// Whether lists of chapters may be beside these files. Reads each folder once; one that cannot be read has none.
    static func hasLists(beside paths: [String]) -> Bool {
        var walk = FolderWalk(filter: NameFilter(includes: ["*.cue", "*.chapters.txt"], excludes: []))
        let folders = Set(
            paths.map { path in
                let folder = path.parentName
                return folder.isEmpty ? path.hasPrefix("/") ? "/" : "." : folder
            }
        )
        // `try?`: the files have been found, and a list is no condition.
        return folders.contains { folder in (try? walk.names(in: folder))?.isEmpty == false }
    }

    /// The chapters in the CUE sheet or the list beside a file, as `1.cue` or `1.chapters.txt` beside `1.mp3`; none without
    /// one. Throws a `SplitProblem` if it cannot be read.
    static func marks(of path: String) throws(SplitProblem) -> [Book.Mark] {
        if let sheet = try SheetBeside.sheet(of: path) {
            let tracks = sheet.tracks(inFile: path.lastPathName ?? path).sorted { $0.start < $1.start }
            // A sheet of several files may name others only.
            if !tracks.isEmpty { return tracks.map { Book.Mark(start: $0.start, title: $0.title) } }
        }
        let list = path.withoutExtension + ".chapters.txt"
        guard FileFacts.of(path: list, followingLinks: true)?.kind == .file else { return [] }
        do {
            let text = ListBytes.text(of: try SourceFile.contents(word: list, limit: mostBytes))
            return try ChapterList(text).marks.map { Book.Mark(start: $0.start, title: $0.title) }
        } catch let mistake as ListMistake {
            throw .unreadable("\(list): \(mistake.description)")
        } catch let refusal as Refusal {
            throw .unreadable(refusal.message)
        } catch {
            throw .unreadable("\(list): \(error)")
        }
    }
}

extension Book {
    /// Takes the chapters in lists beside the files: the chapters of the whole then count from the lengths of the files, which
    /// must be known to the frame. `path` is where a file is on this machine. `gap` is the silence between the files.
    mutating func takeMarks(gap: MediaTime = .zero, path: (Book.File) -> String?) {
        var found = files
        for index in found.indices {
            guard let path = path(found[index]) else { continue }
            do throws(SplitProblem) {
                found[index].marks = try BesideBook.marks(of: path)
            } catch {
                doubts.append(error.detail)
            }
        }
        guard found.contains(where: { !$0.marks.isEmpty }) else { return }
        let unknown =
            found.dropLast().first { $0.facts?.length == nil || $0.facts?.isExact == false }
            ?? found.first { $0.facts == nil && $0.marks.isEmpty }
        if let unknown {
            let why = "the length of \(unknown.name) is not known to the frame"
            return doubts.append("lists of chapters beside the files are not used: \(why)")
        }
        files = found
        chapters = []
        for chapter in found.chapters(marking: true, gap: gap) {
            guard let start = chapter.start, chapters.last.map({ start > $0.at }) ?? true else { continue }
            chapters.append(Recipe.Chapter(at: start, title: chapter.title))
        }
    }
}
