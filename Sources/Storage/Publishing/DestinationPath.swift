import Conversion
import Glibc

/// A plain path, split into a folder and a name in it.
struct DestinationPath {
    let folder: String
    let name: String

    /// Splits `path` at its last slash. Throws if a file cannot have that name.
    init(_ path: String) throws(StorageError) {
        if let problem = pathProblem(path) { throw Self.refusal(.invalidPath, problem, path) }
        // Splits by scalars: a combining mark after a slash does not hide the slash from the kernel.
        let parts = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        name = parts[parts.count - 1]
        if name.isEmpty || name == "." || name == ".." { throw Self.refusal(.notAFile, "it is a folder", path) }
        let leading = parts.dropLast().joined(separator: "/")
        folder = parts.count == 1 ? "." : leading.isEmpty ? "/" : leading
    }

    /// Folder and name joined again.
    var path: String { folder == "." ? name : folder.hasSuffix("/") ? folder + name : folder + "/" + name }

    /// Follows the links at the end of `path`.
    ///
    /// Replacing a link would leave its target unchanged and remove a link that the user made on purpose
    /// (`latest.wav`, a folder on a larger disk). `cp` and a shell's `>` write through links as well. So the link
    /// stays, and its target is replaced, or created if it does not exist.
    static func followingLinks(_ path: String) throws(StorageError) -> DestinationPath {
        var here = try DestinationPath(path)
        // The kernel's own limit.
        for _ in 0..<40 {
            guard let target = target(of: here.path) else { return here }
            let isRelative = target.utf8.first != UInt8(ascii: "/") && here.folder != "."
            here = try DestinationPath(isRelative ? here.folder + "/" + target : target)
        }
        throw StorageError(errno: ELOOP, .destination, at: .open, "write to", place: path)
    }

    /// The target of the link at `path`; `nil` if `path` is not a link.
    private static func target(of path: String) -> String? {
        var letters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &letters, letters.count)
        // Any other problem with the path shows when it is opened.
        return count < 0 ? nil : String(decoding: letters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func refusal(_ code: FailureCode, _ detail: String, _ path: String) -> StorageError {
        StorageError(code, at: .open, "write to", detail, place: path)
    }
}
