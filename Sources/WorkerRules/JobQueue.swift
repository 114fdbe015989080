import Conversion

/// The jobs that wait for a slot, in the order of their claims.
///
/// Jobs that an earlier worker was running when it was lost are suspects. They run one at a time, so that one that
/// kills its worker does not take the others with it again.
struct JobQueue: Sendable {
    private struct Entry: Sendable {
        let fence: Fence
        let isSuspect: Bool
    }

    private var entries: [Entry] = []
    /// All suspects that the worker holds, queued or not.
    private var suspects: Set<Fence> = []
    /// Suspects that are being converted.
    private var runningSuspects = 0

    var count: Int { entries.count }
    var fences: [Fence] { entries.map(\.fence) }

    mutating func add(_ job: HeldJob) {
        entries.append(Entry(fence: job.fence, isSuspect: job.isSuspect))
        if job.isSuspect { suspects.insert(job.fence) }
    }

    /// The number of queued jobs that wait for a suspect to end.
    var heldUp: Int {
        guard suspects.count > 1 else { return 0 }
        return max(0, entries.count(where: \.isSuspect) - (runningSuspects > 0 ? 0 : 1))
    }

    /// The last ones of the queued suspects, if more than `limit` wait for a suspect to end.
    func heldUp(beyond limit: Int) -> [Fence] {
        let surplus = heldUp - limit
        return surplus > 0 ? entries.filter(\.isSuspect).suffix(surplus).map(\.fence) : []
    }

    var hasNext: Bool { nextIndex != nil }

    /// The job that has waited longest, suspects aside.
    var firstOrdinary: Fence? { entries.first { !$0.isSuspect }?.fence }

    /// Takes the job to start next. While a suspect runs, other suspects are skipped.
    mutating func takeNext() -> Fence? {
        guard let index = nextIndex else { return nil }
        let entry = entries.remove(at: index)
        if entry.isSuspect { runningSuspects += 1 }
        return entry.fence
    }

    private var nextIndex: Int? {
        guard suspects.count > 1, entries.first?.isSuspect == true, runningSuspects > 0 else {
            return entries.indices.first
        }
        return entries.firstIndex { !$0.isSuspect }
    }

    /// Takes jobs off the queue that have not begun.
    mutating func remove(_ fences: Set<Fence>) {
        guard !fences.isEmpty else { return }
        entries.removeAll { fences.contains($0.fence) }
    }

    /// A conversion has ended.
    mutating func converted(_ job: HeldJob) { if job.isSuspect { runningSuspects -= 1 } }

    /// The job has left the worker.
    mutating func forget(_ fence: Fence) { suspects.remove(fence) }
}
