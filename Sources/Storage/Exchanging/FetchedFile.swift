package import Conversion
import Glibc
import Synchronization
import System

/// A file that another machine serves, on its way to a place below a root. It appears whole or not at all.
///
/// What has arrived lies in a hidden file beside the place, also after the process was killed. The next fetch of the same
/// contents continues there; the name of the hidden file holds their digest. All calls block.
package final class FetchedFile: Sendable {
    private struct State {
        /// Closed with this object.
        let descriptor: Int32
        var byteCount: Int64
        var failure: StorageError?
        var isPublished = false
    }

    /// What a place needs.
    package enum Opening: Sendable {
        case opened(FetchedFile)
        /// The same bytes are there already.
        case present
        /// Another file is there, and is left alone.
        case kept
    }

    package enum Ending: Sendable, Hashable {
        case published, present, kept
        /// What arrived was something else, and has been removed.
        case wrongDigest
    }

    private let state: Mutex<State>
    private let folder: Folder
    private let name: String
    private let hidden: String
    private let fingerprint: Fingerprint
    private let policy: Recipe.ConflictPolicy

    private init(
        adopting descriptor: Int32,
        holding byteCount: Int64,
        in folder: Folder,
        _ name: String,
        _ hidden: String,
        _ fingerprint: Fingerprint,
        _ policy: Recipe.ConflictPolicy
    ) {
        state = Mutex(State(descriptor: descriptor, byteCount: byteCount))
        (self.folder, self.name, self.hidden) = (folder, name, hidden)
        (self.fingerprint, self.policy) = (fingerprint, policy)
    }

    deinit { close(state.withLock { $0.descriptor }) }

    /// Opens the hidden file of `location`, with what an earlier fetch left there. Creates missing folders, which stay.
    ///
    /// Throws `destination_exists` if another file is there and `policy` is to fail, or if another process fetches the same
    /// file, and `outside_root` if a link leads out of the root.
    package static func open(
        for location: Location,
        in root: StorageRoot,
        _ fingerprint: Fingerprint,
        onConflict policy: Recipe.ConflictPolicy
    ) throws(StorageError) -> Opening {
        let destination = try location.asDestination()
        try root.allow(destination)
        let (folder, name) = (try root.folder(of: destination, at: .open, creating: true), destination.name)
        if try folder.holds(fingerprint, as: name) { return .present }
        if let present = try folder.facts(of: name, at: .open) {
            if policy == .skip { return .kept }
            guard policy == .replace, present.kind == .file else {
                throw exists(
                    "a \(present.kind == .file ? "different file" : present.kind.rawValue) is there",
                    folder,
                    name
                )
            }
        }
        let hidden = ".\(HiddenName.stem(of: name)).sluice-\(fingerprint.hexDigest.prefix(16)).part"
        // Another process may have published the file in between, and then the name leads to another one.
        for _ in 0..<8 {
            let flags = O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
            let opened = retryingInterrupts { openat(folder.descriptor, hidden, flags, 0o666) }
            guard opened >= 0 else {
                throw StorageError(errno: errno, .destination, at: .open, "create", place: folder.path(of: name))
            }
            let file = Descriptor(adopting: opened)
            guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else { throw exists("it is being fetched", folder, name) }
            guard let facts = FileFacts.of(file.number), facts.kind == .file, facts.owner == geteuid() else {
                throw exists("\(hidden) is not a file of this user", folder, name)
            }
            guard try folder.facts(of: hidden, at: .open)?.identity == facts.identity else { continue }
            let isTooLong = facts.byteCount > fingerprint.byteCount
            if isTooLong, ftruncate(file.number, 0) != 0 {
                throw StorageError(errno: errno, .destination, at: .open, "shorten", place: folder.path(of: hidden))
            }
            let arrived = isTooLong ? 0 : facts.byteCount
            return .opened(
                FetchedFile(
                    adopting: file.release(),
                    holding: arrived,
                    in: folder,
                    name,
                    hidden,
                    fingerprint,
                    policy
                )
            )
        }
        throw exists("it is being fetched", folder, name)
    }

    /// How much has arrived.
    package var byteCount: Int64 { state.withLock { $0.byteCount } }

    /// Whether as much has arrived as the file has.
    package var isWhole: Bool { byteCount == fingerprint.byteCount }

    /// Why the last call returned false; `nil` if the bytes did not fit the file.
    package var failure: StorageError? { state.withLock { $0.failure } }

    /// Goes on at `offset`, where the next bytes belong: where the file ends, or at its start. Returns false if they belong
    /// elsewhere.
    package func begin(at offset: Int64) -> Bool {
        state.withLock { state in
            if offset == state.byteCount { return true }
            guard offset == 0, cut(&state) else { return false }
            return true
        }
    }

    /// Adds bytes at the end. Returns false if they cannot be written, or are more than the file has.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            guard state.byteCount + Int64(bytes.count) <= fingerprint.byteCount else { return false }
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                let count = retryingInterrupts {
                    pwrite(state.descriptor, rest.baseAddress, rest.count, off_t(state.byteCount))
                }
                guard count > 0 else {
                    state.failure = failed(count == 0 ? ENOSPC : errno, "write")
                    return false
                }
                done += count
                state.byteCount += Int64(count)
            }
            return true
        }
    }

    /// Compares what has arrived with the fingerprint, makes it durable and gives it its name.
    package func publish() throws(StorageError) -> Ending {
        try state.withLock { (state) throws(StorageError) in
            guard let found = Fingerprint.of(state.descriptor) else { throw failed(errno, "read") }
            guard found == fingerprint else {
                _ = cut(&state)
                return .wrongDigest
            }
            guard fsync(state.descriptor) == 0 else { throw failed(errno, "flush") }
            if policy == .replace {
                try folder.move(hidden, over: name)
            } else if try !folder.move(hidden, toFree: name) {
                // Another file has appeared since.
                let isSame = try folder.holds(fingerprint, as: name)
                guard isSame || policy == .skip else { throw Self.exists("a different file is there", folder, name) }
                try folder.remove(hidden)
                state.isPublished = true
                return isSame ? .present : .kept
            }
            state.isPublished = true
            try folder.flush(holding: name)
            return .published
        }
    }

    /// Leaves what has arrived to the next fetch, and no empty file. For the end of a fetch: a thread may hold this object
    /// for longer, even until the process ends.
    package func leave() {
        state.withLock { state in
            guard !state.isPublished, state.byteCount == 0 else { return }
            // A failure changes nothing for the caller, and the next fetch uses the file.
            unlinkat(folder.descriptor, hidden, 0)
        }
    }

    /// Forgets what has arrived.
    private func cut(_ state: inout State) -> Bool {
        guard ftruncate(state.descriptor, 0) == 0 else {
            state.failure = failed(errno, "shorten")
            return false
        }
        state.byteCount = 0
        return true
    }

    private func failed(_ number: Int32, _ operation: String) -> StorageError {
        StorageError(errno: number, .destination, at: .write, operation, place: folder.path(of: name))
    }

    private static func exists(_ detail: String, _ folder: Folder, _ name: String) -> StorageError {
        StorageError(.destinationExists, at: .open, "write to", detail, place: folder.path(of: name))
    }
}
