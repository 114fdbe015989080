public import Conversion
public import Ledger
public import Storage

/// An order from the ledger: a job in `publishing`, and what is left to do for it.
public struct DuePublication: Sendable, Hashable {
    public var fence: Fence
    /// The file to publish; `nil` for a skipped job, which has no file.
    public var order: PublishOrder?

    public init(_ fence: Fence, order: PublishOrder?) {
        self.fence = fence
        self.order = order
    }

    /// From a row of the ledger. Throws if the row holds no valid location or digest.
    public init(_ row: UnfinishedPublication) throws(StorageError) {
        fence = row.fence
        if SkippedOutput.isMeant(by: row) {
            order = nil
            return
        }
        guard let output = row.recipe.outputs.first, let fingerprint = Fingerprint(row.digest, byteCount: row.bytes)
        else {
            let detail = "the ledger's row has no output, or \"\(row.digest)\" is not a SHA-256"
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

/// How the ledger records a job that was completed without work, because its destination existed and must stay.
///
/// Only this type knows the encoding: an empty digest and an empty name.
public enum SkippedOutput {
    /// A publication without a file.
    public static func publication(_ fence: Fence, facts: AttemptFacts = AttemptFacts()) -> Publication {
        Publication(fence, attemptName: "", digest: "", bytes: 0, facts: facts)
    }

    static func isMeant(by row: UnfinishedPublication) -> Bool { row.digest.isEmpty && row.attemptName.isEmpty }
}

extension AttemptName {
    /// The attempt's name, from its fence.
    public init(_ fence: Fence) {
        self.init(job: fence.job, epoch: Int64(fence.epoch), lease: fence.leaseNumber)
    }
}

extension Fingerprint {
    /// From the ledger's columns; `nil` if `digest` is not a SHA-256 in hexadecimal.
    init?(_ digest: String, byteCount: Int64) {
        let digits = digest.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard digits.count == 64, digest.utf8.count == 64 else { return nil }
        let bytes = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        self.init(byteCount: byteCount, sha256: bytes)
    }
}
