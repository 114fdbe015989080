import Console
import Storage

/// Sources as the user's shell knows them. Only the roots of the context in use, of this machine's services or of the
/// private cluster, or else the usual root, are known.
struct LocalPlaces: Sendable {
    private let roots: PathRoots
    /// The current folder with a trailing slash.
    private let here: String

    init(_ invocation: Invocation) throws {
        roots = try LedgerOptions.usualPathRoots(invocation)
        let folder = roots.absolute(".")
        here = folder == "/" ? folder : folder + "/"
    }

    /// The same for showing sources. `nil` if the current folder is gone: then locations are shown.
    static func known(to invocation: Invocation) -> LocalPlaces? {
        // `try?`: a list of jobs must not fail because of the folder in which it is asked for.
        try? LocalPlaces(invocation)
    }

    /// The beginning of locations that `word` stands for: a location stays as it is, a path of this machine becomes
    /// one. All files below a folder begin with it.
    func prefix(_ word: String) throws -> String {
        if PathRoots.isLocation(word) { return word }
        var path = roots.absolute(word)
        let isFolder = FileFacts.of(path: path, followingLinks: true)?.kind == .folder
        if path != "/", isFolder || word.utf8.last == UInt8(ascii: "/") { path += "/" }
        guard let (root, below) = roots.place(of: path) else {
            throw roots.outside("--source \(word)")
        }
        return "\(root.name):\(below)"
    }

    /// The path of a source relative to the current folder if it lies below it, or else its location.
    func name(of source: String) -> String {
        // `try?`: a recipe of a newer version may hold what this one does not read as a location.
        guard let location = try? Location(source), let path = roots.path(of: location),
            path.utf8.starts(with: here.utf8)
        else { return source }
        return String(Substring(path.utf8.dropFirst(here.utf8.count)))
    }
}
