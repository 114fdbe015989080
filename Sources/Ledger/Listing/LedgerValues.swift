package import Conversion
package import FoundationEssentials

// Initializers for those who learn of the ledger in another way than by rows of the database. They take what is always
// known; the rest is set afterwards.

extension BatchSummary {
    package init(
        batch: Int64,
        queue: String,
        priority: Int,
        weight: Int,
        labels: [String: String],
        submitter: String,
        createdAt: Date,
        jobsFrom firstJob: Int64,
        to lastJob: Int64,
        jobs: JobCounts,
        jobsWithRemarks: Int
    ) {
        (self.batch, name, key) = (batch, nil, nil)
        (self.queue, self.priority, self.weight) = (queue, priority, weight)
        (self.labels, self.submitter, self.createdAt) = (labels, submitter, createdAt)
        (self.firstJob, self.lastJob, self.jobs) = (firstJob, lastJob, jobs)
        self.jobsWithRemarks = jobsWithRemarks
    }
}

extension JobSummary {
    package init(
        job: Int64,
        state: JobState,
        batch: Int64,
        queue: String,
        priority: Int,
        source: String,
        since: Date,
        attempts: Int,
        maxAttempts: Int
    ) {
        (self.job, self.state, self.batch) = (job, state, batch)
        (self.queue, self.priority, self.source) = (queue, priority, source)
        (self.since, self.attempts, self.maxAttempts) = (since, attempts, maxAttempts)
        (losses, roomDeaths, isToBeCancelled, hasRemarks, further) = (0, 0, false, false, [])
        (code, kind, stage, readyAt, worker, slot) = (nil, nil, nil, nil, nil, nil)
        (frames, totalFrames, digest, bytes, placement, remarks) = (nil, nil, nil, nil, nil, nil)
    }
}

extension JobRemarks {
    package init(damage: DamageReport, remarks: [Remark]) { (self.damage, self.remarks) = (damage, remarks) }
}

extension JobPage {
    package init(of jobs: [JobSummary], next: JobCursor?) { (self.jobs, self.next) = (jobs, next) }
}

extension SubmissionReceipt {
    /// The receipt of a batch that stands already.
    package init(standing batch: Int64, firstJob: Int64, lastJob: Int64, jobCount: Int) {
        self.init(
            batch: batch,
            firstJob: firstJob,
            lastJob: lastJob,
            jobCount: jobCount,
            isRepetition: true,
            isSameRequest: true
        )
    }
}

extension JobStory {
    package init(_ summary: JobSummary, recipe: String, submitter: String, submittedAt: Date, cost: Int) {
        self.init(
            summary: summary,
            recipe: recipe,
            batchName: nil,
            submitter: submitter,
            submittedAt: submittedAt,
            runAt: nil,
            cost: cost,
            needs: [],
            labels: [:],
            batchLabels: [:],
            waitingFor: nil,
            attempts: [],
            amendments: []
        )
    }
}

extension AttemptRecord {
    package init(epoch: Int32, startedAt: Date, worker: Int64, facts: AttemptFacts) {
        self.init(
            epoch: epoch,
            outcome: nil,
            startedAt: startedAt,
            endedAt: nil,
            worker: worker,
            workerName: nil,
            host: nil,
            build: nil,
            libraries: nil,
            failure: nil,
            lastWords: nil,
            facts: facts
        )
    }
}

extension FailureGroup {
    package init(
        code: String,
        kind: Failure.Kind,
        stage: String,
        jobs: Int,
        attempts: Int?,
        lastAt: Date,
        example: Int64,
        exampleSource: String?
    ) {
        (self.code, self.kind, self.stage) = (code, kind, stage)
        (self.jobs, self.attempts, self.lastAt) = (jobs, attempts, lastAt)
        (self.example, self.exampleSource) = (example, exampleSource)
    }
}

extension QueueSummary {
    package init(name: String, isPaused: Bool, runningLimit: Int?, weight: Int, jobs: JobCounts) {
        (self.name, self.isPaused, self.runningLimit) = (name, isPaused, runningLimit)
        (self.weight, self.jobs) = (weight, jobs)
    }
}

extension UnableLane {
    package init(queue: String, priority: Int, needs: [String], missing: [String], example: Int64) {
        (self.queue, self.priority, self.needs) = (queue, priority, needs)
        (self.missing, self.example) = (missing, example)
    }
}

extension WorkerSummary {
    package init(
        worker: Int64,
        name: String,
        host: String,
        build: String,
        slots: Int,
        abilities: [String],
        wish: WorkerWish,
        status: WorkerStatus,
        startedAt: Date,
        beatAt: Date,
        leaseUntil: Date,
        holds: Int
    ) {
        (self.worker, self.name, self.host, self.build) = (worker, name, host, build)
        (self.slots, self.abilities, self.wish, self.status) = (slots, abilities, wish, status)
        (self.startedAt, self.beatAt, self.leaseUntil, self.holds) = (startedAt, beatAt, leaseUntil, holds)
        (libraries, endedAt, ending) = (nil, nil, nil)
    }
}

extension LedgerStatus {
    package init(
        jobs: JobCounts,
        workers: Int,
        quietWorkers: Int,
        slots: Int,
        completedLately: Int,
        audioLately: Duration,
        time: Date
    ) {
        (self.jobs, self.workers, self.quietWorkers, self.slots) = (jobs, workers, quietWorkers, slots)
        (self.completedLately, self.audioLately, self.time) = (completedLately, audioLately, time)
        (oldestWaiting, paceSpan, keptHouseAt, quietUntil) = (nil, nil, nil, nil)
    }
}

extension MinuteThroughput {
    package init(
        in queue: String,
        at minute: Date,
        completed: Int,
        failed: Int,
        cancelled: Int,
        audio: Duration,
        began: Date
    ) {
        (self.minute, self.queue, self.completed) = (minute, queue, completed)
        (self.failed, self.cancelled, self.audio, self.began) = (failed, cancelled, audio, began)
    }
}

extension ChoreRecord {
    package init(name: String, error: String?) {
        self.name = name
        self.error = error
        (dueAt, startedAt, finishedAt, pages, affected) = (nil, nil, nil, 0, 0)
        (took, remaining, failedAt) = (nil, nil, nil)
    }
}
