import System

/// Malloc settings for a process that runs for months.
public enum WorkerMemory {
    /// Call once, first thing in a process that runs an `AudioWorker`.
    ///
    /// For each job a worker allocates hundreds of small blocks on one thread and frees them on another. By default,
    /// glibc gives the threads up to eight arenas for each core, and each arena grows to its peak. One arena serves
    /// all threads: each thread caches some of what it frees, so they rarely contend for it. Large allocations, such
    /// as the answer to a claim of a thousand jobs, are mapped separately and leave no hole.
    public static func prepareForManyJobs() {
        Allocator.setArenaLimit(1)
        Allocator.setMapThreshold(128 << 10)
        // The top of the heap is needed again a moment later, and returning it to the kernel each
        // time costs more than it saves.
        Allocator.setTrimThreshold(8 << 20)
    }
}
