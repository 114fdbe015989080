import Glibc
import TestSupport

/// Pipes that hold all that will ever come out of them: nobody has to write while a test reads.
enum FilledPipe {
    /// A pipe with `bytes` in it and no writer; up to 1 MiB fit.
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
