import Conversion
import Glibc

extension SourceFile {
    /// Length and SHA-256 of the whole file; `nil` once `isWanted` returns false. Drops the file from the page cache
    /// afterwards, because a checked file is not read again soon.
    public func fingerprint(while isWanted: () -> Bool = { true }) throws(StorageError) -> Fingerprint? {
        // Only advice: reading works without it, so a failure is ignored.
        _ = posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_SEQUENTIAL))
        defer { _ = posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED)) }
        guard let found = Fingerprint.of(descriptor, while: isWanted) else {
            throw StorageError(errno: errno, .source, at: .open, "read the file", place: "the output")
        }
        return found
    }
}
