import Conversion
import HTTPServer
import Ledger

/// Changes that the ledger keeps: how they are begun, shown, stopped and undone.
enum BulkChangeOperations {
    private static let number = Operation.Parameter("change", .id, "the number of the bulk change")

    /// `hurry` says that there is a bulk change to go on with.
    static func all(_ hurry: @escaping @Sendable () -> Void) -> [Operation] {
        [
            Operation(
                name: "listBulkChanges",
                method: .get,
                path: "/api/v1/bulk-changes",
                summary: "bulk changes with their progress, newest first",
                access: .readers,
                parameters: [
                    Operation.Parameter("limit", .whole(1...1_000), "at most this many; 50 without it"),
                    Operation.Parameter("before", .id, "bulk changes older than this one"),
                ],
                answer: Shapes.page("changes", Shapes.bulkChange)
            ) { call in
                let limit = Int(call.whole("limit") ?? 50)
                // One more than the limit shows whether there are others.
                let found = try await call.ledger.bulkChanges(before: call.whole("before"), limit: Int32(limit + 1))
                return try .json(RecordPage(found, limit: limit, \.number))
            },
            Operation(
                name: "beginBulkChange",
                method: .post,
                path: "/api/v1/bulk-changes",
                summary:
                    "as changeJobs, but the ledger keeps the change, any coordinator goes on, and it can be undone",
                access: .stewards,
                body: .json(ChangingOperations.bulkChange),
                answer: Shapes.bulkChange,
                status: .accepted
            ) { call in
                let (change, filter) = try ChangingOperations.wanted(call)
                let begun = try await call.ledger.begin(change, on: filter)
                hurry()
                return try .json(JSONRecord(begun), .accepted)
            },
            Operation(
                name: "getBulkChange",
                method: .get,
                path: "/api/v1/bulk-changes/{change}",
                summary: "a bulk change with its progress",
                access: .readers,
                parameters: [number],
                answer: Shapes.bulkChange
            ) { call in
                let number = call.whole("change") ?? 0
                return try .json(JSONRecord(try found(try await call.ledger.bulkChange(number), number)))
            },
            Operation(
                name: "steerBulkChange",
                method: .post,
                path: "/api/v1/bulk-changes/{change}",
                summary: "stop a bulk change, or undo what it did to jobs that still wait or were accepted",
                access: .stewards,
                parameters: [number],
                body: .json(
                    .object([.must("wish", .choice(BulkChange.Wish.allCases.map(\.rawValue)), "what it should do")])
                ),
                answer: Shapes.bulkChange
            ) { call in
                let number = call.whole("change") ?? 0
                let wish = call.body?.members?["wish"]?.text.flatMap(BulkChange.Wish.init(rawValue:)) ?? .stop
                let change = try found(try await call.ledger.wish(wish, of: number), number)
                hurry()
                return try .json(JSONRecord(change))
            },
        ]
    }

    private static func found(_ change: BulkChange?, _ number: Int64) throws(Problem) -> BulkChange {
        guard let change else { throw Problem(.noSuchThing, "there is no bulk change \(number)") }
        return change
    }
}
