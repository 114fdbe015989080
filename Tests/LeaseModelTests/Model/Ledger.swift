/// The ledger as its callers reach it: its tables and, if wanted, a trace of all calls.
///
/// A copy of it is the state of a replica at that moment.
struct Ledger: Sendable {
    typealias State = LedgerTables.State
    typealias Outcome = LedgerTables.Outcome

    private(set) var tables = LedgerTables()
    /// `nil` unless requested.
    private(set) var trace: LedgerTrace?

    init(isTraced: Bool = false) {
        if isTraced { trace = LedgerTrace() }
    }

    private mutating func note(_ call: LedgerTrace.Call, _ answer: LedgerTrace.Answer, at t: Milliseconds? = nil) {
        trace?.append(call, answer, at: t, after: tables)
    }

    // MARK: - What it holds

    var jobs: [LedgerTables.Job] { tables.jobs }
    var workers: [LedgerTables.Worker] { tables.workers }
    var attempts: [LedgerTables.Attempt] { tables.attempts }
    var tickAt: Milliseconds? { tables.tickAt }
    var quietUntil: Milliseconds { tables.quietUntil }
    var takenAway: [Fence] { tables.takenAway }
    var revivals: Int { tables.revivals }
    var hasLiveJobs: Bool { tables.hasLiveJobs }

    /// Returns the promise that the last function broke, if any, and clears it.
    mutating func takeBreach() -> Violation? { tables.takeBreach() }

    // MARK: - What is undone

    /// Returns to the tables before a transaction that was rolled back. The trace keeps its calls.
    mutating func rollBack(to before: Ledger) { tables = before.tables }

    /// Returns to the tables that a replica has, or that a disk has after a crash. The trace keeps the calls that are
    /// lost.
    mutating func loseCommits(since before: Ledger) {
        tables = before.tables
        guard let known = before.trace?.count, known < trace?.count ?? 0 else { return }
        note(.loseCommits(since: known), .none)
    }

    // MARK: - submit, cancel_jobs, retry_jobs

    /// Queues a request under its key.
    mutating func submit(_ request: Int, under guards: Guards) {
        let known = jobs.firstIndex { $0.request == request }
        tables.submit(request, under: guards)
        note(.submit(request), .submitted(known ?? jobs.count - 1, isNew: known == nil))
    }

    mutating func cancel(_ job: Int) {
        tables.cancel(job)
        note(.cancel(job), .none)
    }

    mutating func retry(_ job: Int, at t: Milliseconds, under guards: Guards) {
        tables.retry(job, at: t, under: guards)
        note(.retry(job), .none, at: t)
    }

    // MARK: - register_worker, claim, held, beat, stop_worker

    mutating func register(key: Int, at t: Milliseconds) -> WorkerName {
        let name = tables.register(key: key, at: t)
        note(.register(key: key), .registered(name.id), at: t)
        return name
    }

    /// Claims up to `wanted` jobs. `nil`: the worker has been ended.
    mutating func claim(
        _ worker: WorkerName,
        wanted: Int,
        number: Int,
        lease: Int,
        at t: Milliseconds,
        under guards: Guards
    ) -> [Fence]? {
        let fences = tables.claim(worker, wanted: wanted, number: number, lease: lease, at: t, under: guards)
        note(
            .claim(worker, wanted: wanted, number: number, lease: lease),
            fences.map { .fences($0) } ?? refusal(of: worker),
            at: t
        )
        return fences
    }

    /// Bars a worker's claims up to that number, so that late ones take nothing.
    mutating func barClaims(of worker: WorkerName, upTo number: Int, under guards: Guards) {
        tables.barClaims(of: worker, upTo: number, under: guards)
        note(.barClaims(worker, upTo: number), isStranger(worker) ? .stranger : .none)
    }

    /// All jobs that a worker holds.
    mutating func held(_ worker: WorkerName, under guards: Guards) -> [Fence] {
        let fences = tables.held(worker, under: guards)
        note(.held(worker), isStranger(worker) ? .stranger : .fences(fences))
        return fences
    }

    /// Renews a lease. Returns the lost fences and those to stop; `nil` if the worker has lost everything.
    mutating func beat(
        _ worker: WorkerName,
        _ fences: [Fence],
        at t: Milliseconds,
        under guards: Guards
    ) -> (lost: [Fence], cancelled: [Fence])? {
        let told = tables.beat(worker, fences, at: t, under: guards)
        note(
            .beat(worker, fences),
            told.map { .beat(lost: $0.lost.map(\.job).sorted(), cancelled: $0.cancelled.map(\.job).sorted()) }
                ?? refusal(of: worker),
            at: t
        )
        return told
    }

    /// `false`: the transaction failed and changed nothing.
    mutating func stop(_ worker: WorkerName, at t: Milliseconds, under guards: Guards) -> Bool {
        let isDone = tables.stop(worker, at: t, under: guards)
        note(.stop(worker), isStranger(worker) ? .stranger : isDone ? .none : .failed, at: t)
        return isDone
    }

    private func isStranger(_ worker: WorkerName) -> Bool {
        worker.id < workers.count && workers[worker.id].key != worker.key
    }

    private func refusal(of worker: WorkerName) -> LedgerTrace.Answer { isStranger(worker) ? .stranger : .refused }

    // MARK: - publish, finish, fail, release

    /// Moves a job from `running` to `publishing`. `nil`: the transaction failed and changed nothing.
    mutating func publish(_ order: Order, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        let answer = tables.publish(order, at: t, under: guards)
        note(.publish(order), answer.map { .said($0) } ?? .failed, at: t)
        return answer
    }

    /// Moves a job from `publishing` to `finished`.
    mutating func finish(_ fence: Fence, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        let answer = tables.finish(fence, at: t, under: guards)
        note(.finish(fence), answer.map { .said($0) } ?? .failed, at: t)
        return answer
    }

    mutating func fail(_ fence: Fence, _ reason: Reason, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        let answer = tables.fail(fence, reason, at: t, under: guards)
        note(.fail(fence, reason), answer.map { .said($0) } ?? .failed, at: t)
        return answer
    }

    mutating func release(_ fence: Fence, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        let answer = tables.release(fence, at: t, under: guards)
        note(.release(fence), answer.map { .said($0) } ?? .failed, at: t)
        return answer
    }

    // MARK: - Housekeeping

    /// One tick. Any number may happen.
    mutating func keepHouse(server: Int, at t: Milliseconds, under guards: Guards) {
        let last = tickAt
        tables.keepHouse(server: server, at: t, under: guards)
        note(.keepHouse(server: server), .ticked(tickAt != last), at: t)
    }

    /// Hands out a job that has been `publishing` for too long.
    mutating func takeUnfinished(at t: Milliseconds, under guards: Guards) -> Order? {
        let order = tables.takeUnfinished(at: t, under: guards)
        note(.takeUnfinished, .handed(order.map { LedgerTrace.Handed($0) }), at: t)
        return order
    }

    /// Whether the fence in a file's name is valid.
    mutating func stands(_ key: AttemptKey, under guards: Guards) -> Bool {
        let stands = tables.stands(key, under: guards)
        note(.stands(key), .stands(stands))
        return stands
    }
}
