import Glibc

/// Tells a process that is out of memory from a source that claims too much of it: libav returns `ENOMEM` for both.
enum MemoryShortage {
    /// More than any legitimate header needs, covers and their copies included, and less than a converting process
    /// usually has available.
    private static let leastBytes = 256 << 20

    /// Whether an allocation of a reasonable size fails.
    static var isNow: Bool {
        // Ask the kernel directly: memory that malloc keeps in reserve says nothing.
        guard let piece = mmap(nil, leastBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            piece != MAP_FAILED
        else { return true }
        munmap(piece, leastBytes)
        return false
    }
}
