public import Conversion
public import Ledger
public import Storage

/// What the ledger has ordered: a job in `publishing`, and what is still to be done for it.
public struct DuePublication: Sendable, Hashable {
    public var fence: Fence
    /// What is to get its name; `nil` for a job that was skipped, which has no file.
    public var order: PublishOrder?

    public init(_ fence: Fence, order: PublishOrder?) {
        self.fence = fence
        self.order = order
    }

    /// Out of the ledger's row. Throws if no location or digest stands there.
    public init(_ row: UnfinishedPublication) throws(StorageError) {
        fence = row.fence
        if SkippedOutput.isMeant(by: row) {
            order = nil
            return
        }
        guard let output = row.recipe.outputs.first, let fingerprint = Fingerprint(row.digest, byteCount: row.bytes)
        else {
            let detail = "the ledger's row names no output, or \"\(row.digest)\" is no SHA-256"
            throw StorageError(.attemptConflict, at: .publish, "carry out the order for job \(row.fence.job)", detail)
        }
        order = PublishOrder(
            of: AttemptName(row.fence),
            to: try Location(output.location),
            with: fingerprint,
            onConflict: output.onConflict
        )
    }
}

/// How the ledger is told that a job was completed without work: its destination existed, and is to be left alone.
///
/// The only place that knows.
public enum SkippedOutput {
    /// A publication without a file.
    public static func publication(_ fence: Fence, facts: AttemptFacts = AttemptFacts()) -> Publication {
        Publication(fence, attemptName: "", digest: "", bytes: 0, facts: facts)
    }

    static func isMeant(by row: UnfinishedPublication) -> Bool { row.digest.isEmpty && row.attemptName.isEmpty }
}

extension AttemptName {
    /// The name that goes with a fence.
    public init(_ fence: Fence) {
        self.init(job: fence.job, epoch: Int64(fence.epoch), lease: fence.leaseNumber)
    }
}

extension Fingerprint {
    /// Out of the ledger's columns; `nil` if `digest` is no SHA-256 in hexadecimal.
    init?(_ digest: String, byteCount: Int64) {
        let digits = digest.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard digits.count == 64, digest.utf8.count == 64 else { return nil }
        let bytes = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        self.init(byteCount: byteCount, sha256: bytes)
    }
}
