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

    private struct State {
        var files: [Location: File] = [:]
        var places: [String: Location] = [:]
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
        if let known = state.withLock({ $0.places[path] }) { return known }
        guard let facts = FileFacts.of(path: path, followingLinks: true) else {
            throw StorageError(.sourceNotFound, at: .open, "find", "it does not exist", place: path)
        }
        let stamp = SourceStamp(bytes: facts.byteCount, modified: facts.modifiedAt)
        let file = File(path: path, stamp: stamp)
        let location = try self.location(of: file, as: stamp)
        state.withLock { state in
            state.files[location] = file
            state.places[path] = location
        }
        return location
    }

    /// The file that goes to a location; `nil` if none of this machine does.
    func file(at location: Location) -> File? { state.withLock { $0.files[location] } }

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
