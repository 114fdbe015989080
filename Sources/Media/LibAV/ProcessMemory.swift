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
        makeNest()
    }

    /// Sets a place low in the heap aside for all that is small.
    ///
    /// Small things that stay would otherwise come to lie behind an encoder that is under way. The encoder's place is then
    /// shut in: the next conversion takes a piece of it for something else, its encoder no longer fits, and the heap grows by
    /// another one. glibc takes the smallest place that will do, which is this one for all that is small; the end of the heap
    /// is left to what is large.
    private static func makeNest() {
        // More than conversions need beside what is large. It is address space: pages come with their first use.
        let nest = av_malloc(2 << 20)
        // Stays for good: without it, the nest would be part of the heap's end again.
        _ = av_malloc(64)
        av_free(nest)
    }
}
