import Glibc
import TestSupport

/// Pipes filled in advance, so that no writer is needed while a test reads.
enum FilledPipe {
    /// A pipe that holds `bytes` and has no writer. Its capacity is 1 MiB.
    static func holding(_ bytes: [UInt8]) throws -> OpenPipe {
        let pipe = try OpenPipe.open()
        let room = fcntl(pipe.writing, 1031 /* F_SETPIPE_SZ, hidden behind _GNU_SOURCE */, CInt(1 << 20))
        guard room >= bytes.count else { throw SupportError("fill a pipe", "\(bytes.count) bytes do not fit \(room)") }
        let written = write(pipe.writing, bytes, bytes.count)
        guard written == bytes.count else { throw SupportError("fill a pipe", errno: errno) }
        pipe.closeWriting()
        return pipe
    }
}
