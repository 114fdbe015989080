import Conversion
import Glibc

/// A duplicate of a descriptor, closed when the last reference goes away.
///
/// Code that continues after the call has returned needs a duplicate: by then the caller's
/// number may refer to another file.
final class DescriptorCopy: Sendable {
    let descriptor: Int32

    /// Duplicates `original`, which the caller keeps.
    init(of original: Int32) throws {
        descriptor = fcntl(original, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw MediaError(.destinationIO, at: .open, "the output's descriptor is not usable: \(errnoText(errno))")
        }
    }

    deinit { close(descriptor) }
}
