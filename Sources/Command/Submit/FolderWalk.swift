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

    init(filter: NameFilter) { self.filter = filter }

    /// Calls `visit` with each file's path below `folder`. Throws a `Refusal` for a folder that cannot be read.
    mutating func run(_ folder: String, _ visit: (String) throws -> Void) throws {
        // A stack, with the next entry last. The entries of a folder go on top of its siblings.
        var ahead: [Entry] = [Entry(path: "", name: "", isFolder: true)]
        while let next = ahead.popLast() {
            if next.isFolder {
                ahead += try entries(of: next.path, in: folder).reversed()
            } else {
                try visit(next.path)
            }
        }
    }

    /// The names of the files in `folder` itself that the filter takes. Throws a `Refusal` for a folder that cannot be read.
    mutating func names(in folder: String) throws -> [String] {
        try entries(of: "", in: folder).filter { !$0.isFolder }.map(\.name)
    }

    private struct Entry {
        let path: String
        let name: String
        let isFolder: Bool
    }

    private mutating func entries(of below: String, in folder: String) throws -> [Entry] {
        let place = below.isEmpty ? folder : "\(folder)/\(below)"
        guard let stream = opendir(place) else { throw Refusal.unreadableFolder(place) }
        defer { closedir(stream) }
        var entries: [Entry] = []
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
                    entries.append(Entry(path: path, name: name, isFolder: true))
                }
                continue
            }
            switch filter.answer(name: name, path: path) {
            case .taken: entries.append(Entry(path: path, name: name, isFolder: false))
            case .otherKind: otherKinds += 1
            case .left: break
            }
        }
        return entries.sorted { $0.name < $1.name }
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

extension Refusal {
    static func unreadableFolder(_ path: String) -> Refusal {
        let number = errno
        return Refusal(
            message: "cannot read the folder \(path): \(systemText(number))",
            exitCode: number == EACCES || number == EPERM ? .permission : number == ENOENT ? .notFound : .failure
        )
    }
}
