import Glibc

/// Where a plain path leads: a name in a folder.
struct DestinationPath {
    let folder: String
    let name: String

    /// Splits `path` at its last slash. Throws where no file can have that name.
    init(_ path: String) throws(StorageError) {
        if let problem = pathProblem(path) { throw Self.refusal(.invalidPath, problem, path) }
        // Scalars: a mark that combines with a slash does not hide it from the kernel.
        let parts = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        name = parts[parts.count - 1]
        if name.isEmpty || name == "." || name == ".." { throw Self.refusal(.notAFile, "it names a folder", path) }
        let leading = parts.dropLast().joined(separator: "/")
        folder = parts.count == 1 ? "." : leading.isEmpty ? "/" : leading
    }

    /// The path again.
    var path: String { folder == "." ? name : folder.hasSuffix("/") ? folder + name : folder + "/" + name }

    /// Where the links at the end of `path` lead.
    ///
    /// A link that is replaced would leave its target as it was, under another name, and remove a link that a person made on
    /// purpose (`latest.wav`, a folder on a larger disk). `cp` and a shell's `>` write through links as well. So the
    /// link stays and what it leads to is replaced, or created if there is nothing yet.
    static func followingLinks(_ path: String) throws(StorageError) -> DestinationPath {
        var here = try DestinationPath(path)
        // As many as the kernel follows.
        for _ in 0..<40 {
            guard let target = target(of: here.path) else { return here }
            let isRelative = target.utf8.first != UInt8(ascii: "/") && here.folder != "."
            here = try DestinationPath(isRelative ? here.folder + "/" + target : target)
        }
        throw StorageError(errno: ELOOP, .destination, at: .open, "write to", place: path)
    }

    /// What the link at `path` says; `nil` if it is no link.
    private static func target(of path: String) -> String? {
        var letters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &letters, letters.count)
        // Whatever else is wrong with the path is found by those who open it.
        return count < 0 ? nil : String(decoding: letters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func refusal(_ code: StorageError.Code, _ detail: String, _ path: String) -> StorageError {
        StorageError(code, at: .open, "write to", detail, place: path)
    }
}
