import Conversion
import FoundationEssentials
import Ledger

/// What the API lists and shows.
enum ReadingOperations {
    private static let limit = Operation.Parameter("limit", .whole(1...1_000), "at most this many; 50 without it")
    private static let after = Operation.Parameter(
        "after",
        .text(1...4_096),
        "continue after the page that gave this as \"next\""
    )

    /// A request searches 100,000 sources at most, as the page does. The next one continues behind them.
    private static let mostCalls = 5

    static let all: [Operation] = [
        Operation(
            name: "getStatus",
            method: .get,
            path: "/api/v1/status",
            summary: "the state of the ledger, its workers and its jobs",
            access: .readers,
            answer: Shapes.status
        ) { call in
            var facts = try await StatusFacts.look(at: call.ledger, tenant: call.caller.tenant)
            // Who may ask the coordinator need not learn where the database is.
            if call.caller.tenant == nil { facts.place = "schema \(call.ledger.configuration.schema.text)" }
            return try .json(JSONRecord(facts))
        },
        Operation(
            name: "listJobs",
            method: .get,
            path: "/api/v1/jobs",
            summary: "jobs, newest first; with \"source\", by source",
            access: .readers,
            parameters: JobSelection.parameters + [limit, after],
            answer: Shapes.page("jobs", Shapes.job)
        ) { call in
            let page = try await call.ledger.jobs(
                matching: JobSelection.filter(call.parameters),
                after: try call.text("after").map(JobCursor.init(urlText:)),
                limit: Int32(call.whole("limit") ?? 50),
                calls: mostCalls
            )
            return try .json(RecordPage(page.jobs, next: page.next.map(\.urlText)))
        },
        Operation(
            name: "getJob",
            method: .get,
            path: "/api/v1/jobs/{job}",
            summary: "a job with its recipe and all its attempts",
            access: .readers,
            parameters: [Operation.Parameter("job", .id, "the job's number")],
            answer: Shapes.story
        ) { call in
            let job = call.whole("job") ?? 0
            guard let story = try await call.ledger.story(of: job) else {
                throw Problem(.noSuchThing, "there is no job \(job)")
            }
            return try .json(JSONRecord(story))
        },
        Operation(
            name: "listBatches",
            method: .get,
            path: "/api/v1/batches",
            summary: "batches with their progress, newest first",
            access: .readers,
            parameters: [
                limit, Operation.Parameter("before", .id, "batches older than this one"),
            ] + BatchSelection.parameters,
            answer: Shapes.page("batches", Shapes.batch)
        ) { call in
            if let selected = try await BatchSelection.find(call) {
                return try .json(RecordPage(selected))
            }
            let limit = Int(call.whole("limit") ?? 50)
            // One more than the limit shows whether there are others.
            let found = try await call.ledger.batches(before: call.whole("before"), limit: Int32(limit + 1))
            return try .json(RecordPage(found, limit: limit, \.batch))
        },
        Operation(
            name: "getBatch",
            method: .get,
            path: "/api/v1/batches/{batch}",
            summary: "a batch with its progress",
            access: .readers,
            parameters: [Operation.Parameter("batch", .id, "the batch's number")],
            answer: Shapes.batch
        ) { call in
            let batch = call.whole("batch") ?? 0
            guard let found = try await call.ledger.batch(batch) else {
                throw Problem(.noSuchThing, "there is no batch \(batch)")
            }
            return try .json(JSONRecord(found))
        },
        Operation(
            name: "listBatchJobs",
            method: .get,
            path: "/api/v1/batches/{batch}/jobs",
            summary: "the jobs of a batch with their recipes and attempts, in the order of their submission",
            access: .readers,
            parameters: [
                Operation.Parameter("batch", .id, "the batch's number"),
                Operation.Parameter("after", .id, "jobs after this one; without it, from the first on"),
                Operation.Parameter("limit", .whole(1...100), "at most this many; 50 without it"),
            ],
            answer: Shapes.page("jobs", Shapes.story)
        ) { call in
            let (batch, limit) = (call.whole("batch") ?? 0, Int32(call.whole("limit") ?? 50))
            let jobs = try await call.ledger.jobs(ofBatch: batch, after: call.whole("after") ?? 0, limit: limit)
            if jobs.isEmpty, try await call.ledger.batch(batch) == nil {
                throw Problem(.noSuchThing, "there is no batch \(batch)")
            }
            let next = jobs.count == Int(limit) ? jobs.last.map { "\($0)" } : nil
            let stories = jobs.isEmpty ? [] : try await call.ledger.stories(of: jobs)
            return try .json(RecordPage(stories, next: next))
        },
        Operation(
            name: "listOutputs",
            method: .get,
            path: "/api/v1/outputs",
            summary: "the outputs of completed jobs as they were published, in the order of lists of jobs",
            access: .readers,
            parameters: JobSelection.parameters + [limit, after],
            answer: Shapes.page("outputs", Shapes.output)
        ) { call in
            let page = try await call.ledger.outputs(
                matching: JobSelection.filter(call.parameters),
                after: try call.text("after").map(JobCursor.init(urlText:)),
                limit: Int32(call.whole("limit") ?? 50)
            )
            return try .json(RecordPage(page.outputs, next: page.next.map(\.urlText)))
        },
        Operation(
            name: "listFailures",
            method: .get,
            path: "/api/v1/failures",
            summary: "failures grouped by code, class and stage, the most frequent first",
            access: .readers,
            parameters: [
                Operation.Parameter("since", .moment, "failures since then, rounded down to the hour"),
                Operation.Parameter("queue", .queueName, "failures of this queue"),
                Operation.Parameter("batch", .id, "failures of this batch"),
            ],
            answer: Shapes.all("failures", Shapes.failureGroup)
        ) { call in
            let groups = try await call.ledger.failures(
                since: call.text("since").flatMap(Moments.date),
                queue: call.text("queue"),
                batch: call.whole("batch")
            )
            return try .json(RecordPage(groups))
        },
        Operation(
            name: "listFailureHours",
            method: .get,
            path: "/api/v1/failure-hours",
            summary: "how many attempts failed in each hour, by code, class and stage",
            access: .readers,
            parameters: [
                Operation.Parameter("since", .moment, "hours since then; without it, of the last day"),
                Operation.Parameter("queue", .queueName, "failures of this queue"),
            ],
            answer: Shapes.all("hours", Shapes.failureHour),
            isForTenants: false
        ) { call in
            let since = call.text("since").flatMap(Moments.date)
            let from = if let since { since } else { try await call.ledger.time().addingTimeInterval(-86_400) }
            return try .json(RecordPage(try await call.ledger.failureHours(since: from, queue: call.text("queue"))))
        },
        Operation(
            name: "listQueues",
            method: .get,
            path: "/api/v1/queues",
            summary: "queues with their settings",
            access: .readers,
            answer: Shapes.all("queues", Shapes.queue)
        ) { call in
            let queues = try await call.ledger.queues()
            return try .json(RecordPage(queues))
        },
        Operation(
            name: "listWorkers",
            method: .get,
            path: "/api/v1/workers",
            summary: "workers with their state and load",
            access: .readers,
            parameters: [Operation.Parameter("endedSince", .moment, "also workers that ended since then")],
            answer: Shapes.all("workers", Shapes.worker),
            isForTenants: false
        ) { call in
            let now = try await call.ledger.time()
            let workers = try await call.ledger.workers(endedSince: call.text("endedSince").flatMap(Moments.date))
            return try .json(RecordPage(workers.map { WorkerRecord($0, now) }))
        },
        Operation(
            name: "listFormats",
            method: .get,
            path: "/api/v1/formats",
            summary: "what can be read and written",
            access: .readers,
            answer: Shapes.all("formats", Shapes.format)
        ) { _ in try .json(RecordPage(FormatRecord.all)) },
        Operation(
            name: "listFailureCodes",
            method: .get,
            path: "/api/v1/codes",
            summary: "every failure code: meaning, usual cause, what to do",
            access: .readers,
            answer: Shapes.all("codes", Shapes.failureCode)
        ) { _ in
            let codes = FailureSection.all.flatMap(\.entries).map { FailureCodeRecord($0.code) }
            return try .json(RecordPage(codes))
        },
        Operation(
            name: "explainFailureCode",
            method: .get,
            path: "/api/v1/codes/{code}",
            summary: "a failure code: meaning, usual cause, what to do",
            access: .readers,
            parameters: [Operation.Parameter("code", .text(1...64), "the code")],
            answer: Shapes.failureCode
        ) { call in
            let text = call.text("code") ?? ""
            guard let code = FailureCode(rawValue: text) else {
                throw Problem(.noSuchThing, "there is no failure code \(text)")
            }
            return try .json(JSONRecord(FailureCodeRecord(code)))
        },
    ]
}
