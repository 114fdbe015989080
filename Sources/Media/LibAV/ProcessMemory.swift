import CLibAV
import Glibc

/// Memory settings for a process that converts many files.
public enum ProcessMemory {
    private static let largePage = 2 << 20
    /// As many large pages as FLAC's encoder needs. Beyond them the heap grows by small pages, so that a few
    /// kilobytes more cost only a few kilobytes.
    private static let largePageCount = 4

    /// Call once, before the first conversion, in a process that runs thousands of them.
    ///
    /// By default, glibc returns the end of the heap to the kernel after every short clip only to request it again,
    /// and keeps moving FLAC's encoder, which takes seven megabytes, between heap and mmap. After this call
    /// everything lies in the heap, and glibc keeps as much of it as one conversion needs.
    public static func prepareForManyConversions() {
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, 16 << 20)
        makeNest()
        takeLargePages()
    }

    /// Returns the memory of past conversions to the kernel. A process forked from this one then gets new memory
    /// where it writes, instead of copies of the old pages.
    public static func forgetPastConversions() {
        malloc_trim(0)
        takeLargePages()
    }

    /// Reserves a block low in the heap for small allocations.
    ///
    /// Without it, small long-lived allocations end up behind an active encoder and shut its block in. The next
    /// conversion takes a piece of that block for something else, its encoder no longer fits, and the heap grows by
    /// another encoder. glibc uses the smallest free block that fits: small allocations use the reserved one, and
    /// large ones keep the end of the heap.
    private static func makeNest() {
        // More than conversions need for small allocations. It is only address space: pages are allocated on first use.
        let least = 2 << 20
        guard let place = malloc(least) else { return }
        free(place)
        // End the block just below a large page, so that large allocations begin on that page.
        let toLargePage = -(Int(bitPattern: place) + least) & (largePage - 1)
        guard let nest = malloc(least + toLargePage - 512) else { return }
        // Keep one allocation behind the block for good: otherwise the block would rejoin the end of the heap.
        // Allocations that land in older gaps stay too, or malloc would return the same gap again.
        for _ in 0..<1_000 {
            guard let end = malloc(64), end < nest else { break }
        }
        free(nest)
    }

    /// Asks the kernel to back the end of the heap with large pages.
    ///
    /// FLAC's encoder then takes four pages instead of eighteen hundred, which cost a new process
    /// more work than a short clip does.
    private static func takeLargePages() {
        let size = largePageCount * largePage
        // malloc writes a header behind the block. In the last large page, that write would make the kernel
        // allocate small pages first and replace them by a large one seconds later.
        guard let block = malloc(size + largePage) else { return }
        let before = -Int(bitPattern: block) & (largePage - 1)
        // An error is ignored: a kernel without large pages uses small ones.
        madvise(block + before, size, MADV_HUGEPAGE)
        free(block)
    }
}
