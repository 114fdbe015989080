import Conversion
package import FoundationEssentials
package import Ledger

/// The JSON form of a job in a list.
package struct JobRecord: Encodable {
    private let job: JobSummary

    package init(_ job: JobSummary) { self.job = job }

    private enum CodingKeys: String, CodingKey {
        case id, state, batch, queue, priority, source, since, attempts, maxAttempts, losses, roomDeaths
        case code, kind = "class", stage, readyAt, worker, slot, frames, totalFrames, isToBeCancelled, digest, bytes,
            furtherOutputs, placement, hasRemarks, damage, remarks
    }

    package func encode(to encoder: any Encoder) throws {
        var record = encoder.container(keyedBy: CodingKeys.self)
        try record.encode(job.job, forKey: .id)
        try record.encode(job.state, forKey: .state)
        try record.encode(job.batch, forKey: .batch)
        try record.encode(job.queue, forKey: .queue)
        try record.encode(job.priority, forKey: .priority)
        try record.encode(job.source, forKey: .source)
        try record.encode(job.since, forKey: .since)
        try record.encode(job.attempts, forKey: .attempts)
        try record.encode(job.maxAttempts, forKey: .maxAttempts)
        try record.encode(job.losses, forKey: .losses)
        try record.encode(job.roomDeaths, forKey: .roomDeaths)
        try record.encodeIfPresent(job.code, forKey: .code)
        try record.encodeIfPresent(job.kind, forKey: .kind)
        try record.encodeIfPresent(job.stage, forKey: .stage)
        try record.encodeIfPresent(job.dueAt, forKey: .readyAt)
        try record.encodeIfPresent(job.worker, forKey: .worker)
        try record.encodeIfPresent(job.slot, forKey: .slot)
        try record.encodeIfPresent(job.frames, forKey: .frames)
        try record.encodeIfPresent(job.totalFrames, forKey: .totalFrames)
        if job.isToBeCancelled { try record.encode(true, forKey: .isToBeCancelled) }
        try record.encodeIfPresent(job.digest, forKey: .digest)
        try record.encodeIfPresent(job.bytes, forKey: .bytes)
        if !job.further.isEmpty { try record.encode(job.further, forKey: .furtherOutputs) }
        if let placement = job.placement, placement != .published { try record.encode(placement, forKey: .placement) }
        if job.hasRemarks { try record.encode(true, forKey: .hasRemarks) }
        if let told = job.remarks {
            if !told.damage.isEmpty { try record.encode(Damage(told.damage), forKey: .damage) }
            try record.encode(told.remarks, forKey: .remarks)
        }
    }

    /// Damage without its stretches, which only the job's report lists.
    private struct Damage: Encodable {
        let frames: Int64
        let stretchCount: Int

        init(_ damage: DamageReport) { (frames, stretchCount) = (damage.frames, damage.stretchCount) }
    }
}

extension JobSummary {
    /// When a delayed job becomes ready; `nil` if that depends on other jobs.
    package var dueAt: Date? { code == FailureCode.albumWaits.rawValue ? nil : readyAt }
}
