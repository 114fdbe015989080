import Conversion
import System

/// Checks and writes the jobs of a submission while they arrive, and keeps them until the last one is there.
///
/// Nothing of the ledger is held meanwhile, so a caller may take its time.
struct RequestSpool {
    private var writer: RequestWriter
    private var few: [RequestWriter.Written] = []
    private var isFew = true
    private var fewBytes = 0
    private var rows = CopyRow()
    private let spool: Spool
    private let place: SpoolSpace.Place

    /// `folder` is for the file of many jobs.
    init(_ submission: Submission, in place: SpoolSpace.Place, folder: String) {
        writer = RequestWriter(submission)
        spool = Spool(folder: folder, memoryBytes: place.memoryBytes)
        self.place = place
    }

    /// Throws `refused` if the recipe cannot be encoded or is too long.
    mutating func add(_ request: JobRequest) throws {
        let written = try writer.write(request)
        guard isFew else { return try append(written) }
        few.append(written)
        fewBytes += written.recipe.utf8.count
        guard few.count >= RequestWriter.smallCount || fewBytes > place.memoryBytes else { return }
        isFew = false
        for written in few { try append(written) }
        few = []
    }

    private mutating func append(_ written: RequestWriter.Written) throws {
        rows.begin(columnCount: RequestWriter.columns.count)
        written.append(to: &rows)
        if rows.bytes.count >= 1 << 16 { try moveRows() }
    }

    private mutating func moveRows() throws {
        try place.take(rows.bytes.count)
        do throws(SystemError) {
            try spool.append(rows.bytes)
        } catch {
            throw LedgerError(
                .ledgerExhausted,
                during: "submit jobs",
                "this process cannot keep the jobs that arrive: \(error.text)"
            )
        }
        rows.removeAll()
    }

    /// All jobs are there.
    mutating func end() throws -> SpooledRequests {
        guard !isFew else { return SpooledRequests(rows: .few(few), digest: writer.digest, place: place) }
        rows.end()
        try moveRows()
        return SpooledRequests(rows: .many(spool), digest: writer.digest, place: place)
    }
}

/// The jobs of a submission that has arrived, written for the ledger.
struct SpooledRequests: Sendable {
    enum Rows: Sendable {
        case few([RequestWriter.Written])
        /// In the form of COPY, with its header and its end.
        case many(Spool)
    }

    let rows: Rows
    let digest: RequestDigest
    /// Held for as long as the jobs are kept.
    let place: SpoolSpace.Place
}
