import Conversion
import HTTPServer
import Ledger

/// Filters of lists of jobs that have names.
enum FilterOperations {
    private static let name = Operation.Parameter("filter", .text(1...60), "the filter's name")

    static let all: [Operation] = [
        Operation(
            name: "listFilters",
            method: .get,
            path: "/api/v1/filters",
            summary: "filters of lists of jobs that were saved under a name, shared by all who see the same jobs",
            access: .readers,
            answer: Shapes.all("filters", Shapes.savedFilter)
        ) { call in
            return try .json(RecordPage(try await call.ledger.filters()))
        },
        Operation(
            name: "saveFilter",
            method: .put,
            path: "/api/v1/filters/{filter}",
            summary: "save a filter under a name, in the place of an earlier one of this name",
            access: .stewards,
            parameters: [name],
            body: .json(
                .object([.must("query", .text(1...4_000), "as the query of an address: state=failed&code=truncated")])
            ),
            answer: Shapes.savedFilter
        ) { call in
            let name = call.text("filter") ?? ""
            try await call.ledger.saveFilter(name, call.body?.members?["query"]?.text ?? "")
            return try .json(JSONRecord(try await find(call)))
        },
        Operation(
            name: "removeFilter",
            method: .delete,
            path: "/api/v1/filters/{filter}",
            summary: "remove a saved filter; the answer is what it was",
            access: .stewards,
            parameters: [name],
            answer: Shapes.savedFilter
        ) { call in
            let filter = try await find(call)
            guard try await call.ledger.removeFilter(filter.name) else { throw missing(call) }
            return try .json(JSONRecord(filter))
        },
    ]

    private static func find(_ call: Call) async throws -> SavedFilter {
        guard let filter = try await call.ledger.filters().first(where: { $0.name == call.text("filter") }) else {
            throw missing(call)
        }
        return filter
    }

    private static func missing(_ call: Call) -> Problem {
        Problem(.noSuchThing, "there is no saved filter \"\((call.text("filter") ?? "").plain)\"")
    }
}
