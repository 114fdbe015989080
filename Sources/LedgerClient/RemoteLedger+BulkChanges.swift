import Conversion
package import Ledger

extension RemoteLedger {
    package func bulkChanges(before: Int64?, limit: Int32) async throws -> [BulkChange] {
        try await newestFirst("/api/v1/bulk-changes", [], before: before, limit: limit, \.number, "list bulk changes")
    }

    package func bulkChange(_ number: Int64) async throws -> BulkChange? {
        try await find(
            JSONRecord<BulkChange>.self,
            .init(path: "/api/v1/bulk-changes/\(number)", operation: "show a bulk change")
        )?.record
    }

    package func wish(_ wish: BulkChange.Wish, of number: Int64) async throws -> BulkChange? {
        // To stop or undo it twice is to do it once.
        try await find(
            JSONRecord<BulkChange>.self,
            post("/api/v1/bulk-changes/\(number)", ["wish": .text(wish.rawValue)], "stop or undo a bulk change")
        )?.record
    }
}
