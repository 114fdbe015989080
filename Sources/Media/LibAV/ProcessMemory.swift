import CLibAV

/// How a process that converts many files keeps its memory.
public enum ProcessMemory {
    /// Call once, before the first conversion, in a process that runs thousands of them.
    ///
    /// Left to itself, glibc gives the end of the heap back after every short clip only to ask for it again, and changes
    /// its mind about where FLAC's encoder of seven megabytes belongs. From here on all lies in the heap, and as much of
    /// it is kept as one conversion needs.
    public static func prepareForManyConversions() {
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, 16 << 20)
    }
}
