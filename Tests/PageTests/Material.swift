import Conversion
import Foundation
import Ledger

@testable import API
@testable import Page

/// Records with names that are hard to show, and views of them.
enum Material {
    static let now = Date(timeIntervalSince1970: 1_795_000_000)

    static let hostile: [String] = [
        "in:\"><script>alert(1)</script>.wav", "in:' onmouseover='alert(1)", "in:a&lt;b&#x3C;/b&gt;<!--",
        "in:</bdi></a></td>",
        "in:\u{202E}gpj.exe\u{2066}", "in:\u{0}\u{1B}[2J\n", "javascript:alert(1)", "in:{{7*7}}${7*7}\\(7)",
        "in:" + String(repeating: "x", count: 10_000), "in:" + String(repeating: "e\u{301}\u{302}", count: 10_000),
        "podcasts:2026/live/פרק 12 – הנמל 🎙️ (הקלטה חיה).mka", "", "/", ":",
    ]

    /// A name as long as codes, queues, tokens and workers may have it. Locations, messages and labels may be longer.
    private static func short(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.prefix(60)))
    }

    static func rights(_ role: AccessRole, tenant: String? = nil, name: String = "nina") throws -> CallerRights {
        CallerRights(Caller(name: name, role: role, tenant: tenant), among: try APIServer.operations(version: "1"))
    }

    static func frame(_ role: AccessRole = .operator, tenant: String? = nil, name: String = "nina") throws -> PageFrame
    {
        PageFrame(
            name: short(name),
            version: "1",
            rights: try rights(role, tenant: tenant, name: short(name)),
            hasSession: true
        )
    }

    static func job(_ number: Int64, _ name: String, _ state: JobState = .failed) -> JobSummary {
        var job = JobSummary.blank
        (job.job, job.batch, job.state, job.source) = (number, 17, state, name)
        (job.queue, job.worker, job.code, job.stage) = (short(name), short(name), short(name), short(name))
        (job.since, job.slot, job.attempts, job.maxAttempts) = (now, 3, 2, 3)
        (job.retriedBy, job.acceptedBy, job.frames, job.totalFrames) = (short(name), short(name), 20, 100)
        job.hasRemarks = true
        return job
    }

    static func group(_ name: String) -> FailureGroup {
        var group = FailureGroup.blank
        (group.code, group.stage, group.exampleSource, group.hint) = (short(name), short(name), name, name)
        (group.jobs, group.accepted, group.attempts, group.lastAt) = (3, 1, 5, now)
        return group
    }

    static func batch(_ name: String) -> BatchSummary {
        var batch = BatchSummary.blank
        (batch.batch, batch.name, batch.queue, batch.submitter) = (17, name, short(name), short(name))
        (batch.jobs.waiting, batch.jobs.failed, batch.jobsWithRemarks, batch.createdAt) = (5, 2, 1, now)
        batch.jobs.completed = 4
        return batch
    }

    static func change(_ name: String, _ phase: BulkChange.Phase = .running) -> BulkChange {
        var change = BulkChange.blank
        (change.number, change.change, change.phase) = (29, .retryWithDamage(.conceal, concealSeconds: 60), phase)
        (change.expected, change.tally.seen, change.tally.changed, change.undone) = (412, 200, 190, 3)
        (change.error, change.submitter, change.token, change.createdAt) = (name, short(name), short(name), now)
        return change
    }

    static func webhooks(_ name: String) -> WebhooksView {
        var webhook = Webhook.blank
        (webhook.id, webhook.name, webhook.url, webhook.submitter) = (5, short(name), name, name)
        (webhook.events, webhook.dead, webhook.failures) = (Webhook.Event.allCases, 3, 4)
        var delivery = WebhookDelivery.blank
        (delivery.id, delivery.webhook, delivery.event, delivery.error) = (9, 5, name, name)
        (delivery.status, delivery.attempts, delivery.createdAt) = (500, 2, now)
        return WebhooksView(
            webhooks: [webhook],
            deliveries: [delivery],
            chosen: 5,
            hasMore: true,
            isFirst: true,
            isForAll: true,
            now: now
        )
    }

    static func submission(_ name: String, isWrong: Bool) throws -> SubmitView {
        let draft = SubmissionDraft(
            PageQuery([
                (name: "sources", value: "in:a.wav\r\n\(name)\n"), (name: "destination", value: name),
                (name: "queue", value: short(name)), (name: "name", value: name), (name: "preset", value: short(name)),
            ])
        )
        var view = SubmitView(draft: draft, presets: try Preset.all.map { try NamedPreset($0) })
        (view.queues, view.base, view.roots) = ([queue(name)], "in:\(name)/", [short(name), "out"])
        view.listedRoots = [short(name) + ":"]
        if isWrong {
            view.problem = Problem(.badBody, name, mistakes: [.init(pointer: name, detail: name)])
        } else {
            let made = draft.sources.map { _ in name }
            view.plan = SubmitView.Plan(jobs: draft.sources.count, destinations: made, key: "k")
        }
        return view
    }

    private static func ofOperators(_ name: String) -> [PageContent] {
        var token = TokenRecord.blank
        (token.name, token.tenant, token.queue, token.createdBy) = (short(name), short(name), short(name), short(name))
        (token.createdAt, token.usedAt, token.expiresAt) = (now, now, now)
        var tenant = Tenant.blank
        (tenant.name, tenant.limits.reads, tenant.limits.writes) = (short(name), [name], [])
        (tenant.limits.cpuMinutes, tenant.usedCPU, tenant.limits.outputBytes) = (600, .seconds(720), 1_000)
        tenant.hold = TenantHold(tenant: short(name), allowance: .cpuMinutes, until: now)
        var record = AuditRecord.blank
        let who = short(name)
        (record.at, record.who, record.tenant, record.what, record.details) = (now, who, short(name), name, name)
        return [
            TokensView(tokens: [token], now: now).content, TenantsView(tenants: [tenant], now: now).content,
            AuditView(records: [record], hasMore: true, isFirst: true, who: who, now: now).content,
            AuditView(records: [], hasMore: false, isFirst: false, now: now).content,
        ]
    }

    static func queue(_ name: String) -> QueueSummary {
        var queue = QueueSummary.blank
        (queue.name, queue.isPaused, queue.jobs.waiting, queue.jobs.failed) = (short(name), true, 7, 1)
        return queue
    }

    static func worker(_ name: String) -> WorkerSummary {
        var worker = WorkerSummary.blank
        (worker.worker, worker.name, worker.host, worker.build, worker.libraries) = (5, name, name, name, name)
        (worker.slots, worker.abilities, worker.beatAt) = (8, ["root:\(short(name))", "codec:mp3"], now)
        worker.leaseUntil = now.addingTimeInterval(30)
        worker.status = WorkerStatus(
            busySlots: 3,
            pausedBecause: short(name),
            pausedRoots: [short(name)],
            sandbox: "partly without \(name)",
            paces: [JobSpeed(job: 12, speed: 200, remaining: 4)],
            fullFileSystems: [FullFileSystem(mountPoint: short(name), freeBytes: 0, seconds: 9)]
        )
        return worker
    }

    static func story(_ name: String) -> JobStory {
        var story = JobStory.blank
        story.summary = job(12, name)
        (story.recipe, story.batchName, story.submitter, story.submittedAt) = ("{\"a\": 1}", name, short(name), now)
        (story.needs, story.labels) = (["root:\(name)"], [name: name])
        (story.waitingFor, story.missing) = (.unable, [short(name)])
        var attempt = AttemptRecord.blank
        (attempt.epoch, attempt.outcome, attempt.startedAt, attempt.endedAt) = (1, .failed, now, now)
        (attempt.workerName, attempt.libraries, attempt.lastWords) = (short(name), name, name)
        attempt.failure = Failure(
            code: short(name),
            kind: .permanent,
            stage: short(name),
            message: name,
            stream: 0,
            position: MediaTime(value: 323, timescale: 100),
            frame: 155_040,
            libavName: short(name),
            hint: name
        )
        attempt.facts.scan = ScanReport(
            frames: 1_000,
            damage: DamageReport(
                frames: 10,
                stretchCount: 1,
                stretches: [.init(start: 500, frames: 10, code: short(name))]
            )
        )
        story.attempts = [attempt]
        return story
    }

    static func overview(_ name: String, _ role: AccessRole = .operator, tenant: String? = nil) throws -> OverviewView {
        var status = LedgerStatus.blank
        (status.time, status.keptHouseAt, status.oldestWaiting) = (now, now, now)
        (status.jobs.waiting, status.jobs.running, status.completedLately) = (700, 3, 100)
        (status.audioLately, status.paceSpan) = (.seconds(90_000), .seconds(3_600))
        var facts = StatusFacts(
            place: short(name),
            status: status,
            workers: WorkerCensus([worker(name)], at: now),
            unable: [],
            chores: [],
            troubles: [worker(name)].troubles(at: now)
        )
        facts.failedLately = [group(name)]
        var view = OverviewView(facts: facts, rights: try rights(role, tenant: tenant))
        (view.queues, view.failures, view.batches) = ([queue(name)], [group(name)], [batch(name)])
        if view.rights.may("listWorkers") { view.workers = [worker(name)] }
        if view.rights.may("listThroughput") {
            var minute = MinuteThroughput.blank
            (minute.minute, minute.queue, minute.completed) = (now.addingTimeInterval(-600), short(name), 30)
            minute.audio = .seconds(90_000)
            view.paces = [minute]
        }
        return view
    }

    /// Every view of records with this name, for a person who may change what it shows or not.
    static func contents(_ name: String, mayChange: Bool = true) throws -> [PageContent] {
        let query = JobListQuery(
            PageQuery([
                (name: "source-contains", value: short(name)), (name: "queue", value: short(name)),
                (name: "state", value: short(name)), (name: "since", value: short(name)),
            ]),
            now: now
        )
        let states = JobState.allCases.enumerated().map { place, state in job(Int64(place), name, state) }
        let plain = JobListQuery(PageQuery([(name: "queue", value: short(name))]), now: now)
        var failures = FailuresView(now: now)
        (failures.groups, failures.queue, failures.since) = ([group(name)], short(name), short(name))
        failures.mayChange = mayChange
        var list = JobsView(query: plain, now: now, jobs: states, next: JobCursor(text: short(name)))
        var filter = SavedFilter.blank
        (filter.name, filter.query) = (short(name), "queue=q")
        (list.mayChange, list.maySave, list.saved) = (mayChange, mayChange, [filter])
        var workers = WorkersView(workers: [worker(name)], running: RunningJobs([job(9, name, .running)]), now: now)
        workers.mayChange = mayChange
        let views: [PageContent] = [
            try overview(name, mayChange ? .operator : .viewer).content, JobsView(query: query, now: now).content,
            list.content, JobsView(query: plain, now: now).content,
            JobView(story: story(name), mayChange: mayChange, now: now).content, failures.content,
            BatchesView(batches: [batch(name)], hasMore: true, isFirst: false, now: now).content,
            BatchView(batch: batch(name), failures: [group(name)], now: now, mayChange: mayChange).content,
            workers.content, QueuesView(queues: [queue(name)], unable: [], mayChange: mayChange).content,
            ChangesView(changes: [change(name)], hasMore: true, isFirst: false, now: now).content,
            ChangeView(change: change(name), maySteer: mayChange, now: now).content,
        ]
        // Who may change nothing does not see webhooks.
        return try views + previews(of: plain)
            + (mayChange ? [webhooks(name).content, submission(name, isWrong: false).content] + ofOperators(name) : [])
    }

    /// A preview of each change, of jobs and of none.
    private static func previews(of list: JobListQuery) -> [PageContent] {
        let changes: [WantedChange] = [
            .retry(nil), .retry(.conceal), .cancel, .prioritize, .accept(undo: false), .accept(undo: true),
        ]
        return changes.flatMap { change in
            [0, 412].map {
                PreviewView(wanted: change, list: list, count: $0, publishing: 2, filesPerSecond: 3).content
            }
        }
    }

    /// The pages that tell what does not work, and the way in.
    static func others(_ name: String) throws -> [PageContent] {
        let draft = SubmissionDraft(PageQuery([("sources", name), ("destination", name), ("name", name)]))
        return [
            try submission(name, isWrong: true).content,
            LoginView(said: short(name), next: short(name), draft: draft).content,
            ProblemView(problem: Problem(.noSuchThing, name)).content,
            CreatedWebhookView(number: 5, secret: short(name)).content,
        ]
    }
}
