import Glibc

/// How a process that works for months keeps its memory.
public enum WorkerMemory {
    private typealias Arrange = @convention(c) (Int32, Int32) -> Int32

    /// `M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD` and `M_ARENA_MAX` in malloc.h, which Swift does not see.
    private static let trimThreshold: Int32 = -1
    private static let mapThreshold: Int32 = -3
    private static let arenaLimit: Int32 = -8

    /// Call once, first thing in a process that runs an `AudioWorker`.
    ///
    /// A job costs a worker hundreds of small pieces that one thread makes and another frees. Left to itself, glibc
    /// gives the threads up to eight heaps for each core, and every one of them grows to the most that ever lay in it.
    /// One heap serves them all: each thread keeps some of what it frees ready for itself, so they seldom meet there.
    /// What is large, such as the answer to a claim of a thousand jobs, is mapped on its own and leaves no hole.
    public static func prepareForManyJobs() {
        guard let address = dlsym(nil, "mallopt") else { preconditionFailure("this glibc has no mallopt") }
        let arrange = unsafeBitCast(address, to: Arrange.self)
        _ = arrange(arenaLimit, 1)
        _ = arrange(mapThreshold, 128 << 10)
        // The end of the heap is asked for again a moment later: giving it back each time costs the kernel more than it is worth.
        _ = arrange(trimThreshold, 8 << 20)
    }
}
