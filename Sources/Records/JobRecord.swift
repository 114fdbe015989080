import Conversion
package import FoundationEssentials
package import Ledger

/// The JSON form of a job in a list.
package struct JobRecord: Codable {
    package let job: JobSummary

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

    /// Reads a job that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        var job = JobSummary(
            job: try record.id(.id),
            state: try record.decode(JobState.self, forKey: .state),
            batch: try record.id(.batch),
            queue: try record.decode(String.self, forKey: .queue),
            priority: try record.small(.priority),
            source: try record.decode(String.self, forKey: .source),
            since: try record.decode(Date.self, forKey: .since),
            attempts: try record.count(.attempts),
            maxAttempts: try record.count(.maxAttempts)
        )
        job.losses = try record.count(.losses)
        job.roomDeaths = try record.count(.roomDeaths)
        job.code = try record.decodeIfPresent(String.self, forKey: .code)
        job.kind = try record.decodeIfPresent(Failure.Kind.self, forKey: .kind)
        job.stage = try record.decodeIfPresent(String.self, forKey: .stage)
        job.readyAt = try record.decodeIfPresent(Date.self, forKey: .readyAt)
        job.worker = try record.decodeIfPresent(String.self, forKey: .worker)
        job.slot = try record.countIfPresent(.slot)
        job.frames = try record.sizeIfPresent(.frames)
        job.totalFrames = try record.sizeIfPresent(.totalFrames)
        job.isToBeCancelled = try record.decodeIfPresent(Bool.self, forKey: .isToBeCancelled) ?? false
        job.digest = try record.decodeIfPresent(String.self, forKey: .digest)
        job.bytes = try record.sizeIfPresent(.bytes)
        job.further = try record.decodeIfPresent([PublishedFile?].self, forKey: .furtherOutputs) ?? []
        job.placement = try record.decodeIfPresent(Placement.self, forKey: .placement)
        if job.state == .completed, job.placement == nil { job.placement = .published }
        job.hasRemarks = try record.decodeIfPresent(Bool.self, forKey: .hasRemarks) ?? false
        if let remarks = try record.decodeIfPresent([Remark].self, forKey: .remarks) {
            let damage = try record.decodeIfPresent(Damage.self, forKey: .damage)
            job.remarks = JobRemarks(damage: damage?.report ?? DamageReport(), remarks: remarks)
        }
        self.job = job
    }

    /// Damage without its stretches, which only the job's report lists.
    private struct Damage: Codable {
        let frames: Int64
        let stretchCount: Int

        init(_ damage: DamageReport) { (frames, stretchCount) = (damage.frames, damage.stretchCount) }

        init(from decoder: any Decoder) throws {
            let record = try decoder.container(keyedBy: CodingKeys.self)
            (frames, stretchCount) = (try record.size(.frames), try record.count(.stretchCount))
        }

        var report: DamageReport { DamageReport(frames: frames, stretchCount: stretchCount) }
    }
}

extension JobSummary {
    /// When a delayed job becomes ready; `nil` if that depends on other jobs.
    package var dueAt: Date? { code == FailureCode.albumWaits.rawValue ? nil : readyAt }
}
