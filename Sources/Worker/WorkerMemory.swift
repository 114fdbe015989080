import Glibc

/// Malloc settings for a process that runs for months.
public enum WorkerMemory {
    private typealias Arrange = @convention(c) (Int32, Int32) -> Int32

    /// `M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD` and `M_ARENA_MAX` from malloc.h, which Swift cannot import.
    private static let trimThreshold: Int32 = -1
    private static let mapThreshold: Int32 = -3
    private static let arenaLimit: Int32 = -8

    /// Call once, first thing in a process that runs an `AudioWorker`.
    ///
    /// For each job a worker allocates hundreds of small blocks on one thread and frees them on another. By default,
    /// glibc gives the threads up to eight arenas for each core, and each arena grows to its peak. One arena serves
    /// all threads: each thread caches some of what it frees, so they rarely contend for it. Large allocations, such
    /// as the answer to a claim of a thousand jobs, are mapped separately and leave no hole.
    public static func prepareForManyJobs() {
        guard let address = dlsym(nil, "mallopt") else { preconditionFailure("this glibc has no mallopt") }
        let arrange = unsafeBitCast(address, to: Arrange.self)
        _ = arrange(arenaLimit, 1)
        _ = arrange(mapThreshold, 128 << 10)
        // The top of the heap is needed again a moment later, and returning it to the kernel each
        // time costs more than it saves.
        _ = arrange(trimThreshold, 8 << 20)
    }
}
