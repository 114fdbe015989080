import LedgerClient

/// How many jobs one request to the ledger covers.
private let window: Int32 = 400

extension CommandLedger {
    /// Calls `body` with each page of the jobs of a batch, in the order of their submission, while the next page is read.
    func eachPage(ofBatch batch: Int64, isBrief: Bool, _ body: (BatchPage) throws -> Void) async throws {
        var current = try await page(ofBatch: batch, after: nil, limit: window, isBrief: isBrief)
        while true {
            let last = current.next
            async let following = page(ofBatch: batch, behind: last, isBrief: isBrief)
            try body(current)
            guard let next = try await following else { return }
            current = next
        }
    }

    /// The page that begins behind a job; `nil` without one.
    private func page(ofBatch batch: Int64, behind job: Int64?, isBrief: Bool) async throws -> BatchPage? {
        guard let job else { return nil }
        return try await page(ofBatch: batch, after: job, limit: window, isBrief: isBrief)
    }
}
