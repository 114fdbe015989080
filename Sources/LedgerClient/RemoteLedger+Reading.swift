package import API
import Conversion
package import FoundationEssentials
package import Ledger

extension RemoteLedger {
    package func time() async throws -> Date {
        let request = CoordinatorConnection.Request(path: "/api/v1/time", operation: "read the server's time")
        return try await ask(JSONRecord<TimeRecord>.self, request).record.time
    }

    /// The facts without lists.
    private func summary() async throws -> StatusFacts {
        let request = CoordinatorConnection.Request(path: "/api/v1/status", operation: "read the status")
        return try await ask(JSONRecord<StatusFacts>.self, request).record
    }

    package func status() async throws -> LedgerStatus { try await summary().status }

    package func overview() async throws -> (status: LedgerStatus, place: String) {
        let facts = try await summary()
        return (facts.status, facts.place)
    }

    package func facts(context: String?) async throws -> StatusFacts {
        var facts = try await summary()
        let now = facts.status.time
        (facts.context, facts.isOfCoordinator) = (context, true)
        facts.holds = try await ask(
            RecordPage<TenantHold>.self,
            .init(path: "/api/v1/holds", operation: "list tenants that have used up their day")
        ).records
        facts.unable = try await unableLanes()
        facts.paused = try await queues().pausedWithJobs
        facts.failedLately = try await failures(since: facts.anHourAgo, queue: nil, batch: nil)
        do {
            let all = try await self.workers(endedSince: facts.anHourAgo)
            let workers = all.filter { $0.endedAt == nil }
            facts.lostLately = all.filter { $0.ending == .lost }
            facts.workerBuilds = workers.namesByBuild
            (facts.workers, facts.troubles) = (WorkerCensus(workers, at: now), workers.troubles(at: now))
        } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
            // A tenant learns how many workers there are, but not which.
            facts.workers = WorkerCensus(facts.status)
            // An older coordinator does not say so.
            facts.mayNotResumeQueues = true
            return facts
        }
        facts.chores = try await ask(
            RecordPage<ChoreRecord>.self,
            .init(path: "/api/v1/chores", operation: "list maintenance tasks")
        ).records
        return facts
    }

    // MARK: - Jobs

    package func jobs(matching filter: JobFilter, after cursor: JobCursor?, limit: Int32) async throws -> JobPage {
        if let ids = filter.ids, ids.count > RemoteFilter.idsInQuery {
            // Of more ids than an address holds, all are read at once.
            var jobs: [JobSummary] = []
            for part in RemoteFilter.parts(of: filter, by: RemoteFilter.idsInQuery) {
                jobs += try await self.jobs(matching: part, after: nil, limit: Int32(RemoteFilter.idsInQuery)).jobs
            }
            return JobPage(of: jobs, next: nil)
        }
        var (jobs, next): ([JobSummary], JobCursor?) = ([], cursor)
        var emptyPages = 0
        repeat {
            let start = next
            var query = RemoteFilter.query(filter)
            query.append(("limit", "\(min(Self.pageLimit, limit - Int32(jobs.count)))"))
            if let next { query.append(("after", RemoteFilter.text(next))) }
            let page = try await ask(
                RecordPage<JobSummary>.self,
                .init(path: "/api/v1/jobs", query: query, operation: "list jobs")
            )
            // What is more than was asked for is left out.
            jobs += page.records.prefix(Int(limit) - jobs.count)
            next = try page.next.map { try cursorOf($0) }
            emptyPages = page.records.isEmpty ? emptyPages + 1 : 0
            // A search inside sources makes pages without jobs, but each goes on.
            guard next == nil || next != start, emptyPages <= Self.mostEmptyPages else {
                throw LedgerError(
                    .coordinatorUnexpectedAnswer,
                    during: "list jobs",
                    "the list of the coordinator at \(place.url) does not end"
                )
            }
        } while next != nil && jobs.count < Int(limit)
        return JobPage(of: jobs, next: next)
    }

    package func count(matching filter: JobFilter) async throws -> Int {
        var count = 0
        for part in RemoteFilter.parts(of: filter, by: RemoteFilter.idsInQuery) {
            count += try await ask(
                JSONRecord<CountRecord>.self,
                .init(path: "/api/v1/counts", query: RemoteFilter.query(part), operation: "count jobs")
            ).record.jobs
        }
        return count
    }

    func cursorOf(_ text: String) throws -> JobCursor {
        guard text.utf8.count <= 16_384, let cursor = RemoteFilter.cursor(text) else {
            throw LedgerError(
                .coordinatorUnexpectedAnswer,
                during: "list jobs",
                "the answer of the coordinator at \(place.url) cannot be read: /next is no position"
            )
        }
        return cursor
    }

    package func story(of job: Int64) async throws -> JobStory? {
        try await find(JSONRecord<JobStory>.self, .init(path: "/api/v1/jobs/\(job)", operation: "show jobs"))?.record
    }

    /// A story may have a hundred kilobytes.
    private static let mostStories: Int32 = 100

    package func page(ofBatch batch: Int64, after job: Int64?, limit: Int32, isBrief: Bool) async throws -> BatchPage {
        var query: [(name: String, value: String)] = [("limit", "\(min(limit, Self.mostStories))")]
        if let job { query.append(("after", "\(job)")) }
        let request = CoordinatorConnection.Request(
            path: "/api/v1/batches/\(batch)/jobs",
            query: query,
            operation: "list the jobs of a batch"
        )
        guard let page = try await find(RecordPage<JobStory>.self, request) else {
            return BatchPage(jobs: [], next: nil)
        }
        let stories = Array(page.records.prefix(Int(limit)))
        // The numbers go up, so that no answer can keep this from ending.
        let next = page.next.flatMap { Int64($0) }.flatMap { $0 > job ?? 0 ? $0 : nil }
        return BatchPage(jobs: stories.map(\.summary), stories: isBrief ? [] : stories, next: next)
    }

    package func outputs(matching filter: JobFilter, after cursor: JobCursor?, limit: Int32) async throws
        -> (outputs: [RecordedOutput], next: JobCursor?)
    {
        var next = cursor
        // Jobs that left all their outputs alone make pages without any.
        for _ in 0..<Self.mostEmptyPages {
            var query = RemoteFilter.query(filter)
            query.append(("limit", "\(min(Self.pageLimit, limit))"))
            if let next { query.append(("after", RemoteFilter.text(next))) }
            let page = try await ask(
                RecordPage<RecordedOutput>.self,
                .init(path: "/api/v1/outputs", query: query, operation: "list outputs")
            )
            next = try page.next.map { try cursorOf($0) }
            if !page.records.isEmpty || next == nil { return (page.records, next) }
        }
        throw LedgerError(
            .coordinatorUnexpectedAnswer,
            during: "list outputs",
            "the list of the coordinator at \(place.url) does not end"
        )
    }

    private static let mostEmptyPages = 100_000

    package func makers(of outputs: [RecordedOutput]) async throws -> [[OutputMaker]] {
        var found: [[OutputMaker]] = []
        for start in stride(from: 0, to: outputs.count, by: Self.mostMakers) {
            let part = outputs[start..<min(start + Self.mostMakers, outputs.count)]
            let items = part.map { output in
                JSONValue.object(["destination": .text(output.destination), "first": .text(output.first)])
            }
            let request = try post("/api/v1/makers", ["outputs": .list(items)], "find the jobs of outputs")
            let answer = try await ask(OutputMakers.self, request).makers
            guard answer.count == part.count else {
                throw LedgerError(
                    .coordinatorUnexpectedAnswer,
                    during: request.operation,
                    "the coordinator at \(place.url) answered for \(answer.count) of \(part.count) outputs"
                )
            }
            found += answer.map { $0.map(\.record) }
        }
        return found
    }

    private static let mostMakers = 500

    // MARK: - Batches

    package func batch(_ batch: Int64) async throws -> BatchSummary? {
        try await find(
            JSONRecord<BatchSummary>.self,
            .init(path: "/api/v1/batches/\(batch)", operation: "show a batch")
        )?.record
    }

    private func list(_ query: [(name: String, value: String)], _ operation: String) async throws
        -> RecordPage<BatchSummary>
    {
        try await ask(
            RecordPage<BatchSummary>.self,
            .init(path: "/api/v1/batches", query: query, operation: operation)
        )
    }

    package func batches(before batch: Int64?, limit: Int32) async throws -> [BatchSummary] {
        try await newestFirst("/api/v1/batches", [], before: batch, limit: limit, \.batch, "list batches")
    }

    package func batches(labelled label: String) async throws -> [Int64] {
        try await list([("name", label)], "find batches by label").records.map(\.batch)
    }

    package func lastBatch() async throws -> Int64? {
        try await list([("mine", "true")], "find the last batch").records.first?.batch
    }

    package func receipt(forKey key: String) async throws -> SubmissionReceipt? {
        guard let batch = try await list([("key", key)], "look up a submission").records.first else { return nil }
        return SubmissionReceipt(
            standing: batch.batch,
            firstJob: batch.firstJob,
            lastJob: batch.lastJob,
            jobCount: batch.jobs.total
        )
    }

    // MARK: - The rest

    package func failures(since: Date?, queue: String?, batch: Int64?) async throws -> [FailureGroup] {
        var query: [(String, String)] = []
        if let since { query.append(("since", Self.text(since))) }
        if let queue { query.append(("queue", queue)) }
        if let batch { query.append(("batch", "\(batch)")) }
        return try await ask(
            RecordPage<FailureGroup>.self,
            .init(path: "/api/v1/failures", query: query, operation: "group failures")
        ).records
    }

    package func queues() async throws -> [QueueSummary] {
        try await ask(RecordPage<QueueSummary>.self, .init(path: "/api/v1/queues", operation: "list queues")).records
    }

    package func workers(endedSince: Date?) async throws -> [WorkerSummary] {
        let query = endedSince.map { [("endedSince", Self.text($0))] } ?? []
        return try await ask(
            RecordPage<WorkerRecord>.self,
            .init(path: "/api/v1/workers", query: query, operation: "list workers")
        ).records.map(\.worker)
    }

    package func unableLanes() async throws -> [UnableLane] {
        try await ask(
            RecordPage<UnableLane>.self,
            .init(path: "/api/v1/unable", operation: "list jobs that no worker can do")
        ).records
    }

    package func paces(since: Date) async throws -> [MinuteThroughput] {
        try await ask(
            RecordPage<MinuteThroughput>.self,
            .init(path: "/api/v1/throughput", query: [("since", Self.text(since))], operation: "read the throughput")
        ).records
    }
}
