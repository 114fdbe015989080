import Conversion
public import FoundationEssentials

/// What is known of the scans of a source. A submitter compares it with the file as it is now.
public struct EarlierScan: Sendable, Hashable {
    /// The latest job that scans the source, as far as the caller may see it.
    public var job: Int64?
    public var batch: Int64?
    public var state: JobState?
    /// The failure that ended that job.
    public var code: String?
    /// The file at its submission.
    public var submittedStamp: SourceStamp?
    public var endedAt: Date?
    /// The file when a scan last had a result, and when that was.
    public var stamp: SourceStamp?
    public var checkedAt: Date?
    /// What that scan found: bit rot, and damage. The ledger knows it also when the job has left it.
    public var hasRotten = false
    public var isDamaged = false

    package init() {}
}

extension EarlierScan: LedgerRecord {
    package static var blank: EarlierScan { EarlierScan() }

    // Without columns: rows are read by position, because there may be a hundred thousand of them.
    package static let fields: [RecordField<EarlierScan>] = [
        .maybe("job", \.job, .id, "the latest job that scans the source").withoutColumn,
        .maybe("batch", \.batch, .id, "the batch that it was submitted with").withoutColumn,
        .maybe("state", \.state, .choice, "where it is in its life").withoutColumn,
        .maybe("code", \.code, .text, "the failure that ended it").withoutColumn,
        .maybe("submittedStamp", \.submittedStamp, .record("SourceStamp"), "of the source at submission").withoutColumn,
        .maybe("endedAt", \.endedAt, .moment, "when it ended").withoutColumn,
        .maybe("stamp", \.stamp, .record("SourceStamp"), "of the source when it was last scanned").withoutColumn,
        .maybe("checkedAt", \.checkedAt, .moment, "when it was last scanned").withoutColumn,
        .flag("hasRotten", \.hasRotten, "whether that scan found bit rot").withoutColumn,
        .flag("isDamaged", \.isDamaged, "whether that scan found damage").withoutColumn,
    ]

    /// A row of `find_scans`.
    init(found row: Row) throws {
        let state: String? = try row[3]
        (job, batch, code) = (try row[1], try row[2], try row[4])
        self.state = try state.map { word in
            guard let state = JobState(rawValue: word) else {
                throw LedgerError(.ledgerUnexpectedAnswer, during: row.operation, "unknown state \"\(word)\"")
            }
            return state
        }
        submittedStamp = SourceStamp(try row[5], try row[6])
        endedAt = try row[7]
        stamp = SourceStamp(try row[8], try row[9])
        checkedAt = try row[10]
        (hasRotten, isDamaged) = (try row[11], try row[12])
    }
}

extension SourceStamp {
    /// `nil` if either column is null.
    fileprivate init?(_ bytes: Int64?, _ modified: Int64?) {
        guard let bytes, let modified else { return nil }
        self.init(bytes: bytes, modified: modified)
    }
}

/// What is known of the scans of some sources, in their order.
package struct EarlierScans: Codable, Sendable {
    package let scans: [JSONRecord<EarlierScan>?]

    package init(_ scans: [EarlierScan?]) { self.scans = scans.map { $0.map(JSONRecord.init) } }
}
