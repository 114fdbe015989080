import Glibc

/// Waits for a condition that changes with a file or with the end of a process.
package enum EventWait {
    /// Checks `condition` now, and again when one of the files or folders changes or one of the processes ends.
    ///
    /// Returns whether it holds; false at the deadline, or once all of `processes` have ended, if there are any.
    /// Blocks the thread.
    package static func until(
        _ deadline: ContinuousClock.Instant,
        changesOf paths: [String],
        endOf processes: [Int32] = [],
        _ condition: () throws -> Bool
    ) throws -> Bool {
        // Watch first: no change between a check and the next wait is missed.
        let watch = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard watch >= 0 else { throw SupportError("watch \(paths)", errno: errno) }
        defer { close(watch) }
        let changes = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO
        for path in paths {
            guard inotify_add_watch(watch, path, UInt32(changes)) >= 0 else {
                throw SupportError("watch \(path)", errno: errno)
            }
        }
        var ends = processes.map(ProcessEnd.init(of:)).filter { $0.descriptor >= 0 }
        while true {
            // Take the events before the check, so that a change during the check counts.
            discardEvents(of: watch)
            let hasMore = processes.isEmpty || !ends.isEmpty
            if try condition() { return true }
            let left = ChildProcess.milliseconds(until: deadline)
            guard hasMore, left > 0 else { return false }
            var waited = ([watch] + ends.map(\.descriptor)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            // EINTR leads to one check more.
            _ = poll(&waited, nfds_t(waited.count), left)
            let ended = Set(waited.dropFirst().filter { $0.revents != 0 }.map(\.fd))
            ends.removeAll { ended.contains($0.descriptor) }
        }
    }

    /// The same on a separate thread, so that it holds up no other task.
    package static func until(
        _ deadline: ContinuousClock.Instant,
        changesOf paths: [String],
        endOf processes: [Int32] = [],
        _ condition: @escaping @Sendable () throws -> Bool
    ) async throws -> Bool {
        try await SeparateThread.run { try until(deadline, changesOf: paths, endOf: processes, condition) }
    }

    private static func discardEvents(of watch: Int32) {
        var scratch = [UInt8](repeating: 0, count: 1 << 14)
        while read(watch, &scratch, scratch.count) > 0 {}
    }
}
