import Glibc
import Synchronization

/// Bytes that are kept until they are wanted: in memory, and from some length on in a file without a name.
///
/// Nothing is left of them when the last reference is released, or when the process ends.
package final class Spool: Sendable {
    private struct State {
        /// What is not in the file.
        var memory: [UInt8] = []
        var file: SharedDescriptor?
        var fileBytes: Int64 = 0
    }

    private let state = Mutex(State())
    private let folder: String
    private let memoryBytes: Int

    /// `folder` holds the file, which begins with the first byte beyond `memoryBytes`.
    package init(folder: String, memoryBytes: Int) { (self.folder, self.memoryBytes) = (folder, memoryBytes) }

    /// How many bytes it holds.
    package var count: Int64 { state.withLock { $0.fileBytes + Int64($0.memory.count) } }

    /// Adds bytes at the end. Blocks while the disk writes.
    package func append(_ bytes: [UInt8]) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            state.memory += bytes
            guard state.memory.count > memoryBytes else { return }
            let file: SharedDescriptor
            if let open = state.file { file = open } else { file = try Self.open(in: folder) }
            state.file = file
            try Self.write(state.memory, to: file, at: state.fileBytes)
            state.fileBytes += Int64(state.memory.count)
            state.memory.removeAll(keepingCapacity: true)
        }
    }

    /// Gives all bytes to `body`, in pieces and in their order. They can be read again.
    package func read(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let (memory, file, fileBytes) = state.withLock { ($0.memory, $0.file, $0.fileBytes) }
        if let file {
            var piece = [UInt8](repeating: 0, count: 256 << 10)
            var place: Int64 = 0
            while place < fileBytes {
                let wanted = Int(min(Int64(piece.count), fileBytes - place))
                let count = retryingInterrupts { pread(file.number, &piece, wanted, off_t(place)) }
                guard count > 0 else { throw SystemError(call: "pread", number: count < 0 ? errno : EIO) }
                try piece.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
                place += Int64(count)
            }
        }
        if !memory.isEmpty { try memory.withUnsafeBytes(body) }
    }

    private static func write(_ bytes: [UInt8], to file: SharedDescriptor, at place: Int64) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return retryingInterrupts {
                    pwrite(file.number, rest.baseAddress, rest.count, off_t(place) + off_t(written))
                }
            }
            guard count > 0 else { throw SystemError(call: "pwrite", number: count < 0 ? errno : ENOSPC) }
            written += count
        }
    }

    private static func open(in folder: String) throws(SystemError) -> SharedDescriptor {
        let unnamed = Glibc.open(folder, O_RDWR | O_CLOEXEC | SystemFlag.unnamedFile, 0o600)
        if unnamed >= 0 { return SharedDescriptor(adopting: unnamed) }
        // Not every file system has files without a name. Then it has one for a moment.
        guard [EOPNOTSUPP, EISDIR, ENOENT].contains(errno) else {
            throw SystemError(call: "open \(folder)", number: errno)
        }
        let path = "\(folder)/.sluice-\(String(UInt64.random(in: 0 ... .max), radix: 16))"
        let number = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SystemError(call: "open \(folder)", number: errno) }
        unlink(path)
        return SharedDescriptor(adopting: number)
    }
}
