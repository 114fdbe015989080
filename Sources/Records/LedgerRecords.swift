import Conversion
package import FoundationEssentials
package import Ledger

/// The JSON form of the ledger's time.
package struct TimeRecord: Codable, Sendable {
    package let time: Date

    package init(_ time: Date) { self.time = time }
}

/// The JSON form of a number of jobs.
package struct CountRecord: Codable, Sendable {
    package let jobs: Int

    package init(_ jobs: Int) { self.jobs = jobs }

    package init(from decoder: any Decoder) throws {
        jobs = try decoder.container(keyedBy: CodingKeys.self).count(.jobs)
    }
}

/// The JSON form of a lane with waiting jobs that no running worker can do.
package struct UnableRecord: Codable, Sendable {
    package let queue: String
    package let priority: Int
    package let needs: [String]
    package let missing: [String]
    package let example: Int64

    package init(_ lane: UnableLane) {
        (queue, priority, needs) = (lane.queue, lane.priority, lane.needs)
        (missing, example) = (lane.missing, lane.example)
    }

    /// What it was made of.
    package var lane: UnableLane {
        UnableLane(queue: queue, priority: priority, needs: needs, missing: missing, example: example)
    }
}

/// The JSON form of a tenant whose jobs wait, because it has used up what it may use in a day.
package struct HoldRecord: Codable, Sendable {
    package let tenant: String
    package let heldFor: TenantHold.Allowance
    package let heldUntil: Date

    package init(_ hold: TenantHold) {
        (tenant, heldFor, heldUntil) = (hold.tenant, hold.allowance, hold.until)
    }

    /// What it was made of.
    package var hold: TenantHold { TenantHold(tenant: tenant, allowance: heldFor, until: heldUntil) }
}

/// The JSON form of a housekeeping chore, as far as those who do not keep the house want to know.
package struct ChoreStateRecord: Codable, Sendable {
    package let chore: String
    /// Why it failed last.
    package let error: String?

    package init(_ chore: ChoreRecord) { (self.chore, error) = (chore.name, chore.error) }

    /// What it was made of.
    package var record: ChoreRecord { ChoreRecord(name: chore, error: error) }
}

/// The JSON form of what ended in one minute in one queue.
package struct ThroughputRecord: Codable, Sendable {
    package let minute: Date
    package let queue: String
    package let completed: Int
    package let failed: Int
    package let cancelled: Int
    package let audioSeconds: Double
    package let began: Date

    package init(_ minute: MinuteThroughput) {
        (self.minute, queue, completed) = (minute.minute, minute.queue, minute.completed)
        (failed, cancelled) = (minute.failed, minute.cancelled)
        (audioSeconds, began) = (minute.audio / .seconds(1), minute.began)
    }

    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        minute = try record.decode(Date.self, forKey: .minute)
        queue = try record.decode(String.self, forKey: .queue)
        completed = try record.count(.completed)
        (failed, cancelled) = (try record.count(.failed), try record.count(.cancelled))
        audioSeconds = try record.seconds(.audioSeconds)
        began = try record.decode(Date.self, forKey: .began)
    }

    /// What it was made of.
    package var value: MinuteThroughput {
        MinuteThroughput(
            in: queue,
            at: minute,
            completed: completed,
            failed: failed,
            cancelled: cancelled,
            audio: .milliseconds(Int64((audioSeconds * 1_000).rounded())),
            began: began
        )
    }
}

/// The JSON form of the latest job of a destination.
package struct EarlierRecord: Codable, Sendable {
    package let job: Int64
    package let batch: Int64
    package let state: JobState
    package let work: Int64?
    package let onConflict: String
    package let stamp: StampRecord?
    package let bytes: Int64?
    package let digest: String?
    package let furtherOutputs: [PublishedFile?]?
    package let code: String?

    package init(_ earlier: EarlierJob) {
        (job, batch, state, work) = (earlier.job, earlier.batch, earlier.state, earlier.work)
        (onConflict, stamp) = (earlier.onConflict.rawValue, earlier.stamp.map(StampRecord.init))
        (bytes, digest, code) = (earlier.bytes, earlier.digest, earlier.code)
        furtherOutputs = earlier.further.isEmpty ? nil : earlier.further
    }

    /// What it was made of.
    package var earlier: EarlierJob {
        EarlierJob(
            job: job,
            batch: batch,
            state: state,
            work: work,
            onConflict: .init(rawValue: onConflict) ?? .fail,
            stamp: stamp?.stamp,
            bytes: bytes,
            digest: digest,
            further: furtherOutputs ?? [],
            code: code
        )
    }
}

/// The JSON form of a source's stamp.
package struct StampRecord: Codable, Sendable {
    package let bytes: Int64
    package let modified: Int64

    package init(_ stamp: SourceStamp) { (bytes, modified) = (stamp.bytes, stamp.modified) }

    /// What it was made of.
    package var stamp: SourceStamp { SourceStamp(bytes: bytes, modified: modified) }
}
