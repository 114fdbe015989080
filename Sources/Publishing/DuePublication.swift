public import Conversion
public import Ledger
public import Storage

/// An order from the ledger: a job in `publishing`, and what is left to do for it.
public struct DuePublication: Sendable, Hashable {
    public var fence: Fence
    /// The file to publish for each of the job's outputs; `nil` for one that is left alone, because its destination
    /// exists and must stay. Empty for a scan, which has no outputs.
    public var orders: [PublishOrder?]

    public init(_ fence: Fence, orders: [PublishOrder?]) {
        self.fence = fence
        self.orders = orders
    }

    /// The names of the roots that the files lie in.
    var roots: Set<String> { Set(orders.compactMap { $0?.location.root }) }

    /// From a row of the ledger. Throws if the row holds no valid location or digest, or not one for each output.
    public init(_ row: UnfinishedPublication) throws(StorageError) {
        let files = row.recipe.scan == nil ? [SkippedOutput.isMeant(by: row) ? nil : row.file] + row.further : []
        guard files.count == row.recipe.outputs.count else {
            throw Self.unusable(row, "the ledger's row has \(Plural.count(files.count, "output"))")
        }
        fence = row.fence
        orders = []
        for (file, output) in zip(files, row.recipe.outputs) {
            guard let file else {
                orders.append(nil)
                continue
            }
            guard let fingerprint = Fingerprint(hexDigest: file.digest, byteCount: file.bytes) else {
                throw Self.unusable(row, "\"\(file.digest)\" is not a SHA-256")
            }
            orders.append(
                PublishOrder(
                    of: AttemptName(row.fence),
                    to: try Location(output.location),
                    with: fingerprint,
                    onConflict: output.onConflict
                )
            )
        }
    }

    private static func unusable(_ row: UnfinishedPublication, _ detail: String) -> StorageError {
        StorageError(.attemptConflict, at: .publish, "carry out the order for job \(row.fence.job)", detail)
    }
}

/// How the ledger records that a job's first output is left alone, because its destination exists and must stay.
///
/// Only this type knows the encoding: an empty digest and an empty name.
public enum SkippedOutput {
    /// A publication without a file, or only with further ones.
    public static func publication(
        _ fence: Fence,
        further: [PublishedFile?] = [],
        facts: AttemptFacts = AttemptFacts()
    ) -> Publication {
        Publication(fence, attemptName: "", digest: "", bytes: 0, further: further, facts: facts)
    }

    static func isMeant(by row: UnfinishedPublication) -> Bool { row.file.digest.isEmpty && row.attemptName.isEmpty }
}

/// How the ledger records a scan, which has no file: with the digest of the sound, and no name.
public enum ScanPublication {
    public static func publication(_ fence: Fence, of sound: SoundDigest, facts: AttemptFacts) -> Publication {
        Publication(fence, attemptName: "", digest: sound.sha256, bytes: 0, facts: facts)
    }
}

extension AttemptName {
    /// The attempt's name, from its fence.
    public init(_ fence: Fence) {
        self.init(job: fence.job, epoch: Int64(fence.epoch), lease: fence.leaseNumber)
    }
}
