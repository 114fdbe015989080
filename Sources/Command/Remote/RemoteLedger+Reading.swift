import Conversion
import FoundationEssentials
import Ledger
import Records

extension RemoteLedger {
    func time() async throws -> Date {
        try await ask(TimeRecord.self, .init(path: "/api/v1/time", operation: "read the server's time")).time
    }

    private func record() async throws -> StatusRecord {
        try await ask(StatusRecord.self, .init(path: "/api/v1/status", operation: "read the status"))
    }

    func status() async throws -> LedgerStatus { try await record().status }

    func overview() async throws -> (status: LedgerStatus, place: String) {
        let record = try await record()
        return (record.status, record.ledger)
    }

    func facts(context: String?) async throws -> StatusFacts {
        let record = try await record()
        let holds = try await ask(
            RemotePage<HoldRecord>.self,
            .init(path: "/api/v1/holds", operation: "list tenants that have used up their day")
        )
        let workers: [WorkerSummary]
        do {
            workers = try await self.workers(endedSince: nil)
        } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
            // A tenant learns how many workers there are, but not which.
            return StatusFacts(
                context: context,
                place: record.ledger,
                server: record.server,
                status: record.status,
                workers: WorkerCensus(record.status),
                unable: try await unableLanes(),
                chores: [],
                holds: holds.items.map(\.hold)
            )
        }
        let chores = try await ask(
            RemotePage<ChoreStateRecord>.self,
            .init(path: "/api/v1/chores", operation: "list chores")
        )
        return StatusFacts(
            context: context,
            place: record.ledger,
            server: record.server,
            status: record.status,
            workers: WorkerCensus(workers, at: record.time),
            unable: try await unableLanes(),
            chores: chores.items.map(\.record),
            troubles: workers.troubles(at: record.time),
            holds: holds.items.map(\.hold),
            unsent: record.unsent
        )
    }

    // MARK: - Jobs

    /// The most that a page of the API has.
    private static let pageLimit: Int32 = 1_000

    func jobs(matching filter: JobFilter, after cursor: JobCursor?, limit: Int32) async throws -> JobPage {
        if let ids = filter.ids, ids.count > RemoteFilter.idsInQuery {
            // Of more ids than an address holds, all are read at once.
            var jobs: [JobSummary] = []
            for part in RemoteFilter.parts(of: filter, by: RemoteFilter.idsInQuery) {
                jobs += try await self.jobs(matching: part, after: nil, limit: Int32(RemoteFilter.idsInQuery)).jobs
            }
            return JobPage(of: jobs, next: nil)
        }
        var (jobs, next): ([JobSummary], JobCursor?) = ([], cursor)
        repeat {
            var query = RemoteFilter.query(filter)
            query.append(("limit", "\(min(Self.pageLimit, limit - Int32(jobs.count)))"))
            if let next { query.append(("after", RemoteFilter.text(next))) }
            let page = try await ask(
                RemotePage<JobRecord>.self,
                .init(path: "/api/v1/jobs", query: query, operation: "list jobs")
            )
            // More than was asked for is none of ours.
            jobs += page.items.prefix(Int(limit) - jobs.count).map(\.job)
            next = page.items.isEmpty ? nil : try page.next.map { try cursorOf($0) }
        } while next != nil && jobs.count < Int(limit)
        return JobPage(of: jobs, next: next)
    }

    func count(matching filter: JobFilter) async throws -> Int {
        var count = 0
        for part in RemoteFilter.parts(of: filter, by: RemoteFilter.idsInQuery) {
            count += try await ask(
                CountRecord.self,
                .init(path: "/api/v1/counts", query: RemoteFilter.query(part), operation: "count jobs")
            ).jobs
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

    func story(of job: Int64) async throws -> JobStory? {
        try await find(StoryRecord.self, .init(path: "/api/v1/jobs/\(job)", operation: "show jobs"))?.story
    }

    // MARK: - Batches

    func batch(_ batch: Int64) async throws -> BatchSummary? {
        try await find(BatchRecord.self, .init(path: "/api/v1/batches/\(batch)", operation: "show a batch"))?.summary
    }

    private func list(_ query: [(name: String, value: String)], _ operation: String) async throws
        -> RemotePage<BatchRecord>
    {
        try await ask(
            RemotePage<BatchRecord>.self,
            .init(path: "/api/v1/batches", query: query, operation: operation)
        )
    }

    func batches(before batch: Int64?, limit: Int32) async throws -> [BatchSummary] {
        var (batches, before): ([BatchSummary], Int64?) = ([], batch)
        while batches.count < Int(limit) {
            var query = [("limit", "\(min(Self.pageLimit, limit - Int32(batches.count)))")]
            if let before { query.append(("before", "\(before)")) }
            let page = try await list(query, "list batches")
            batches += page.items.prefix(Int(limit) - batches.count).map(\.summary)
            // The list goes down, so that no answer can keep this from ending.
            guard page.next != nil, let last = page.items.last?.id, last < before ?? .max else { break }
            before = last
        }
        return batches
    }

    func batches(labelled label: String) async throws -> [Int64] {
        try await list([("name", label)], "find batches by label").items.map(\.id)
    }

    func lastBatch() async throws -> Int64? {
        try await list([("mine", "true")], "find the last batch").items.first?.id
    }

    func receipt(forKey key: String) async throws -> SubmissionReceipt? {
        guard let batch = try await list([("key", key)], "look up a submission").items.first else { return nil }
        return SubmissionReceipt(
            standing: batch.id,
            firstJob: batch.firstJob,
            lastJob: batch.lastJob,
            jobCount: batch.jobs.total
        )
    }

    // MARK: - The rest

    func failures(since: Date?, queue: String?, batch: Int64?) async throws -> [FailureGroup] {
        var query: [(String, String)] = []
        if let since { query.append(("since", Self.text(since))) }
        if let queue { query.append(("queue", queue)) }
        if let batch { query.append(("batch", "\(batch)")) }
        return try await ask(
            RemotePage<FailureGroupRecord>.self,
            .init(path: "/api/v1/failures", query: query, operation: "group failures")
        ).items.map(\.group)
    }

    func queues() async throws -> [QueueSummary] {
        try await ask(RemotePage<QueueRecord>.self, .init(path: "/api/v1/queues", operation: "list queues"))
            .items.map(\.summary)
    }

    func workers(endedSince: Date?) async throws -> [WorkerSummary] {
        let query = endedSince.map { [("endedSince", Self.text($0))] } ?? []
        return try await ask(
            RemotePage<WorkerRecord>.self,
            .init(path: "/api/v1/workers", query: query, operation: "list workers")
        ).items.map(\.summary)
    }

    func unableLanes() async throws -> [UnableLane] {
        try await ask(
            RemotePage<UnableRecord>.self,
            .init(path: "/api/v1/unable", operation: "list jobs that no worker can do")
        ).items.map(\.lane)
    }

    func paces(since: Date) async throws -> [MinuteThroughput] {
        try await ask(
            RemotePage<ThroughputRecord>.self,
            .init(path: "/api/v1/throughput", query: [("since", Self.text(since))], operation: "read the throughput")
        ).items.map(\.value)
    }
}
