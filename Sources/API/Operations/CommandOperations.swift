import Conversion
import FoundationEssentials
import Ledger

/// What the commands ask for when they work over the API, and other programs rarely need.
enum CommandOperations {
    static let all: [Operation] = [
        Operation(
            name: "getTime",
            method: .get,
            path: "/api/v1/time",
            summary: "the ledger's time, by which everything in it is dated",
            access: .readers,
            answer: Shapes.time
        ) { call in try .json(JSONRecord(TimeRecord(try await call.ledger.time()))) },
        Operation(
            name: "countJobs",
            method: .get,
            path: "/api/v1/counts",
            summary: "how many jobs match",
            access: .readers,
            parameters: JobSelection.parameters,
            answer: Shapes.count
        ) { call in
            let count = try await call.ledger.count(matching: JobSelection.filter(call.parameters))
            return try .json(JSONRecord(CountRecord(count)))
        },
        Operation(
            name: "listUnableJobs",
            method: .get,
            path: "/api/v1/unable",
            summary: "groups of waiting jobs that no running worker can do",
            access: .readers,
            answer: Shapes.all("unable", Shapes.unable)
        ) { call in
            return try .json(RecordPage(try await call.ledger.unableLanes()))
        },
        Operation(
            name: "getTenant",
            method: .get,
            path: "/api/v1/tenant",
            summary: "the tenant of the caller's token: its limits, and what its conversions have used in 24 hours",
            access: .readers,
            answer: Shapes.tenant
        ) { call in
            guard let tenant = try await call.ledger.ownTenant() else {
                throw Problem(.noSuchThing, "this token has no tenant")
            }
            return try .json(JSONRecord(tenant))
        },
        Operation(
            name: "listHolds",
            method: .get,
            path: "/api/v1/holds",
            summary: "tenants whose waiting jobs are not claimed now, because they have used up what they may use in "
                + "24 hours; a tenant sees only itself",
            access: .readers,
            answer: Shapes.all("holds", Shapes.hold)
        ) { call in
            return try .json(RecordPage(try await call.ledger.holds()))
        },
        Operation(
            name: "listChores",
            method: .get,
            path: "/api/v1/chores",
            summary: "the maintenance tasks, and why one failed",
            access: .readers,
            answer: Shapes.all("chores", Shapes.chore),
            isForTenants: false
        ) { call in
            return try .json(RecordPage(try await call.ledger.chores()))
        },
        Operation(
            name: "listThroughput",
            method: .get,
            path: "/api/v1/throughput",
            summary: "what ended in each minute in each queue; the ledger keeps two days",
            access: .readers,
            parameters: [Operation.Parameter("since", .moment, "minutes since then; without it, of the last hour")],
            answer: Shapes.all("throughput", Shapes.throughput),
            isForTenants: false
        ) { call in
            let since = call.text("since").flatMap(Moments.date)
            let from = if let since { since } else { try await call.ledger.time().addingTimeInterval(-3_600) }
            return try .json(RecordPage(try await call.ledger.paces(since: from)))
        },
        Operation(
            name: "findEarlierJobs",
            method: .post,
            path: "/api/v1/earlier",
            summary: "the latest job of each destination, in their order; null where there is none",
            access: .submitters,
            body: .json(
                .object([
                    .must("destinations", .list(.text(1...4_096)), "root, colon and path of each; 20,000 at most"),
                    .may("digests", .truth, "also the digests of the outputs"),
                ])
            ),
            bodyLimit: 8 << 20,
            answer: Shapes.all("earlier", .orNothing(Shapes.earlier))
        ) { call in
            let members = call.body?.members ?? [:]
            // Not in the shape, because a longer list may also be longer than a body may be.
            guard members["destinations"]?.items?.count ?? 0 <= 20_000 else {
                throw Problem(.badBody, mistakes: [.init(pointer: "/destinations", detail: "may have 20000 items")])
            }
            let found = try await call.ledger.earlierJobs(
                at: members["destinations"]?.items?.compactMap(\.text) ?? [],
                withDigests: members["digests"]?.truth ?? false
            )
            return try .json(EarlierJobs(found))
        },
        Operation(
            name: "findMakers",
            method: .post,
            path: "/api/v1/makers",
            summary: "for each output, the jobs that made the file at its destination or may still make it",
            access: .readers,
            body: .json(
                .object([
                    .must(
                        "outputs",
                        .list(
                            .object([
                                .must("destination", .text(1...4_096), "root, colon and path"),
                                .must("first", .text(1...4_096), "the destination of its job's first output"),
                            ]),
                            most: 1_000
                        ),
                        "as outputs are listed"
                    )
                ])
            ),
            bodyLimit: 8 << 20,
            answer: Shapes.all("makers", .list(Shapes.maker))
        ) { call in
            let outputs = (call.body?.members?["outputs"]?.items ?? []).map { item in
                var output = RecordedOutput.blank
                output.destination = item.members?["destination"]?.text ?? ""
                output.first = item.members?["first"]?.text ?? ""
                return output
            }
            return try .json(OutputMakers(try await call.ledger.makers(of: outputs)))
        },
        Operation(
            name: "findEarlierScans",
            method: .post,
            path: "/api/v1/scans",
            summary: "what is known of the scans of each source, in their order; null where there was none",
            access: .submitters,
            body: .json(
                .object([.must("sources", .list(.text(1...4_096)), "root, colon and path of each; 20,000 at most")])
            ),
            bodyLimit: 8 << 20,
            answer: Shapes.all("scans", .orNothing(Shapes.earlierScan))
        ) { call in
            let sources = call.body?.members?["sources"]?.items?.compactMap(\.text) ?? []
            // Not in the shape, because a longer list may also be longer than a body may be.
            guard sources.count <= 20_000 else {
                throw Problem(.badBody, mistakes: [.init(pointer: "/sources", detail: "may have 20000 items")])
            }
            return try .json(EarlierScans(try await call.ledger.earlierScans(of: sources)))
        },
    ]
}

/// Which batches a list shows instead of the newest.
enum BatchSelection {
    static let parameters = [
        Operation.Parameter("name", .text(LedgerRules.batchNameLengths), "batches of this name, six at most"),
        Operation.Parameter("key", .text(LedgerRules.keyLengths), "the batch that the caller submitted with this key"),
        Operation.Parameter("mine", .truth, "the batch that the caller submitted last"),
    ]

    /// The selected batches, newest first; `nil` if the request selects none.
    static func find(_ call: Call) async throws -> [BatchSummary]? {
        let ids: [Int64]
        if let name = call.text("name") {
            ids = try await call.ledger.batches(labelled: name)
        } else if let key = call.text("key") {
            ids = [try await call.ledger.receipt(forKey: key)?.batch].compactMap(\.self)
        } else if call.truth("mine") {
            ids = [try await call.ledger.lastBatch()].compactMap(\.self)
        } else {
            return nil
        }
        var batches: [BatchSummary] = []
        for id in ids { if let batch = try await call.ledger.batch(id) { batches.append(batch) } }
        return batches
    }
}
