import CSystem

/// Settings of glibc's malloc (mallopt).
package enum Allocator {
    package static func setArenaLimit(_ count: Int32) { _ = mallopt(M_ARENA_MAX, count) }

    /// Blocks of at least this size are mapped separately, and unmapped when they are freed.
    package static func setMapThreshold(_ bytes: Int32) { _ = mallopt(M_MMAP_THRESHOLD, bytes) }

    /// How much free memory may remain at the end of the heap.
    package static func setTrimThreshold(_ bytes: Int32) { _ = mallopt(M_TRIM_THRESHOLD, bytes) }

    /// Returns free memory to the kernel.
    package static func trim() { _ = malloc_trim(0) }
}
