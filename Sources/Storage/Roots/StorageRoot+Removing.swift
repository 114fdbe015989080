import Conversion
import Glibc

extension StorageRoot {
    /// What a removal of files has done.
    package struct Removal: Sendable {
        package var count = 0
        /// The first error. The other files were removed all the same.
        package var failure: StorageError?
        /// Folders into which it has not looked, because there were too many files. The next removal can begin with them.
        package var left: [[String]] = []

        package init(failure: StorageError? = nil, left: [[String]] = []) {
            (self.failure, self.left) = (failure, left)
        }
    }

    /// Removes files below the root whose contents last changed before `time`, in seconds since 1970, and whose paths
    /// `isKnown` takes. Follows no links, and enters no folder that is deeper than a location of a job usually is.
    ///
    /// It looks into `folders`, or into the root if there are none, and what is below. Once it has seen `most` names, it
    /// finishes the folder at which it is. Folders that are closed to it are left out.
    package func removeFiles(
        changedBefore time: Int64,
        in folders: [[String]] = [],
        most: Int = 1_000_000,
        _ isKnown: ([String]) -> Bool
    ) -> Removal {
        var removal = Removal(left: folders.isEmpty ? [[]] : folders)
        var seen = 0
        while seen < most, let path = removal.left.popLast() {
            let folder: Folder
            let found: [Entry]
            do throws(StorageError) {
                folder = try self.folder(path.joined(separator: "/"), at: .open, creating: false)
                found = try entries(of: folder, most: .max) { entry in
                    seen += 1
                    return !entry.isHidden && Self.isWorthALook(entry, path, isKnown)
                }.entries
            } catch {
                // A folder may be removed meanwhile.
                let isOfOthers = [.folderNotFound, .permissionDenied].contains(error.code)
                if !isOfOthers { removal.failure = removal.failure ?? error }
                continue
            }
            for entry in found {
                let place = path + [entry.name]
                do throws(StorageError) {
                    // The folder states the kind of most entries.
                    if Int(entry.kind) == DT_DIR {
                        removal.left.append(place)
                    } else if let facts = try folder.facts(of: entry.name, at: .open) {
                        if facts.kind == .folder, place.count < Self.deepest {
                            removal.left.append(place)
                        } else if facts.kind == .file, isKnown(place), facts.modifiedAt / 1_000_000_000 < time {
                            try folder.remove(entry.name)
                            removal.count += 1
                        }
                    }
                } catch {
                    removal.failure = removal.failure ?? error
                }
            }
        }
        return removal
    }

    /// Whether an entry of a folder may be a file to remove, or a folder that has some.
    private static func isWorthALook(_ entry: Entry, _ path: [String], _ isKnown: ([String]) -> Bool) -> Bool {
        switch Int(entry.kind) {
        case DT_DIR: path.count + 1 < deepest
        case DT_REG: isKnown(path + [entry.name])
        default: Int(entry.kind) == DT_UNKNOWN
        }
    }

    private static let deepest = 8
}
