import Hashing
import Conversion
import Glibc
import Synchronization
import System

/// A file that another program sends. It appears below a root whole or not at all, and never replaces another file.
///
/// If it is closed before it is published, it leaves nothing. A process that was killed leaves nothing either or, on
/// file systems without unnamed files, a hidden file that the next file for the same place sweeps. All calls block, and
/// wait for one that is under way.
package final class IncomingFile: Sendable {
    private struct State: ~Copyable {
        /// `nil` once it is closed.
        var file: UnfinishedFile?
        let hash = SHA256Hash()
        var byteCount: Int64 = 0
    }

    /// How a file got its name.
    package enum Ending: Sendable, Hashable {
        case published
        /// The same bytes were there already.
        case present
    }

    private let state: Mutex<State>
    private let folder: Folder
    private let name: String

    private init(_ file: sending UnfinishedFile, in folder: Folder, named name: String) {
        state = Mutex(State(file: file))
        (self.folder, self.name) = (folder, name)
    }

    /// Opens an empty file for `location`. Creates missing folders, which stay.
    ///
    /// Throws `destination_exists` if a file of another length than `byteCount` is there, `root_forbids`, `outside_root`,
    /// and `disk_full` if the file system would be full.
    package static func open(
        for location: Location,
        in root: StorageRoot,
        byteCount: Int64
    ) throws(StorageError) -> IncomingFile {
        try root.allow(location)
        guard try root.fileSystem(of: location).hasRoom(for: byteCount) else { throw noRoom("\(location)") }
        let folder = try root.folder(of: location, at: .open, creating: true)
        if let present = try folder.facts(of: location.name, at: .open) {
            let isSimilar = present.kind == .file && present.byteCount == byteCount
            guard isSimilar else { throw exists("\(location)", present.kind) }
        }
        let file = try UnfinishedFile.create(
            in: folder,
            for: location.name,
            root.access(within: []),
            mustBeHidden: false,
            sweeping: false
        )
        return IncomingFile(file, in: folder, named: location.name)
    }

    /// Adds bytes at the end. Throws `disk_full` also shortly before the file system is full.
    package func write(_ bytes: [UInt8]) throws(StorageError) {
        try state.withLock { (state) throws(StorageError) in
            guard let descriptor = state.file?.descriptor else { throw closed }
            var done = 0
            while done < bytes.count {
                let count = bytes.withUnsafeBytes { bytes in
                    let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                    return retryingInterrupts {
                        pwrite(descriptor, rest.baseAddress, rest.count, off_t(state.byteCount) + off_t(done))
                    }
                }
                guard count > 0 else { throw failure(count == 0 ? ENOSPC : errno, .write, "write") }
                done += count
            }
            bytes.withUnsafeBytes { state.hash.add($0) }
            let (before, after) = (state.byteCount, state.byteCount + Int64(bytes.count))
            state.byteCount = after
            // The file system is asked once for each 64 MiB.
            if before >> 26 != after >> 26, let facts = FileSystemFacts(folder.descriptor), facts.isFull {
                throw Self.noRoom(folder.path(of: name))
            }
        }
    }

    /// The length and SHA-256 of all bytes, which also ends the writing.
    package func fingerprint() -> Fingerprint {
        state.withLock { Fingerprint(byteCount: $0.byteCount, sha256: $0.hash.finish()) }
    }

    /// Makes the file durable and gives it its name. `fingerprint` is the file's own, for the comparison with a file that
    /// has the name already. Throws `destination_exists` if that file is another one.
    package func publish(as fingerprint: Fingerprint) throws(StorageError) -> Ending {
        try state.withLock { (state) throws(StorageError) in
            guard let file = state.file else { throw closed }
            try file.flush()
            guard try !file.takeFreeName() else {
                try folder.flush(holding: name)
                return .published
            }
            guard try folder.holds(fingerprint, as: name) else {
                throw Self.exists(folder.path(of: name), try folder.facts(of: name, at: .publish)?.kind ?? .file)
            }
            try file.discard()
            // An earlier call may have failed here.
            try folder.flush(holding: name)
            return .present
        }
    }

    /// Closes the file. Removes it if it was not published.
    package func close() { state.withLock { $0.file = nil } }

    // MARK: - Errors

    private var closed: StorageError { failure(EBADF, .write, "write") }

    private func failure(_ number: Int32, _ stage: Failure.Stage, _ operation: String) -> StorageError {
        StorageError(errno: number, .destination, at: stage, operation, place: folder.path(of: name))
    }

    private static func exists(_ place: String, _ kind: FileKind) -> StorageError {
        let detail = kind == .file ? "another file is there" : "a \(kind.rawValue) is there"
        return StorageError(.destinationExists, at: .open, "write to", detail, place: place)
    }

    private static func noRoom(_ place: String) -> StorageError {
        StorageError(.diskFull, at: .write, "write to", "its file system would be full", place: place)
    }
}

extension FileSystemFacts {
    /// Whether it would not be full with another `byteCount` bytes.
    fileprivate func hasRoom(for byteCount: Int64) -> Bool {
        let (left, isTooMuch) = freeBytes.subtractingReportingOverflow(UInt64(clamping: byteCount))
        guard !isTooMuch else { return false }
        return !FileSystemFacts(
            device: device,
            mountPoint: mountPoint,
            freeBytes: left,
            byteCount: self.byteCount,
            isOutOfNames: isOutOfNames
        ).isFull
    }
}
