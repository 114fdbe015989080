import Conversion
import HTTPServer
import Ledger
import Storage

/// What people choose from who name the sources of jobs.
enum PlaceOperation {
    /// Names of one answer.
    static let most = 100

    static func value(_ share: FileShare) -> Operation {
        Operation(
            name: "listPlaces",
            method: .get,
            path: "/api/v1/places",
            summary: "files and folders whose locations begin with a text, \(most) at most, below roots of this "
                + "coordinator",
            access: .submitters,
            parameters: [
                Operation.Parameter(
                    "begin",
                    .text(0...4_096),
                    "a root, a colon, and a path of which the last name may be incomplete; without a colon, roots"
                )
            ],
            answer: Shapes.places
        ) { call in
            let reads = try await call.caller.tenant == nil ? nil : call.ledger.ownTenant()?.limits.reads
            return try .json(JSONRecord(try await find(call.text("begin") ?? "", share, PlaceSight(reads: reads))))
        }
    }

    private static func find(_ begin: String, _ share: FileShare, _ sight: PlaceSight) async throws -> PlaceList {
        guard let colon = begin.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            let roots = share.sourceRoots.map { "\($0):" }.filter { $0.hasPrefix(begin) && sight.includes($0) }
            return PlaceList(places: Array(roots.prefix(most)), hasMore: roots.count > most)
        }
        let (name, path) = (String(begin[..<colon]), begin[begin.utf8.index(after: colon)...])
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(path[..<$0]) } ?? ""
        let beginning = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? String(path)
        // Nothing is said about the files of a folder before it is known that the caller may read there.
        if !folder.isEmpty { _ = try FilePlace.location(root: name, path: folder) }
        let base = folder.isEmpty ? "\(name):" : "\(name):\(folder)/"
        let isHidden = folder.split(separator: "/").contains { $0.utf8.first == UInt8(ascii: ".") }
        guard sight.includes(base), !isHidden else { return PlaceList() }
        let root = try share.root(forSources: name)
        do {
            let found = try await share.list(in: root) { root throws(StorageError) in
                try root.names(in: folder, beginningWith: beginning, most: most) { name in
                    sight.includes(base + name) || sight.includes("\(base)\(name)/")
                }
            }
            let places = found.names.map { base + $0 }.filter(sight.includes)
            return PlaceList(places: places, hasMore: found.hasMore)
        } catch let error as StorageError {
            switch error.code {
            // There is nothing to choose from.
            case .sourceNotFound, .folderNotFound, .notAFile, .outsideRoot, .invalidPath, .permissionDenied:
                return PlaceList()
            case .storageUnavailable, .tooManyFiles: throw Problem(error.failure, .serviceUnavailable)
            default: throw error
            }
        }
    }
}

/// Which places a caller may know of.
struct PlaceSight: Sendable {
    /// What the sources of its tenant begin with; `nil`: it may read everything.
    let reads: [String]?

    /// Whether the caller may read a file or in a folder, or reaches by the folder what it may read. A folder ends with a
    /// slash, and a root with a colon.
    func includes(_ place: String) -> Bool {
        guard let reads else { return true }
        let isFolder = place.utf8.last == UInt8(ascii: "/") || place.utf8.last == UInt8(ascii: ":")
        return reads.contains { read in
            place.utf8.starts(with: read.utf8) || isFolder && read.utf8.starts(with: place.utf8)
        }
    }
}
