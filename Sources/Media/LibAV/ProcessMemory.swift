import CLibAV
import Glibc

/// How a process that converts many files keeps its memory.
public enum ProcessMemory {
    private static let largePage = 2 << 20
    /// As many as FLAC's encoder takes: beyond it, a few kilobytes more are to take a few kilobytes.
    private static let largePageCount = 4

    /// Call once, before the first conversion, in a process that runs thousands of them.
    ///
    /// Left to itself, glibc gives the end of the heap back after every short clip only to ask for it again, and changes
    /// its mind about where FLAC's encoder of seven megabytes belongs. From here on all lies in the heap, and as much of
    /// it is kept as one conversion needs.
    public static func prepareForManyConversions() {
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, 16 << 20)
        makeNest()
        takeLargePages()
    }

    /// Gives back what past conversions have used: a copy of this process is to take new memory where it writes, rather than
    /// the old and its copy.
    public static func forgetPastConversions() {
        malloc_trim(0)
        takeLargePages()
    }

    /// Sets a place low in the heap aside for all that is small.
    ///
    /// Small things that stay would otherwise come to lie behind an encoder that is under way. The encoder's place is then
    /// shut in: the next conversion takes a piece of it for something else, its encoder no longer fits, and the heap grows by
    /// another one. glibc takes the smallest place that will do, which is this one for all that is small; the end of the heap
    /// is left to what is large.
    private static func makeNest() {
        // More than conversions need beside what is large. It is address space: pages come with their first use.
        let least = 2 << 20
        guard let place = malloc(least) else { return }
        free(place)
        // It ends a little before a large page begins: what is large is to begin with it.
        let toLargePage = -(Int(bitPattern: place) + least) & (largePage - 1)
        guard let nest = malloc(least + toLargePage - 512) else { return }
        // Something behind it stays for good: without that, the nest would be part of the heap's end again. What is found in
        // older gaps stays as well, or it would be found again.
        for _ in 0..<1_000 {
            guard let fence = malloc(64), fence < nest else { break }
        }
        free(nest)
    }

    /// Has the kernel hand out the end of the heap by the large page. FLAC's encoder comes in four pieces so, rather than in
    /// eighteen hundred, which is more work for a new process than a short clip.
    private static func takeLargePages() {
        let size = largePageCount * largePage
        // What malloc writes behind the block would give the last of them a small page, and the kernel its reason to hand out
        // small ones there now, and the large one some seconds later.
        guard let block = malloc(size + largePage) else { return }
        let before = -Int(bitPattern: block) & (largePage - 1)
        // A kernel without large pages says so, and its small ones do.
        madvise(block + before, size, MADV_HUGEPAGE)
        free(block)
    }
}
