import Conversion

extension StorageRoot {
    /// Removes files below the root whose contents last changed before `time`, in seconds since 1970, and whose paths
    /// `isKnown` takes. Follows no links, and enters no folder that is deeper than a location of a job usually is.
    ///
    /// Returns how many it has removed. Throws the first error, after it has tried the others.
    package func removeFiles(
        changedBefore time: Int64,
        _ isKnown: ([String]) -> Bool
    ) throws(StorageError) -> Int {
        var (count, failure): (Int, StorageError?) = (0, nil)
        var folders: [[String]] = [[]]
        var seen = 0
        while let path = folders.popLast() {
            do throws(StorageError) {
                let folder = try folder(path.joined(separator: "/"), at: .open, creating: false)
                for name in try folder.names({ $0.utf8.first != UInt8(ascii: ".") }) {
                    seen += 1
                    guard seen <= Self.mostFiles else { return count }
                    let place = path + [name]
                    guard let facts = try folder.facts(of: name, at: .open) else { continue }
                    if facts.kind == .folder, place.count < Self.deepest {
                        folders.append(place)
                    } else if facts.kind == .file, isKnown(place), facts.modifiedAt / 1_000_000_000 < time {
                        try folder.remove(name)
                        count += 1
                    }
                }
            } catch {
                // A folder may be removed meanwhile.
                if error.code != .folderNotFound { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
        return count
    }

    private static let deepest = 8
    /// Others may have files without end there.
    private static let mostFiles = 1_000_000
}
