import API
import Conversion
import FoundationEssentials
import Ledger

/// Reads what a view shows, for one visitor, and has it drawn.
///
/// Lists are read by their keys, and numbers are those that the ledger keeps. Views that count rows are not read again by
/// themselves if there are many.
struct PageReader: Sendable {
    private let ledger: JobLedger
    private let rights: CallerRights
    private let query: PageQuery
    /// The roots whose outputs the coordinator serves.
    var downloads: Set<String> = []
    /// The roots that take files.
    var uploads: Set<String> = []
    /// A form of the view that was not taken.
    var refused: RefusedForm?
    /// The roots in which the visitor may look for sources, with their colons.
    var listedRoots: [String] = []
    /// The root of excerpts; `nil`: the coordinator offers none.
    var excerptRoot: String?

    init(_ ledger: JobLedger, _ rights: CallerRights, _ query: PageQuery) {
        (self.ledger, self.rights, self.query) = (ledger, rights, query)
    }

    func content(of route: PageRoute) async throws -> PageContent {
        switch route {
        case .overview: return try await overview()
        case .jobs: return try await jobs()
        case .job(let text): return try await job(text)
        case .batches: return try await batches()
        case .batch(let text): return try await batch(text)
        case .failures: return try await failures()
        case .workers: return try await workers()
        case .queues: return try await queues()
        case .changes: return try await changes()
        case .preview: return try await preview()
        case .change(let text): return try await change(text)
        case .webhooks: return try await webhooks()
        case .submit: return try await submission(SubmissionDraft(query)).content
        case .tokens: return TokensView(tokens: try await ledger.tokens(), now: try await ledger.time()).content
        case .tenants: return TenantsView(tenants: try await ledger.tenants(), now: try await ledger.time()).content
        case .audit: return try await audit()
        case .output, .excerpts, .login, .logout, .live, .asset, .file, .places: throw Problem(.noSuchThing)
        }
    }

    private func overview() async throws -> PageContent {
        var facts = try await StatusFacts.look(at: ledger, tenant: rights.caller.tenant)
        // Who may ask the coordinator need not learn where the database is.
        if rights.caller.tenant == nil { facts.place = "schema \(ledger.configuration.schema.text)" }
        let now = facts.status.time
        var view = OverviewView(facts: facts, rights: rights)
        if rights.may("listQueues") { view.queues = try await ledger.queues() }
        view.running = try await running()
        if rights.may("listWorkers") { view.workers = try await ledger.workers() }
        if rights.may("listThroughput") {
            view.paces = try await ledger.paces(since: now.addingTimeInterval(-OverviewView.span))
        }
        if rights.may("listFailures") {
            // A tenant's are counted one by one, and those of an hour have just been.
            view.failures =
                try await rights.caller.tenant == nil
                ? ledger.failures(since: now.addingTimeInterval(-86_400)) : facts.failedLately
        }
        if rights.may("listBatches") { view.batches = try await batchesUnderWay(view.running, view.queues) }
        return view.content
    }

    /// The newest batches, and older ones whose jobs run or wait in paused queues: a large one lasts while many small ones come
    /// and go.
    private func batchesUnderWay(_ running: RunningJobs, _ queues: [QueueSummary]) async throws -> [BatchSummary] {
        var batches = try await ledger.batches(limit: Int32(OverviewView.newestBatches))
        var known = Set(batches.map(\.batch))
        var older = running.batches.filter { known.insert($0).inserted }.prefix(OverviewView.mostBatches)
        if queues.contains(where: { $0.isPaused && $0.jobs.waiting > 0 }) {
            let paused = try await ledger.pausedBatches().filter { known.insert($0).inserted }
            older += paused.prefix(OverviewView.mostPaused)
        }
        for number in older {
            if let batch = try await ledger.batch(number) { batches.append(batch) }
        }
        return batches
    }

    private func jobs() async throws -> PageContent {
        let now = try await ledger.time()
        let list = JobListQuery(query, now: now)
        var view = JobsView(query: list, now: now)
        view.mayChange = rights.may("beginBulkChange")
        view.maySave = rights.may("saveFilter")
        if rights.may("listFilters") { view.saved = try await ledger.filters() }
        if list.mistakes.isEmpty {
            let page = try await ledger.jobs(
                matching: list.filter,
                after: list.after,
                limit: JobsView.pageLength,
                calls: JobsView.mostCalls
            )
            (view.jobs, view.next, view.isCutShort) = (page.jobs, page.next, page.isCutShort)
        }
        return view.content
    }

    /// A job; and, after a change that had no effect on it, why it had none.
    func job(_ text: String, after change: WantedChange? = nil) async throws -> PageContent {
        guard let number = Int64(text), number > 0, let story = try await ledger.story(of: number) else {
            throw Problem(.noSuchThing, "there is no job \(text)")
        }
        let mayChange = rights.may("changeJobs", of: story.submitter)
        var view = JobView(story: story, mayChange: mayChange, now: try await ledger.time(), withoutEffect: change)
        view.downloads = downloads
        if let plan = try await plan(of: story) {
            view.excerpts = try await excerpts(plan)
            view.mayPrepare = rights.may("submitBatch")
        }
        return view.content
    }

    // MARK: - Excerpts

    /// The excerpts of a job that a form asks for, and the part of its sound that they have.
    func request(forExcerptsOf text: String) async throws -> (body: [String: JSONValue], part: Int) {
        guard let number = Int64(text), number > 0, let story = try await ledger.story(of: number) else {
            throw Problem(.noSuchThing, "there is no job \(text)")
        }
        guard let plan = try await plan(of: story) else {
            throw Problem(.notServed, "this coordinator offers no excerpts of this job")
        }
        let excerpts = try await self.excerpts(plan)
        let wanted = excerpts.wanted(downloads, again: query.text("again") != nil)
        if !wanted.isEmpty, let queue = try await ledger.queues().first(where: { $0.name == ExcerptPlan.queue }) {
            guard queue.runningLimit != nil else {
                let way = "an operator sets one: sluice queues limit \(ExcerptPlan.queue) 2"
                throw Problem(.notServed, "the queue \(ExcerptPlan.queue) has no limit of running jobs; \(way)")
            }
            guard queue.jobs.waiting + wanted.count <= ExcerptPlan.mostWaiting else {
                throw Problem(.overloaded, "\(Figures.subject(queue.jobs.waiting, "excerpt")) waiting to be made")
            }
        }
        let body: [String: JSONValue] = [
            "queue": .text(ExcerptPlan.queue), "name": .text("excerpts of job \(number)"),
            "jobs": .list(try wanted.map(plan.request)),
        ]
        return (wanted.isEmpty ? [:] : body, plan.part)
    }

    private func excerpts(_ plan: ExcerptPlan) async throws -> JobExcerpts {
        try await JobExcerpts.read(plan, from: ledger, mayFindEarlier: rights.may("findEarlierJobs"))
    }

    private func plan(of story: JobStory) async throws -> ExcerptPlan? {
        guard let root = excerptRoot else { return nil }
        // Numbers for people begin with 1, and may be any in a URL.
        let part = max(1, query.text("part").flatMap { Int($0) } ?? 1)
        guard rights.caller.tenant != nil else {
            return ExcerptPlan(story, base: "\(root):\(ExcerptFile.folder)/", part: part - 1)
        }
        guard let tenant = try await ledger.ownTenant() else { return nil }
        var base = "\(root):\(ExcerptFile.folder)/\(tenant.name)/"
        if let places = Destinations.places(of: tenant) {
            guard let place = places.first(where: { $0.hasPrefix("\(root):") }) else { return nil }
            let isFolder = place.hasSuffix(":") || place.hasSuffix("/")
            base = "\(isFolder ? place : "\(place)/")\(ExcerptFile.folder)/"
        }
        return ExcerptPlan(story, base: base, reads: tenant.limits.reads, part: part - 1)
    }

    private func batches() async throws -> PageContent {
        let before = query.text("before").flatMap { Int64($0) }
        let limit = BatchesView.pageLength
        // One more than the limit shows whether there are others.
        let found = try await ledger.batches(before: before, limit: Int32(limit + 1))
        return BatchesView(
            batches: Array(found.prefix(limit)),
            hasMore: found.count > limit,
            isFirst: before == nil,
            now: try await ledger.time()
        ).content
    }

    private func batch(_ text: String) async throws -> PageContent {
        guard let number = Int64(text), number > 0, let batch = try await ledger.batch(number) else {
            throw Problem(.noSuchThing, "there is no batch \(text)")
        }
        let isCounted = query.text("causes") != nil || !BatchView.hasManyFailures(batch)
        var groups: [FailureGroup]? = []
        if rights.may("listFailures") { groups = try await isCounted ? ledger.failures(batch: number) : nil }
        var view = BatchView(batch: batch, failures: groups, now: try await ledger.time())
        view.mayChange = rights.may("beginBulkChange", of: batch.submitter)
        return view.content
    }

    private func failures() async throws -> PageContent {
        let now = try await ledger.time()
        var view = FailuresView(now: now)
        view.since = query.text("since") ?? "1d"
        view.queue = query.text("queue")
        view.batch = query.text("batch")
        guard let since = PageMoment.past(view.since, from: now) else {
            throw Problem(.badParameter, mistakes: [.init(pointer: "since", detail: "must be a time, as in 2h or 7d")])
        }
        let batch = view.batch.flatMap { Int64($0) }
        guard view.batch == nil || batch != nil else {
            throw Problem(.badParameter, mistakes: [.init(pointer: "batch", detail: "must be the number of a batch")])
        }
        view.isOfJobs = batch != nil || rights.caller.tenant != nil
        view.groups = try await ledger.failures(since: since, queue: view.queue, batch: batch)
        view.mayChange = rights.may("beginBulkChange")
        if batch == nil, rights.may("listFailureHours") {
            (view.from, view.hours) = (since, try await ledger.failureHours(since: since, queue: view.queue))
        }
        return view.content
    }

    private func workers() async throws -> PageContent {
        let now = try await ledger.time()
        let workers = try await ledger.workers(endedSince: now.addingTimeInterval(-86_400))
        var view = WorkersView(workers: workers, running: try await running(), now: now)
        view.mayChange = rights.may("changeWorker")
        return view.content
    }

    private func running() async throws -> RunningJobs {
        RunningJobs(try await ledger.jobs(matching: JobFilter(states: [.running]), limit: RunningJobs.most).jobs)
    }

    private func queues() async throws -> PageContent {
        let queues = try await ledger.queues()
        let unable = try await rights.may("listUnableJobs") ? ledger.unableLanes() : []
        return QueuesView(
            queues: queues,
            unable: unable,
            mayChange: rights.may("changeQueue"),
            refused: refused
        ).content
    }

    private func webhooks() async throws -> PageContent {
        let before = query.text("before").flatMap { Int64($0) }
        let chosen = query.text("webhook").flatMap { Int32($0) }
        let limit = WebhooksView.pageLength
        let webhooks = try await ledger.webhooks()
        let deliveries = try await ledger.deliveries(to: chosen, before: before, limit: Int32(limit + 1))
        return WebhooksView(
            webhooks: webhooks,
            deliveries: Array(deliveries.prefix(limit)),
            chosen: chosen.map { Int64($0) },
            hasMore: deliveries.count > limit,
            isFirst: before == nil,
            isForAll: rights.caller.role == .operator,
            account: rights.caller.account,
            refused: refused,
            now: try await ledger.time()
        ).content
    }

    /// A form for jobs, with what there is to choose from.
    func submission(_ draft: SubmissionDraft) async throws -> SubmitView {
        var view = SubmitView(
            draft: draft,
            presets: try Preset.all.map { try NamedPreset($0) } + (try await ledger.presets())
        )
        view.listedRoots = listedRoots
        if rights.may("listQueues") { view.queues = try await ledger.queues() }
        if rights.may("listWorkers") {
            let abilities = try await ledger.workers().lazy.flatMap(\.abilities).filter { $0.hasPrefix("root:") }
            view.roots = Set(abilities.map { String($0.dropFirst("root:".count)) }).sorted()
        }
        let limits = try await rights.caller.tenant == nil ? nil : ledger.ownTenant()?.limits
        view.template = limits?.destination
        // Where a tenant may write and its jobs may read.
        let allowed = limits.flatMap { $0.writes ?? $0.reads } ?? uploads.sorted().map { "\($0):" }
        let bases = allowed.map { $0.hasSuffix(":") || $0.hasSuffix("/") ? "\($0)uploads/" : "\($0)/uploads/" }
        view.base = bases.first { base in
            let isRead = limits?.reads?.contains { base.hasPrefix($0) } ?? true
            return isRead && uploads.contains { base.hasPrefix("\($0):") }
        }
        return view
    }

    private func audit() async throws -> PageContent {
        let (before, who) = (query.text("before").flatMap { Int64($0) }, query.text("who"))
        let limit = AuditView.pageLength
        let records = try await ledger.audit(by: who, before: before, limit: Int32(limit + 1))
        return AuditView(
            records: Array(records.prefix(limit)),
            hasMore: records.count > limit,
            isFirst: before == nil,
            who: who,
            now: try await ledger.time()
        ).content
    }

    // MARK: - Changes of many jobs

    private func changes() async throws -> PageContent {
        let before = query.text("before").flatMap { Int64($0) }
        let limit = ChangesView.pageLength
        let found = try await ledger.bulkChanges(before: before, limit: Int32(limit + 1))
        return ChangesView(
            changes: Array(found.prefix(limit)),
            hasMore: found.count > limit,
            isFirst: before == nil,
            now: try await ledger.time()
        ).content
    }

    private func change(_ text: String) async throws -> PageContent {
        guard let number = Int64(text), number > 0, let change = try await ledger.bulkChange(number) else {
            throw Problem(.noSuchThing, "there is no bulk change \(text)")
        }
        return ChangeView(
            change: change,
            maySteer: rights.may("steerBulkChange", of: change.submitter),
            now: try await ledger.time()
        ).content
    }

    private func preview() async throws -> PageContent {
        guard let wanted = query.text("change").flatMap(WantedChange.init) else {
            throw Problem(.badParameter, mistakes: [.init(pointer: "change", detail: "must be a change of jobs")])
        }
        let status = try await ledger.status()
        let list = try PageForm.filter(query, now: status.time)
        // As the API does.
        var filter = list.filter
        if case .retry = wanted, filter.states == nil, filter.ids == nil { filter.states = [.failed] }
        var view = PreviewView(wanted: wanted, list: list)
        view.count = try await ledger.count(of: wanted.change, matching: filter)
        if wanted == .cancel { view.publishing = try await ledger.countPublishing(matching: filter) }
        if status.completedLately > 0, let span = status.paceSpan, span > .zero {
            view.filesPerSecond = Double(status.completedLately) / span.seconds
        }
        return view.content
    }
}
