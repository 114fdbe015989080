import Console
import Conversion
import Storage

/// A folder whose files are joined, as those of a book or of an album.
struct JoinedFolder {
    /// The paths of the files, in the order in which they are heard.
    let files: [String]
    /// What is odd about their numbers.
    let doubts: [String]

    /// Lists the folder that the user called `word`; `nil` if that is no folder. `output` is not among the files.
    init?(_ word: String, besides output: String) throws {
        guard word != "-", FileFacts.of(path: word, followingLinks: true)?.kind == .folder else { return nil }
        var folder = word
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        var walk = FolderWalk(filter: NameFilter(includes: [], excludes: []))
        var found: [String] = []
        try walk.run(folder) { found.append($0) }
        if let name = walk.unreadableNames.first {
            throw Refusal(message: "\(name): the name is not UTF-8", hint: "rename it, or name the other files")
        }
        found = found.sorted(by: NaturalOrder.precedes)
        let prefix = folder == "/" ? "/" : folder + "/"
        files = found.map { prefix + $0 }.filter { !Self.areSame($0, output) }
        doubts = Self.doubts(files).map(\.printable)
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

    /// Numbers that are missing, or that several files have, where all names in a folder have one in the same place.
    static func doubts(_ paths: [String]) -> [String] {
        var folders: [String: [String]] = [:]
        for path in paths {
            let name = path.lastPathName ?? path
            let folder = String(String.UnicodeScalarView(path.unicodeScalars.dropLast(name.unicodeScalars.count + 1)))
            folders[folder, default: []].append(name)
        }
        let ordered = folders.sorted { NaturalOrder.precedes($0.key, $1.key) }
        return ordered.flatMap { folder, names in doubts(in: names).map { "\(folder): \($0)" } }
    }

    private static func doubts(in names: [String]) -> [String] {
        let found = names.compactMap { number(in: $0) }
        guard found.count > 1, found.count == names.count, Set(found.map { $0.front }).count == 1 else { return [] }
        let numbers = found.map { $0.number }
        let known = Set(numbers)
        let (first, last) = (numbers.min() ?? 0, numbers.max() ?? 0)
        // Years and the like are no numbers of tracks.
        guard last - first < 2 * numbers.count + 10 else { return [] }
        let missing = (first...last).filter { !known.contains($0) }
        let repeated = known.sorted().filter { number in numbers.count(where: { $0 == number }) > 1 }
        return missing.map { "no file has the number \($0)" } + repeated.map { "several files have the number \($0)" }
    }

    /// The first number in a name, of four digits at most, and what stands before it.
    private static func number(in name: String) -> (front: String, number: Int)? {
        let letters = Array(name.withoutExtension.lowercased().unicodeScalars)
        guard let start = letters.firstIndex(where: isDigit) else { return nil }
        let digits = letters[start...].prefix(while: isDigit)
        guard digits.count <= 4, let number = Int(String(String.UnicodeScalarView(digits))) else { return nil }
        return (String(String.UnicodeScalarView(letters[..<start])), number)
    }

    private static func isDigit(_ letter: Unicode.Scalar) -> Bool { (0x30...0x39).contains(letter.value) }
}
