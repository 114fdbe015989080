import Glibc
import Hashing
import System

/// The bytes of one part of an upload: a file without a name, which is gone when its last reference is.
///
/// A file, because a part may have to be sent again, and the memory of a worker is small.
package final class PartFile: Sendable {
    private let file: SharedDescriptor
    package let byteCount: Int64
    /// SHA-256, which the store checks.
    package let digest: [UInt8]

    var descriptor: Int32 { file.number }
    /// The digest in hexadecimal digits.
    var hash: String { digest.hexadecimal }

    init(_ file: SharedDescriptor, byteCount: Int64, digest: [UInt8]) {
        self.file = file
        self.byteCount = byteCount
        self.digest = digest
    }
}

/// A part that grows.
struct GrowingPart: ~Copyable {
    private let file: SharedDescriptor
    private(set) var byteCount: Int64 = 0

    /// Its file lies in `folder`.
    init(in folder: String) throws(SystemError) {
        let unnamed = open(folder, O_RDWR | O_CLOEXEC | SystemFlag.unnamedFile, 0o600)
        if unnamed >= 0 {
            file = SharedDescriptor(adopting: unnamed)
            return
        }
        // Not every file system has files without a name. Then it has one for a moment.
        guard [EOPNOTSUPP, EISDIR, ENOENT].contains(errno) else {
            throw SystemError(call: "open \(folder)", number: errno)
        }
        let path = "\(folder)/.sluice-\(String(UInt64.random(in: 0 ... .max), radix: 16))"
        let number = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SystemError(call: "open \(folder)", number: errno) }
        unlink(path)
        file = SharedDescriptor(adopting: number)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        try write(bytes, at: byteCount)
        byteCount += Int64(bytes.count)
    }

    mutating func append(_ bytes: [UInt8]) throws(SystemError) {
        let result: Result<Void, SystemError> = bytes.withUnsafeBytes { bytes in
            do throws(SystemError) { return .success(try append(bytes)) } catch { return .failure(error) }
        }
        try result.get()
    }

    /// Writes over bytes that are there.
    mutating func patch(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        precondition(offset >= 0 && offset + Int64(bytes.count) <= byteCount, "a patch lies within its part")
        try write(bytes, at: offset)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = retryingInterrupts {
                pwrite(file.number, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
            }
            guard count > 0 else { throw SystemError(call: "pwrite", number: count < 0 ? errno : ENOSPC) }
            written += count
        }
    }

    /// Gives all its bytes to `body`, in pieces and in their order.
    func read(_ body: (UnsafeRawBufferPointer) -> Void) throws(SystemError) {
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        var offset: Int64 = 0
        while offset < byteCount {
            let wanted = Int(min(Int64(piece.count), byteCount - offset))
            let count = retryingInterrupts { pread(file.number, &piece, wanted, off_t(offset)) }
            guard count > 0 else { throw SystemError(call: "pread", number: count < 0 ? errno : EIO) }
            piece.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            offset += Int64(count)
        }
    }

    /// The part as it is now.
    consuming func finished() throws(SystemError) -> PartFile {
        let hash = SHA256Hash()
        try read { hash.add($0) }
        return PartFile(file, byteCount: byteCount, digest: hash.finish())
    }
}
