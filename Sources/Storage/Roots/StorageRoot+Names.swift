import Conversion
import Glibc
import System

/// What is in a folder of a root, for a person who is about to choose a source.
public struct FolderNames: Sendable, Hashable {
    /// Sorted; those of folders end with a slash.
    public var names: [String]
    /// Whether the folder has others of that beginning, or may have.
    public var hasMore: Bool

    public init(names: [String] = [], hasMore: Bool = false) { (self.names, self.hasMore) = (names, hasMore) }
}

extension StorageRoot {
    /// The names in the folder at `path` below the root that begin with `beginning` and that `permits` lets through: those of
    /// files and of folders, `most` at most. Hidden ones are left out, and so is what cannot be a source.
    ///
    /// Of a folder with very many entries, those that the file system tells first are looked at.
    public func names(
        in path: String,
        beginningWith beginning: String,
        most: Int,
        permits: (String) -> Bool = { _ in true }
    ) throws(StorageError) -> FolderNames {
        guard rules.mayRead else {
            throw StorageError(.rootForbids, at: .open, "list the folder", "the root is write-only", place: name)
        }
        let folder = try folder(path, at: .open, creating: false)
        let (entries, isWhole) = try entries(of: folder) { entry in
            entry.name.utf8.starts(with: beginning.utf8) && !entry.isHidden && permits(entry.name)
        }
        var found = FolderNames(hasMore: !isWhole)
        for entry in entries.sorted(by: { $0.name < $1.name }) {
            guard found.names.count < most else {
                found.hasMore = true
                break
            }
            let whole = path.isEmpty ? entry.name : "\(path)/\(entry.name)"
            // `try?`: a name that no location can have is no source.
            guard (try? Location(root: name, path: whole)) != nil, let isFolder = isFolder(entry, whole) else {
                continue
            }
            found.names.append(isFolder ? entry.name + "/" : entry.name)
        }
        return found
    }

    struct Entry {
        let name: String
        /// As the folder states it.
        let kind: UInt8

        var isHidden: Bool { name.utf8.first == UInt8(ascii: ".") }
    }

    /// Whether an entry is a folder; `nil` if it is no file either. A link counts as what it leads to, below the root.
    private func isFolder(_ entry: Entry, _ path: String) -> Bool? {
        switch Int(entry.kind) {
        case DT_DIR: return true
        case DT_REG: return false
        case DT_LNK, DT_UNKNOWN:
            switch kind(of: path) {
            case .folder?: return true
            case .file?: return false
            default: return nil
            }
        default: return nil
        }
    }

    /// The entries that fit, and whether all of the folder were looked at.
    func entries(
        of folder: Folder,
        most: Int = StorageRoot.mostEntries,
        _ fits: (Entry) -> Bool
    ) throws(StorageError) -> (entries: [Entry], isWhole: Bool) {
        // A separate descriptor, whose position in the listing no other code moves.
        let opened = retryingInterrupts { openat(folder.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
        guard opened >= 0, let stream = fdopendir(opened) else {
            let number = errno
            if opened >= 0 { close(opened) }
            throw StorageError(errno: number, .source, at: .open, "list the folder", place: folder.path)
        }
        defer { closedir(stream) }
        var entries: [Entry] = []
        for _ in 0..<most {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else {
                    throw StorageError(errno: errno, .source, at: .open, "list the folder", place: folder.path)
                }
                return (entries, true)
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { letters in
                letters.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            guard let name else { continue }
            let found = Entry(name: name, kind: entry.pointee.d_type)
            if fits(found) { entries.append(found) }
        }
        return (entries, false)
    }

    static let mostEntries = 20_000
}
