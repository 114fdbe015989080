import Conversion
import Glibc
import Ledger
import Storage
import Synchronization
import System

/// The files of this machine that a submission sends to the cluster, and where they go.
///
/// A file's place follows from this machine, its path, its size and its time, so a repeated submission finds it again, and a
/// file that has changed gets another place: uploads replace nothing.
final class UploadPlaces: Sendable {
    /// A file to send.
    struct File: Sendable {
        let path: String
        /// As it was when it was found.
        let stamp: SourceStamp
    }

    /// A million files take some hundred bytes each, so a file is put together when it is asked for.
    private struct State {
        private var paths = PackedTexts()
        private var locations = PackedTexts()
        private var stamps: [SourceStamp] = []
        /// Find the files with a path and with a location.
        private var (byPath, byLocation) = (EntryTable(), EntryTable())

        func location(ofPath path: String) -> Location? {
            byPath.entry(hash: Self.hash(path)) { paths[$0].utf8.elementsEqual(path.utf8) }.map(location)
        }

        func file(at location: Location) -> File? {
            byLocation.entry(hash: location.hashValue) { self.location($0) == location }.map { number in
                File(path: paths[number], stamp: stamps[number])
            }
        }

        /// Adds a file whose path is not known. Of files with the same location, the first one is found.
        mutating func add(_ file: File, at location: Location) {
            byPath.insert(stamps.count, hash: Self.hash(file.path))
            byLocation.insert(stamps.count, hash: location.hashValue)
            paths.append(file.path)
            locations.append(location.description)
            stamps.append(file.stamp)
        }

        private func location(_ number: Int) -> Location { Location(ofDescription: locations[number]) }

        /// Paths that only look the same are different.
        private static func hash(_ path: String) -> Int {
            var hasher = Hasher()
            for byte in path.utf8 { hasher.combine(byte) }
            return hasher.finalize()
        }
    }

    /// Root and folder, as the start of a location: `in:uploads/`.
    let base: String
    /// Bytes of the longest file that the coordinator takes.
    let mostBytes: Int64
    private let machine: String
    private let state = Mutex(State())

    init(base: String, mostBytes: Int64, machine: String = UploadPlaces.thisMachine) {
        (self.base, self.mostBytes, self.machine) = (base, mostBytes, machine)
    }

    /// Where the file at an absolute path goes. Throws if no location can hold its name, or if it is gone.
    func location(of path: String) throws(StorageError) -> Location {
        if let known = state.withLock({ $0.location(ofPath: path) }) { return known }
        guard let facts = FileFacts.of(path: path, followingLinks: true) else {
            throw StorageError(.sourceNotFound, at: .open, "find", "it does not exist", place: path)
        }
        let stamp = SourceStamp(bytes: facts.byteCount, modified: facts.modifiedAt)
        let file = File(path: path, stamp: stamp)
        let location = try self.location(of: file, as: stamp)
        state.withLock { state in
            // Another thread may have found it meanwhile.
            if state.location(ofPath: path) == nil { state.add(file, at: location) }
        }
        return location
    }

    /// The file that goes to a location; `nil` if none of this machine does.
    func file(at location: Location) -> File? { state.withLock { $0.file(at: location) } }

    /// Where the file that goes to `location` was sent when it had another stamp; `nil` for locations of other files.
    func earlier(_ location: Location, as stamp: SourceStamp) -> Location? {
        guard let file = file(at: location) else { return nil }
        // `try?`: it differs from the known location in some digits only.
        return try? self.location(of: file, as: stamp)
    }

    /// Whether the file that goes to `location` may have been sent to `other` when it had another stamp: both have its name.
    func mayBe(_ other: Location, anEarlierPlaceOf location: Location) -> Bool {
        let (text, now) = (other.description.utf8, location.description.utf8)
        return file(at: location) != nil && text.count == now.count && text.starts(with: base.utf8)
            && other.name.utf8.elementsEqual(location.name.utf8)
    }

    private func location(of file: File, as stamp: SourceStamp) throws(StorageError) -> Location {
        var fingerprint = RunningFingerprint()
        for text in [machine, file.path, "\(stamp.bytes)", "\(stamp.modified)"] { fingerprint.add(text) }
        let digits = fingerprint.finish().hexDigest.prefix(24)
        // Two levels, so that no folder has a million entries.
        let name = file.path.lastPathName ?? file.path
        return try Location("\(base)\(digits.prefix(2))/\(digits.dropFirst(2))/\(name)").asDestination()
    }

    /// What tells this machine from others that have the same paths.
    static var thisMachine: String {
        // `try?`: where there is no such file, as in containers, the name of the host must do.
        let id = (try? SourceFile.contents(word: "/etc/machine-id")).map { String(decoding: $0, as: UTF8.self) }
        if let id, !id.allSatisfy(\.isWhitespace) { return id }
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
