import Console
import Conversion
import Storage

/// A folder whose files are joined, as those of a book or of an album.
struct JoinedFolder {
    /// As messages call it.
    let name: String
    /// Its files, in no particular order.
    let files: [Book.File]
    /// What is left out, though it may be a part.
    let doubts: [String]

    /// Lists the folder that the user called `word`; `nil` if that is no folder. `outputs` are not among the files.
    init?(_ word: String, besides outputs: [String]) throws {
        guard word != "-", FileFacts.of(path: word, followingLinks: true)?.kind == .folder else { return nil }
        var folder = word
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        var walk = FolderWalk(filter: NameFilter(includes: [], excludes: []))
        var found: [String] = []
        try walk.run(folder) { found.append($0) }
        if let name = walk.unreadableNames.first {
            throw Refusal(message: "\(name): the name is not UTF-8", hint: "rename it, or name the other files")
        }
        let prefix = folder == "/" ? "/" : folder + "/"
        name = folder
        doubts = walk.links.sorted { $0.path < $1.path }.map { link in
            "\(folder): \(link.doubt(String(Substring(link.path.utf8.dropFirst(folder.utf8.count + 1)))))"
        }
        files = found.map { Book.File(place: prefix + $0, name: $0) }.filter { file in
            !outputs.contains { Self.areSame(file.place, $0) }
        }
        if files.isEmpty {
            let hint = "audio files are recognised by their extension, such as .mp3"
            throw Refusal(message: "\(word) has no audio files", hint: hint)
        }
    }

    /// Whether both paths are the same name in the same folder, as `./book.m4b` and `book.m4b` are. A link with another
    /// name is another file: without it, the book would lack a part.
    private static func areSame(_ path: String, _ other: String) -> Bool {
        let (name, wanted) = (path.lastPathName ?? path, other.lastPathName ?? other)
        return name.utf8.elementsEqual(wanted.utf8) && folder(of: path) == folder(of: other)
    }

    private static func folder(of path: String) -> FileIdentity? {
        let name = path.lastPathName ?? path
        let front = String(Substring(path.utf8.dropLast(name.utf8.count)))
        return FileFacts.of(path: front.isEmpty ? "." : front, followingLinks: true)?.identity
    }

    /// Puts the files in order, and doubts whether all are there.
    func book(_ order: BookOrder?, _ invocation: Invocation, _ console: CommandOutput) throws -> Book {
        // A list says itself what is heard.
        if case .list = order { return try arranged(order, invocation, console) }
        // Before rooms open a hundred thousand files in vain.
        let most = Timeline.maximumSources
        guard files.count <= most else {
            throw Refusal(
                message: "\(name) has \(Figures.count(files.count, "file")); up to \(most) are joined",
                hint: "join the parts of the folder first"
            )
        }
        var book = try arranged(order, invocation, console)
        book.doubts = doubts + book.doubts
        book.doubtRepeatedFiles(in: name) { $0.place }
        return book
    }

    /// Rooms read the tags of the files first if these may decide.
    private func arranged(_ order: BookOrder?, _ invocation: Invocation, _ console: CommandOutput) throws -> Book {
        switch order {
        case .names: return Book(files, in: name, order: order)
        case .list(let path):
            let text = ListBytes.text(of: try SourceFile.contents(word: path, limit: PlayList.mostBytes))
            let book = Book(files, in: name, order: order, list: PlayList.names(in: text))
            guard !book.files.isEmpty else {
                throw Refusal(message: "\(path) names no file of \(name)", hint: "a line is the name of a file")
            }
            return book
        case .tags, nil:
            let known = try BookProbing.look(into: files, invocation, console) { $0.place }
            return Book(known, in: name, order: order)
        }
    }
}
