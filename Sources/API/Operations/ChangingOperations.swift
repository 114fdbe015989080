import Conversion
import HTTPServer
import Ledger

/// How the API changes jobs, queues and workers.
enum ChangingOperations {
    private static let filter = Schema.named("JobFilter", .object(JobSelection.fields))

    private static let fields: [Schema.Field] = [
        .must("change", .choice(JobChange.verbs), "what to do"),
        .must("filter", filter, "the jobs; an empty filter selects all on which the change has an effect"),
        .may("priority", .whole(by: LedgerRules.priorities), "for prioritize: the new priority"),
        .may("onDamage", .choice(DamageMode.allCases.map(\.rawValue)), "for retry: how to treat damage from now on"),
        .may(
            "concealLimit",
            .whole(by: Recipe.Limits.concealChoices),
            "for retry with onDamage conceal: seconds of silence"
        ),
        .may("undo", .truth, "for accept: accepted jobs count as failed ones again"),
    ]
    /// A change that is made at once.
    private static let change = Schema.object(
        fields + [
            .may("preview", .truth, "only count"),
            .may("limit", .whole(1...10_000), "look at this many jobs only; then \"next\" says where to continue"),
            .may("after", .text(1...4_096), "continue after the change that gave this as \"next\""),
        ]
    )
    /// A change that the ledger keeps.
    static let bulkChange = Schema.object(fields)

    static let all: [Operation] = [
        Operation(
            name: "changeJobs",
            method: .post,
            path: "/api/v1/changes",
            summary:
                "retry, cancel, prioritise or accept the jobs that a filter selects; submitters change their own only",
            access: .stewards,
            body: .json(change),
            answer: Shapes.change,
            run: changeJobs
        ),
        Operation(
            name: "changeQueue",
            method: .post,
            path: "/api/v1/queues/{queue}",
            summary: "pause, resume, limit or weight a queue",
            access: .operators,
            parameters: [Operation.Parameter("queue", .queueName, "the queue's name")],
            body: .json(
                .object([
                    .may("isPaused", .truth, "whether to hand out no jobs"),
                    .may(
                        "runningLimit",
                        .whole(0...Int64(LedgerRules.runningLimits.upperBound)),
                        "the most jobs that run at once; 0 removes the limit"
                    ),
                    .may("weight", .whole(by: LedgerRules.weights), "its share relative to other queues; 100 is usual"),
                    .may(
                        "submitter",
                        .text(LedgerRules.submitterLengths),
                        "the weight is this submitter's share within the queue"
                    ),
                ])
            ),
            answer: Shapes.queue,
            run: changeQueue
        ),
        Operation(
            name: "changeWorker",
            method: .post,
            path: "/api/v1/workers/{worker}",
            summary: "let a worker claim nothing (quiet), finish and stop (drain), or work again (run)",
            access: .operators,
            parameters: [Operation.Parameter("worker", .id, "the worker's number")],
            body: .json(.object([.must("wish", .choice(WorkerWish.allCases.map(\.rawValue)), "what it should do")])),
            answer: Shapes.worker,
            run: changeWorker
        ),
    ]

    @Sendable private static func changeJobs(_ call: Call) async throws -> HTTPAnswer {
        let (wanted, filter) = try wanted(call)
        let members = call.body?.members ?? [:]
        if members["preview"]?.truth == true {
            let count = try await call.ledger.count(of: wanted, matching: filter)
            let publishing = try await call.ledger.countPublishing(matching: filter)
            return try .json(JSONRecord(ChangeRecord(wanted, count: count, tally: nil, publishing: publishing)))
        }
        let after = try members["after"]?.text.map(JobCursor.init(urlText:))
        if let limit = members["limit"]?.whole {
            let (tally, next) = try await call.ledger.applyPart(
                of: wanted,
                to: filter,
                after: after,
                chunk: Int32(limit)
            )
            let position = next.map(\.urlText)
            return try .json(JSONRecord(ChangeRecord(wanted, count: tally.seen, tally: tally, next: position)))
        }
        guard after == nil else {
            throw Problem(.badBody, mistakes: [.init(pointer: "/after", detail: "needs a limit")])
        }
        let tally = try await call.ledger.apply(wanted, to: filter)
        return try .json(JSONRecord(ChangeRecord(wanted, count: tally.seen, tally: tally)))
    }

    /// The change that a request asks for, and the jobs.
    static func wanted(_ call: Call) throws(Problem) -> (JobChange, JobFilter) {
        let members = call.body?.members ?? [:]
        let change = try changeOf(members)
        var filter = JobSelection.filter(members["filter"]?.members ?? [:])
        if members["change"]?.text == "retry", filter.states == nil, filter.ids == nil { filter.states = [.failed] }
        return (change, filter)
    }

    private static func changeOf(_ members: [String: JSONValue]) throws(Problem) -> JobChange {
        func refuse(_ pointer: String, _ detail: String) -> Problem {
            Problem(.badBody, mistakes: [.init(pointer: pointer, detail: detail)])
        }
        let mode = members["onDamage"]?.text.flatMap(DamageMode.init(rawValue:))
        let (limit, priority) = (members["concealLimit"]?.whole, members["priority"]?.whole)
        let undo = members["undo"]?.truth
        let verb = members["change"]?.text ?? ""
        if verb != "prioritize", priority != nil { throw refuse("/priority", "belongs to prioritize") }
        if verb != "retry", mode != nil { throw refuse("/onDamage", "belongs to retry") }
        if verb != "accept", undo != nil { throw refuse("/undo", "belongs to accept") }
        if mode != .conceal, limit != nil { throw refuse("/concealLimit", "needs onDamage conceal") }
        switch verb {
        case "cancel": return .cancel
        case "accept": return .accept(undo: undo ?? false)
        case "prioritize":
            guard let priority else { throw refuse("/priority", "is missing") }
            return .prioritize(Int32(priority))
        default:
            return mode.map { .retryWithDamage($0, concealSeconds: limit.map { Int($0) }) } ?? .retry
        }
    }

    @Sendable private static func changeQueue(_ call: Call) async throws -> HTTPAnswer {
        let (name, members) = (call.text("queue") ?? "", call.body?.members ?? [:])
        func find() async throws -> QueueSummary {
            guard let queue = try await call.ledger.queues().first(where: { $0.name == name }) else {
                throw Problem(.noSuchThing, "there is no queue \(name)")
            }
            return queue
        }
        let (submitter, weight) = (members["submitter"]?.text, members["weight"]?.whole)
        if submitter != nil, weight == nil {
            throw Problem(.badBody, mistakes: [.init(pointer: "/submitter", detail: "needs a weight")])
        }
        _ = try await find()
        if let isPaused = members["isPaused"]?.truth { try await call.ledger.setPaused(isPaused, queue: name) }
        if let limit = members["runningLimit"]?.whole {
            try await call.ledger.setRunningLimit(limit == 0 ? nil : Int32(limit), queue: name)
        }
        if let weight { try await call.ledger.setWeight(Int32(weight), queue: name, submitter: submitter) }
        return try .json(JSONRecord(try await find()))
    }

    @Sendable private static func changeWorker(_ call: Call) async throws -> HTTPAnswer {
        let worker = call.whole("worker") ?? 0
        guard let wish = call.body?.members?["wish"]?.text.flatMap(WorkerWish.init(rawValue:)),
            try await call.ledger.wish(wish, of: worker),
            let found = try await call.ledger.workers().first(where: { $0.worker == worker })
        else { throw Problem(.noSuchThing, "no worker \(worker) is running") }
        return try .json(JSONRecord(WorkerRecord(found, try await call.ledger.time())))
    }
}
