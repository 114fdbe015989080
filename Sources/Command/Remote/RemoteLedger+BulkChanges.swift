import Ledger
import Records

extension JobLedger {
    func changeRecords(before: Int64?, limit: Int32) async throws -> [BulkChangeRecord] {
        try await bulkChanges(before: before, limit: limit).map(BulkChangeRecord.init)
    }

    func changeRecord(_ number: Int64) async throws -> BulkChangeRecord? {
        try await bulkChange(number).map(BulkChangeRecord.init)
    }

    func steer(change number: Int64, _ wish: BulkChange.Wish) async throws -> BulkChangeRecord? {
        try await self.wish(wish, of: number).map(BulkChangeRecord.init)
    }
}

extension RemoteLedger {
    func changeRecords(before: Int64?, limit: Int32) async throws -> [BulkChangeRecord] {
        var (changes, before): ([BulkChangeRecord], Int64?) = ([], before)
        while changes.count < Int(limit) {
            var query = [("limit", "\(min(1_000, limit - Int32(changes.count)))")]
            if let before { query.append(("before", "\(before)")) }
            let page = try await ask(
                RemotePage<BulkChangeRecord>.self,
                .init(path: "/api/v1/bulk-changes", query: query, operation: "list bulk changes")
            )
            changes += page.items.prefix(Int(limit) - changes.count)
            // The list goes down, so that no answer can keep this from ending.
            guard page.next != nil, let last = page.items.last?.number, last < before ?? .max else { break }
            before = last
        }
        return changes
    }

    func changeRecord(_ number: Int64) async throws -> BulkChangeRecord? {
        try await find(
            BulkChangeRecord.self,
            .init(path: "/api/v1/bulk-changes/\(number)", operation: "show a bulk change")
        )
    }

    func steer(change number: Int64, _ wish: BulkChange.Wish) async throws -> BulkChangeRecord? {
        // To stop or undo it twice is to do it once.
        try await find(
            BulkChangeRecord.self,
            post("/api/v1/bulk-changes/\(number)", ["wish": .text(wish.rawValue)], "stop or undo a bulk change")
        )
    }
}
