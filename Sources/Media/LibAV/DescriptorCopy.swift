import Glibc

/// A descriptor of our own for the same open file, closed when the last reference goes.
///
/// Code that goes on after the call has returned needs one: the caller's number may stand for another file by then.
final class DescriptorCopy: Sendable {
    let descriptor: Int32

    /// Copies `original`, which stays the caller's.
    init(of original: Int32) throws {
        descriptor = fcntl(original, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw MediaError(.destinationIO, at: .open, "the output's descriptor cannot be used: \(errnoText(errno))")
        }
    }

    deinit { close(descriptor) }
}
