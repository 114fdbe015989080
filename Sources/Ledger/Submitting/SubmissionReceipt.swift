/// Confirms that jobs are in the ledger, with their numbers.
public struct SubmissionReceipt: Sendable, Hashable {
    public var batch: Int64
    /// The batch's job numbers lie in this range, in the order of submission. Numbers of other batches may lie
    /// there too.
    public var firstJob: Int64
    public var lastJob: Int64
    public var jobCount: Int
    /// Whether the key was already in use, so that nothing was added.
    public var isRepetition: Bool
    /// Whether a repetition asked for the same jobs. Always true for a first submission.
    public var isSameRequest: Bool
    /// The names of limits that recipes of this request ask for and the tenant does not have, so that its own hold
    /// instead. Only a coordinator says this.
    public var clamped: [String]?
}

/// A row of `submit`, and the answer to a submission over HTTP.
extension SubmissionReceipt: LedgerRecord {
    package static var blank: SubmissionReceipt {
        SubmissionReceipt(batch: 0, firstJob: 0, lastJob: 0, jobCount: 0, isRepetition: false, isSameRequest: true)
    }

    package static let fields: [RecordField<SubmissionReceipt>] = [
        .always("batch", \.batch, .id, "the batch"),
        .always("firstJob", \.firstJob, .id, "the lowest number of its jobs"),
        .always("lastJob", \.lastJob, .id, "the highest number of its jobs"),
        .always("jobCount", \.jobCount, .count, "how many jobs it has"),
        .special(
            "isRepetition",
            .truth,
            isRequired: true,
            "whether the key had been used, so that nothing was added",
            read: { receipt, row in receipt.isRepetition = !(try row["added"]) },
            encode: { receipt, encoder, key in try encoder.encode(receipt.isRepetition, forKey: key) },
            decode: { receipt, decoder, key in receipt.isRepetition = try decoder.decode(Bool.self, forKey: key) }
        ),
        .always(
            "isSameRequest",
            \.isSameRequest,
            .truth,
            "whether a repetition asked for the same jobs",
            column: "same_request"
        ),
        .maybe(
            "clamped",
            \.clamped,
            .texts,
            "limits that recipes of this request ask for and the tenant does not have: its own hold instead"
        ).withoutColumn,
    ]
}
