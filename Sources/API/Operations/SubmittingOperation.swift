import Conversion
import FoundationEssentials
import HTTPServer
import Ledger

/// How the API takes jobs.
enum SubmittingOperation {
    private static let settings: [Schema.Field] = [
        .may("queue", .queueName, "the queue; \"default\" without it"),
        .may("name", .text(LedgerRules.batchNameLengths), "the batch's name, for people"),
        .may("priority", .whole(by: LedgerRules.priorities), "higher goes first"),
        .may("weight", .whole(by: LedgerRules.weights), "the batch's share relative to other batches; 100 is usual"),
        .may("maxAttempts", .whole(by: LedgerRules.attempts), "attempts of each job that sets none"),
        .may("runAt", .moment, "the earliest start"),
        .may(
            "sourcesSkipped",
            .whole(0...1_000_000_000),
            "how many sources were left out because their outputs are there or have been edited; the batch keeps it"
        ),
        .may(
            "notify",
            .list(.text(1...64), most: LedgerRules.notifiedWebhooks),
            "names or numbers of webhooks that are notified when the batch ends or too many of its jobs fail"
        ),
    ]

    /// What only submissions of JSON Lines have.
    private static let lineSettings = [
        Operation.Parameter(
            "attempt",
            .text(36...36),
            "a UUID: when the same submission is sent again because its answer was lost, it adds nothing, and the "
                + "answer is as if it had been sent once (JSON Lines only)"
        ),
        Operation.Parameter(
            "request",
            .text(1...200),
            "with an Idempotency-Key: what distinguishes a repetition from another request, instead of the jobs; the body may "
                + "then be empty, which submits nothing new (JSON Lines only)"
        ),
    ]

    static let job = Schema.named(
        "JobRequest",
        .object(
            [
                Schema.Field.may(
                    "recipe",
                    .map(.anything),
                    "what to convert, as docs/recipe.md describes; or instead of it:"
                ),
                .may("source", .text(1...4_096), "the source: the name of a root, a colon and a path"),
                .may(
                    "output",
                    .text(1...4_096),
                    "the output; its extension decides the format without a preset. A tenant whose destinations have a "
                        + "template may leave it out"
                ),
                .may("preset", .text(1...64), "a named format: built in, or of the ledger"),
                .may(
                    "onConflict",
                    .choice(Recipe.ConflictPolicy.allCases.map(\.rawValue)),
                    "what to do if the output exists"
                ),
                .may("needs", .list(.text(1...200), most: 32), "further capabilities that a worker must have"),
                .may("cost", .whole(1...1_000_000_000), "an estimate in any unit that all submitters share"),
                .may("maxAttempts", .whole(by: LedgerRules.attempts), "attempts"),
                .may("runAt", .moment, "the earliest start"),
                .may("labels", .map(.text(0...1_000)), "for the submitter's own use"),
                .may(
                    "stamp",
                    .object([
                        .must("bytes", .whole(), "the length of the first source"),
                        .must("modified", .whole(Int64.min...Int64.max), "when it was changed: nanoseconds since 1970"),
                    ]),
                    "the first source as it is now, so that a later change is noticed"
                ),
            ].map(\.orNull)
        )
    )

    static let all: [Operation] = [
        Operation(
            name: "submitBatch",
            method: .post,
            path: "/api/v1/batches",
            summary: "submit jobs: as one JSON object, or as JSON Lines of any length with the settings in the query. "
                + "With an Idempotency-Key header, a repetition adds nothing",
            access: .submitters,
            parameters: parameters,
            body: body,
            bodyLimit: 8 << 20,
            answer: Shapes.receipt,
            status: .created
        ) { call in
            let receipt = try await submit(call)
            var answer = try HTTPAnswer.json(JSONRecord(receipt), receipt.isRepetition ? .ok : .created)
            answer.fields.append(("Location", "/api/v1/batches/\(receipt.batch)"))
            return answer
        },
        Operation(
            name: "previewBatch",
            method: .post,
            path: "/api/v1/previews",
            summary:
                "check a submission as submitBatch does, and add nothing; the answer is how many jobs it would add. "
                + "JSON Lines without a line check only what the caller may do, and the settings",
            access: .submitters,
            parameters: parameters,
            body: body,
            bodyLimit: 8 << 20,
            answer: Shapes.count
        ) { call in
            let receipt = try await submit(call, isPreview: true)
            return try .json(JSONRecord(CountRecord(receipt.isRepetition ? 0 : receipt.jobCount)))
        },
    ]

    private static let parameters =
        settings.map { Operation.Parameter($0.name, $0.schema, $0.meaning + " (JSON Lines only)") } + lineSettings

    private static let body = Operation.Body.jsonOrLines(
        .object(
            settings + [
                .may("labels", .map(.text(0...1_000)), "of the batch, for the submitter's own use"),
                .must("jobs", .list(job, most: 50_000), "the jobs"),
            ]
        ),
        line: job
    )

    private static func submit(_ call: Call, isPreview: Bool = false) async throws -> SubmissionReceipt {
        let key = call.head.field("idempotency-key")
        if let key, !LedgerRules.keyLengths.contains(key.utf8.count) {
            let most = LedgerRules.keyLengths.upperBound
            throw Problem(
                .badParameter,
                mistakes: [.init(pointer: "Idempotency-Key", detail: "must have 1 to \(most) bytes")]
            )
        }
        var receipt: SubmissionReceipt
        let tenant = try await call.caller.tenant == nil ? nil : call.ledger.ownTenant()
        let clamped = ClampedLimits(tenant)
        if let lines = call.stream {
            var submission = submission(call.parameters, key: key)
            submission.isPreview = isPreview
            submission.request = call.text("request")
            if let text = call.text("attempt") {
                guard let attempt = UUID(uuidString: text) else {
                    throw Problem(.badParameter, mistakes: [.init(pointer: "attempt", detail: "must be a UUID")])
                }
                submission.attempt = attempt
            }
            guard submission.request == nil || key != nil else {
                throw Problem(
                    .badParameter,
                    mistakes: [.init(pointer: "request", detail: "needs an Idempotency-Key")]
                )
            }
            let jobs = JobLines(
                body: lines,
                // A preview without jobs asks whether the caller may submit with these settings.
                mayBeEmpty: submission.request != nil || isPreview,
                rule: try DestinationRule(tenant, label: submission.label),
                limits: clamped,
                // Once, for all jobs.
                presets: try await call.ledger.presets()
            )
            do {
                receipt = try await call.ledger.submit(submission, streaming: jobs)
            } catch is BodyStream.Interrupted {
                throw Problem(.badBody, "the body ended too early; nothing was submitted")
            }
        } else {
            guard call.parameters.isEmpty else {
                throw Problem(.badParameter, "with a JSON body, the settings belong into the body")
            }
            let members = call.body?.members ?? [:]
            var submission = submission(members, key: key)
            submission.isPreview = isPreview
            submission.labels = (members["labels"]?.members ?? [:]).compactMapValues(\.text)
            let items = members["jobs"]?.items ?? []
            let presets = try await RequestMaker.needsPresets(items) ? call.ledger.presets() : []
            var maker = RequestMaker(try DestinationRule(tenant, label: submission.label), clamped, presets)
            var jobs: [JobRequest] = []
            for (place, item) in items.enumerated() {
                // Tasks share few threads: many jobs leave them to others now and then.
                if place % 64 == 63 { await Task.yield() }
                do throws(RequestMaker.Mistake) {
                    jobs.append(try maker.make(JobLine(item)))
                } catch {
                    throw Problem(
                        error.isDestination ? .badDestination : .badBody,
                        mistakes: [.init(pointer: "/jobs/\(place)\(error.pointer)", detail: error.detail)]
                    )
                }
            }
            guard !jobs.isEmpty else { throw Problem(.badBody, "there are no jobs") }
            receipt = try await call.ledger.submit(submission, jobs)
        }
        guard receipt.isSameRequest else {
            throw Problem(.keyInUse, "batch \(receipt.batch) was submitted with this key and other jobs or settings")
        }
        receipt.clamped = clamped?.names
        return receipt
    }

    private static func submission(_ values: [String: JSONValue], key: String?) -> Submission {
        var submission = Submission(
            queue: values["queue"]?.text ?? "default",
            label: values["name"]?.text,
            key: key,
            priority: Int32(values["priority"]?.whole ?? 0),
            weight: Int32(values["weight"]?.whole ?? 100),
            maxAttempts: values["maxAttempts"]?.whole.map { Int($0) },
            runAt: values["runAt"]?.text.flatMap(Moments.date)
        )
        submission.sourcesSkipped = Int(values["sourcesSkipped"]?.whole ?? 0)
        submission.notify = values["notify"]?.items?.compactMap(\.text) ?? []
        return submission
    }
}
