import Console
import Glibc
import Storage
import System

/// Lists the files below a folder, sorted by name, so that every walk gives the same order.
///
/// readdir reports the kind of most entries, so the walk need not look at each file: on a network share that would
/// take a thousand times as long. It skips names that begin with a dot, unfinished outputs among them, and does not
/// follow links to folders.
struct FolderWalk {
    let filter: NameFilter
    /// Files left out because their extension is not one of an audio format.
    private(set) var otherKinds = 0
    /// Paths that are not UTF-8, with replacement characters: files that the filter would take, and folders, which
    /// end in a slash and are not entered.
    private(set) var unreadableNames: [String] = []
    /// Links that it did not follow, where the filter would take what they lead to.
    private(set) var links: [Link] = []

    /// A link to a folder, or to a file that is not there.
    struct Link: Sendable {
        /// Behind that of the folder that the walk began in.
        let path: String
        let leadsToFolder: Bool
    }

    private let progress: SubmitProgress?

    init(filter: NameFilter, progress: SubmitProgress? = nil) { (self.filter, self.progress) = (filter, progress) }

    /// Calls `visit` with each file's path below `folder`. Throws a `Refusal` for a folder that cannot be read.
    mutating func run(_ folder: String, _ visit: (String) throws -> Void) throws {
        // The folders that the walk is in, the innermost last.
        var stack = [try entries(of: "", in: folder)]
        while let place = stack.indices.last {
            guard let next = stack[place].next() else {
                stack.removeLast()
                continue
            }
            let below = stack[place].folder
            let path = below.isEmpty ? next.name : "\(below)/\(next.name)"
            if next.isFolder { stack.append(try entries(of: path, in: folder)) } else { try visit(path) }
        }
    }

    /// The names of the files in `folder` itself that the filter takes. Throws a `Refusal` for a folder that cannot be read.
    mutating func names(in folder: String) throws -> [String] {
        var entries = try entries(of: "", in: folder)
        var names: [String] = []
        while let next = entries.next() { if !next.isFolder { names.append(next.name) } }
        return names
    }

    private mutating func entries(of below: String, in folder: String) throws -> FolderEntries {
        let place = below.isEmpty ? folder : "\(folder)/\(below)"
        guard let stream = opendir(place) else { throw Refusal.unreadableFolder(place) }
        defer { closedir(stream) }
        var entries = FolderEntries(folder: below)
        var unreadable: [String] = []
        defer { unreadableNames += unreadable.sorted() }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw Refusal.unreadableFolder(place) }
                break
            }
            // Swift imports a C array as a tuple; the address of the tuple is the address of the name.
            let known = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) {
                    ($0[0], String(validatingCString: $0), String(cString: $0))
                }
            }
            if known.0 == CChar(bitPattern: UInt8(ascii: ".")) { continue }
            guard let name = known.1 else {
                let (path, isFolder) = ("\(place)/\(known.2)", Int(entry.pointee.d_type) == DT_DIR)
                if isFolder
                    ? filter.enters(name: known.2, path: path) : filter.answer(name: known.2, path: path) == .taken
                {
                    unreadable.append(path + (isFolder ? "/" : ""))
                }
                continue
            }
            guard let kind = kind(of: entry, at: "\(place)/\(name)") else { continue }
            let path = below.isEmpty ? name : "\(below)/\(name)"
            if kind == .linkedFolder || kind == .deadLink {
                let isFolder = kind == .linkedFolder
                if isFolder ? filter.enters(name: name, path: path) : filter.answer(name: name, path: path) == .taken {
                    links.append(Link(path: "\(place)/\(name)", leadsToFolder: isFolder))
                }
                continue
            }
            if kind == .folder {
                if filter.enters(name: name, path: path) {
                    entries.append(name, isFolder: true)
                }
                continue
            }
            switch filter.answer(name: name, path: path) {
            case .taken:
                entries.append(name, isFolder: false)
                progress?.addFile()
            case .otherKind: otherKinds += 1
            case .left: break
            }
        }
        entries.sort()
        return entries
    }

    private enum Kind { case file, folder, linkedFolder, deadLink }

    /// `nil` for other kinds of entries.
    private func kind(of entry: UnsafeMutablePointer<dirent>, at path: @autoclosure () -> String) -> Kind? {
        switch Int(entry.pointee.d_type) {
        case DT_REG: return .file
        case DT_DIR: return .folder
        case DT_LNK, DT_UNKNOWN: break
        default: return nil
        }
        // Some file systems do not report the kind, and a link does not reveal its target's.
        let isLink = Int(entry.pointee.d_type) == DT_LNK
        switch FileFacts.of(path: path(), followingLinks: isLink)?.kind {
        case .file: return .file
        case .folder: return isLink ? .linkedFolder : .folder
        case nil: return isLink ? .deadLink : nil
        default: return nil
        }
    }
}

/// The entries of a folder that a walk visits, sorted by name. A folder may hold a million of them, so they lie in one
/// buffer.
private struct FolderEntries {
    /// Its path below the folder that the walk began in.
    let folder: String
    /// Of each entry: the length of its name in two bytes, whether it is a folder, and the name.
    private var bytes: [UInt8] = []
    /// Where the entries begin in `bytes`.
    private var starts: [Int] = []
    private var visited = 0

    init(folder: String) { self.folder = folder }

    mutating func append(_ name: String, isFolder: Bool) {
        let length = UInt16(name.utf8.count)  // that of the kernel's record has 16 bits, too
        starts.append(bytes.count)
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(UInt8(length >> 8))
        bytes.append(isFolder ? 1 : 0)
        bytes.append(contentsOf: name.utf8)
    }

    /// The next entry; `nil` after the last one.
    mutating func next() -> (name: String, isFolder: Bool)? {
        guard visited < starts.count else { return nil }
        let start = starts[visited]
        visited += 1
        return bytes.withUnsafeBufferPointer { bytes in
            (String(decoding: Self.name(start, bytes), as: UTF8.self), bytes[start + 2] == 1)
        }
    }

    private static func name(_ start: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        let length = Int(bytes[start]) | Int(bytes[start + 1]) << 8
        return UnsafeBufferPointer(rebasing: bytes[start + 3..<start + 3 + length])
    }

    /// Sorts the entries as their names are sorted as strings.
    mutating func sort() {
        var order = starts
        starts = []
        bytes.withUnsafeBufferPointer { bytes in
            // Strings of ASCII are sorted as their bytes are.
            let areASCII = order.allSatisfy { Self.name($0, bytes).allSatisfy { $0 < 0x80 } }
            order.sort { one, other in
                let (one, other) = (Self.name(one, bytes), Self.name(other, bytes))
                if areASCII { return one.lexicographicallyPrecedes(other) }
                return String(decoding: one, as: UTF8.self) < String(decoding: other, as: UTF8.self)
            }
        }
        starts = order
    }
}

extension Refusal {
    static func unreadableFolder(_ path: String) -> Refusal {
        let number = errno
        return Refusal(
            message: "cannot read the folder \(path): \(systemText(number))",
            exitCode: number == EACCES || number == EPERM ? .permission : number == ENOENT ? .notFound : .failure
        )
    }
}
