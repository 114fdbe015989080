import Glibc

/// Tells a process without memory from a source that asks for too much of it: libav answers `ENOMEM` to both.
enum MemoryShortage {
    /// More than any honest header asks for, covers and their copies included, and less than a process that converts
    /// usually has.
    private static let leastBytes = 256 << 20

    /// Whether a piece of memory of a sane size cannot be had.
    static var isNow: Bool {
        // Straight from the kernel: a piece that malloc keeps in reserve says nothing.
        guard let piece = mmap(nil, leastBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            piece != MAP_FAILED
        else { return true }
        munmap(piece, leastBytes)
        return false
    }
}
