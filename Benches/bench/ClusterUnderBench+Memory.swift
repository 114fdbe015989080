import Foundation
import TestSupport

extension ClusterUnderBench {
    /// What came out, and the most that worker and rooms had meanwhile.
    struct Watched {
        var took: Took
        /// What was resident of the worker, and of the largest of its rooms; code that they share counts in each.
        var workerKiB = 0
        var roomKiB = 0
        /// Of worker and rooms at one time, with what they share counted once.
        var wholeKiB = 0
    }

    /// Does `work`, looking at the processes while it lasts.
    ///
    /// The kernel keeps the high-water marks of what is resident; of shares it does not, so these are looked at ten times a second.
    func watch(_ work: @Sendable (ClusterUnderBench) async throws -> Took) async throws -> Watched {
        guard let worker = processes.last else { preconditionFailure("there is a worker") }
        return try await withThrowingTaskGroup(of: Watched.self) { group in
            group.addTask {
                var seen = Watched(took: Took(seconds: 0, frames: 0))
                while !Task.isCancelled {
                    try seen.look(at: worker)
                    do { try await Task.sleep(for: .milliseconds(100)) } catch {
                        // The work is done; one last look.
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
                // A room is no business of others: root alone may look. For others it counts as if nothing were shared.
                whole +=
                    geteuid() == 0
                    ? try Self.kibibytes("Pss", in: "/proc/\(room)/smaps_rollup")
                    : try Self.kibibytes("VmRSS", in: "/proc/\(room)/status")
            }
        }
        wholeKiB = max(wholeKiB, whole)
    }

    /// 0 for a process that has ended meanwhile.
    private static func kibibytes(_ name: String, in path: String) throws -> Int {
        let words = try ProcFile.value("\(name):", in: path)
        return words.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) } ?? 0
    }
}
