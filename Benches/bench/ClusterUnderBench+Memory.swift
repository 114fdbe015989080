import Foundation
import TestSupport

extension ClusterUnderBench {
    /// The result of a run, and the peak memory of the worker and its rooms during it.
    struct Watched {
        var took: Took
        /// Resident memory of the worker, and of its largest room; each includes the code that they share.
        var workerKiB = 0
        var roomKiB = 0
        /// The peak of worker and rooms together, with shared pages counted once.
        var wholeKiB = 0
    }

    /// Runs `work` and watches the processes meanwhile.
    ///
    /// The kernel keeps high-water marks for resident memory but not for proportional shares, so those are sampled
    /// ten times a second.
    func watch(_ work: @Sendable (ClusterUnderBench) async throws -> Took) async throws -> Watched {
        guard let worker = processes.last else { preconditionFailure("there is a worker") }
        return try await withThrowingTaskGroup(of: Watched.self) { group in
            group.addTask {
                var seen = Watched(took: Took(seconds: 0, frames: 0))
                while !Task.isCancelled {
                    try seen.look(at: worker)
                    do { try await Task.sleep(for: .milliseconds(100)) } catch {
                        // The work is done; one last sample follows.
                    }
                }
                try seen.look(at: worker)
                return seen
            }
            let took = try await work(self)
            group.cancelAll()
            guard var seen = try await group.next() else { preconditionFailure("one task was added") }
            seen.took = took
            return seen
        }
    }
}

extension ClusterUnderBench.Watched {
    fileprivate mutating func look(at worker: pid_t) throws {
        workerKiB = max(workerKiB, try Self.kibibytes("VmHWM", in: "/proc/\(worker)/status"))
        var whole = try Self.kibibytes("Pss", in: "/proc/\(worker)/smaps_rollup")
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker)/task") {
            let children = try ProcFile.textIfThere("/proc/\(worker)/task/\(thread)/children") ?? ""
            for room in children.split(separator: " ") {
                roomKiB = max(roomKiB, try Self.kibibytes("VmHWM", in: "/proc/\(room)/status"))
                // Only root may inspect a room. For other users its memory counts as if nothing were shared.
                whole +=
                    geteuid() == 0
                    ? try Self.kibibytes("Pss", in: "/proc/\(room)/smaps_rollup")
                    : try Self.kibibytes("VmRSS", in: "/proc/\(room)/status")
            }
        }
        wholeKiB = max(wholeKiB, whole)
    }

    /// 0 if the process has ended.
    private static func kibibytes(_ name: String, in path: String) throws -> Int {
        let words = try ProcFile.value("\(name):", in: path)
        return words.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) } ?? 0
    }
}
