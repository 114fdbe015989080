import API
import Ledger

/// The jobs that rooms convert now, by worker and slot.
struct RunningJobs: Sendable {
    /// How many are read for one page.
    static let most: Int32 = 200

    private var jobs: [String: [Int: JobSummary]] = [:]
    /// Their batches, those with the most of them first.
    let batches: [Int64]

    init(_ running: [JobSummary] = []) {
        let counts = Dictionary(grouping: running, by: \.batch).mapValues(\.count)
        batches = counts.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.map(\.key)
        for job in running {
            guard let worker = job.worker, let slot = job.slot else { continue }
            jobs[worker, default: [:]][slot] = job
        }
    }

    /// By slot.
    func jobs(of worker: WorkerSummary) -> [(slot: Int, job: JobSummary)] {
        guard worker.endedAt == nil else { return [] }
        return (jobs[worker.name] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// How far the job of each slot is; `nil` for a slot that is free.
    func fills(of worker: WorkerSummary) -> [Double?] {
        var fills = [Double?](repeating: nil, count: max(0, worker.slots))
        for (slot, job) in jobs(of: worker) where fills.indices.contains(slot) { fills[slot] = job.share ?? 0 }
        // Of the others it is only known that they are busy.
        var others = worker.busy - fills.count { $0 != nil }
        for slot in fills.indices where fills[slot] == nil && others > 0 {
            fills[slot] = 0
            others -= 1
        }
        return fills
    }
}

extension JobSummary {
    /// Progress from 0 to 1; `nil` unless the job runs and its length is known.
    var share: Double? {
        guard state == .running, let frames, let totalFrames, totalFrames > 0 else { return nil }
        return max(0, min(1, Double(frames) / Double(totalFrames)))
    }
}
