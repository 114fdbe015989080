import Conversion
import Glibc
import Synchronization
import System

/// A published output that another program reads. All calls block.
package final class ServedFile: Sendable {
    /// One state of a file: any change of its bytes gives another one.
    package struct Version: Sendable, Hashable {
        let identity: FileIdentity
        package let byteCount: Int64
        let owner: UInt32
        /// In nanoseconds since 1970. Any program can set the first one, and none the second.
        let modifiedAt: Int64
        let changedAt: Int64
    }

    /// -1 once it is closed.
    private let descriptor: Mutex<Int32>
    package let version: Version
    private let place: String

    private init(_ descriptor: Int32, _ version: Version, _ place: String) {
        self.descriptor = Mutex(descriptor)
        (self.version, self.place) = (version, place)
    }

    deinit { close() }

    /// Opens the file at `location`.
    package static func open(_ location: Location, in root: StorageRoot) throws(StorageError) -> ServedFile {
        let source = try root.openSource(location)
        let number = fcntl(source.descriptor, F_DUPFD_CLOEXEC, 3)
        guard number >= 0 else {
            throw StorageError(errno: errno, .source, at: .open, "open the file", place: "\(location)")
        }
        let copy = Descriptor(adopting: number)
        guard let facts = FileFacts.of(copy.number) else {
            throw StorageError(errno: errno, .source, at: .open, "open the file", place: "\(location)")
        }
        let version = Version(
            identity: facts.identity,
            byteCount: facts.byteCount,
            owner: facts.owner,
            modifiedAt: facts.modifiedAt,
            changedAt: facts.changedAtNanoseconds
        )
        return ServedFile(copy.release(), version, "\(location)")
    }

    /// Whether the mark, the owner and the times of change of the file say that it is the output of `job` with this
    /// fingerprint, unchanged since `publishedAt`, in seconds since 1970. Does not read its bytes.
    ///
    /// A mark can be copied, and the time of the contents be set back, but not that of the last change. False also where
    /// workers have another user than this process and are not root, where the file system keeps no marks, and where its
    /// clock is ahead of the ledger's by more than a publication takes.
    package func isMarked(job: Int64, _ fingerprint: Fingerprint, publishedAt: Int64) -> Bool {
        descriptor.withLock { descriptor in
            guard case .mark(let mark) = OutputMark.read(from: descriptor) else { return false }
            let isOfWorker = version.owner == geteuid() || version.owner == 0
            let lastChange = max(version.modifiedAt, version.changedAt) / 1_000_000_000
            return mark.job == job && mark.fingerprint == fingerprint && isOfWorker && lastChange <= publishedAt
        }
    }

    /// Length and SHA-256 of all its bytes, which are read.
    package func fingerprint() throws(StorageError) -> Fingerprint {
        try descriptor.withLock { (descriptor) throws(StorageError) in
            guard let found = Fingerprint.of(descriptor) else { throw failure(errno) }
            return found
        }
    }

    /// At most `count` bytes from `offset` on; fewer at the end of the file.
    package func read(_ count: Int, at offset: Int64) throws(StorageError) -> [UInt8] {
        try descriptor.withLock { (descriptor) throws(StorageError) in
            var got = -1
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                got = retryingInterrupts { pread(descriptor, buffer.baseAddress, count, off_t(offset)) }
                filled = max(0, got)
            }
            guard got >= 0 else { throw failure(errno) }
            return bytes
        }
    }

    package func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }

    private func failure(_ number: Int32) -> StorageError {
        StorageError(errno: number, .source, at: .open, "read the file", place: place)
    }
}

extension Fingerprint {
    /// From a SHA-256 in hexadecimal; `nil` if `digest` is not one.
    package init?(hexDigest digest: String, byteCount: Int64) {
        let digits = digest.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard digits.count == 64, digest.utf8.count == 64, byteCount >= 0 else { return nil }
        let bytes = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        self.init(byteCount: byteCount, sha256: bytes)
    }
}
