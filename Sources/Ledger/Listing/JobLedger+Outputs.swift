public import FoundationEssentials

/// An output as it was when it was published.
public struct RecordedOutput: Sendable, Hashable {
    public var job: Int64
    /// The location of the job's first source.
    public var source: String
    public var destination: String
    /// The destination of the job's first output, which may be this one.
    public var first: String
    public var bytes: Int64
    /// SHA-256 in hexadecimal.
    public var digest: String

    package init(job: Int64, source: String, destination: String, first: String, bytes: Int64, digest: String) {
        (self.job, self.source, self.destination, self.first) = (job, source, destination, first)
        (self.bytes, self.digest) = (bytes, digest)
    }
}

extension RecordedOutput: LedgerRecord, ListedRecord {
    package static let listName = "outputs"
    package static var blank: RecordedOutput {
        RecordedOutput(job: 0, source: "", destination: "", first: "", bytes: 0, digest: "")
    }

    // Without columns: rows are read by hand, because one without a job says where the list continues.
    package static let fields: [RecordField<RecordedOutput>] = [
        .always("job", \.job, .id, "the job that made it").withoutColumn,
        .always("source", \.source, .text, "the first source of the job").withoutColumn,
        .always("destination", \.destination, .text, "where it was published").withoutColumn,
        .always("first", \.first, .text, "the destination of the job's first output").withoutColumn,
        .always("bytes", \.bytes, .size, "its length").withoutColumn,
        .always("digest", \.digest, .text, "its SHA-256").withoutColumn,
    ]
}

/// A job that made the output at a destination, or may still make it.
public struct OutputMaker: Sendable, Hashable {
    public var job: Int64
    /// `completed`, or one of the open states.
    public var state: JobState
    public var endedAt: Date?
    /// The output of a completed job; `nil` if it was left alone.
    public var file: PublishedFile?
}

extension OutputMaker: LedgerRecord {
    package static var blank: OutputMaker { OutputMaker(job: 0, state: .waiting) }

    package static let fields: [RecordField<OutputMaker>] = [
        .always("job", \.job, .id, "the job's number").withoutColumn,
        .always("state", \.state, .choice, "where it is in its life").withoutColumn,
        .maybe("endedAt", \.endedAt, .moment, "when it was completed").withoutColumn,
        .maybe("bytes", \.bytes, .size, "the length of the output").withoutColumn,
        .maybe("digest", \.digest, .text, "SHA-256 of the output").withoutColumn,
    ]

    /// Of the file, which is there once this is set.
    private var bytes: Int64? {
        get { file?.bytes }
        set { file = newValue.map { PublishedFile(digest: file?.digest ?? "", bytes: $0) } }
    }

    private var digest: String? {
        get { file?.digest }
        set { if let newValue { file?.digest = newValue } }
    }
}

/// The makers of some outputs, in their order.
package struct OutputMakers: Codable, Sendable {
    package let makers: [[JSONRecord<OutputMaker>]]

    package init(_ makers: [[OutputMaker]]) { self.makers = makers.map { $0.map(JSONRecord.init) } }
}

extension JobLedger {
    /// The outputs of a page of completed jobs, in the order of `jobs(matching:)`. `next` is `nil` on the last page.
    public func outputs(
        matching filter: JobFilter = JobFilter(),
        after cursor: JobCursor? = nil,
        limit: Int32 = 1_000
    ) async throws -> (outputs: [RecordedOutput], next: JobCursor?) {
        let json = try JSON(filter.narrowed(to: [.completed]))
        return try await look("list outputs") { connection in
            let rows = try connection.rows("select * from \(schema).list_outputs(\(json), \(cursor?.json), \(limit))") {
                row -> (RecordedOutput?, JSON?) in
                // A row without a job: a search inside sources continues on the next page.
                guard try (row["job"] as Int64?) != nil else { return (nil, try row["next"]) }
                let output = RecordedOutput(
                    job: try row["job"],
                    source: try row["source"],
                    destination: try row["destination"],
                    first: try row["first"],
                    bytes: try row["size"],
                    digest: try row["digest"]
                )
                return (output, try row["next"] as JSON?)
            }
            // A page that is not full is the last, unless the search continues.
            let jobs = Set(rows.compactMap { $0.0?.job }).count
            let isLast = jobs < Int(limit) && rows.last?.0 != nil
            return (rows.compactMap(\.0), isLast ? nil : JobCursor(rows.last?.1))
        }
    }

    /// For each output, the jobs that made the file at its destination or may still make it.
    ///
    /// The file may be a job's first output. If it is a further one, it is found in jobs that have the same first output
    /// as the job of `outputs`.
    public func makers(of outputs: [RecordedOutput]) async throws -> [[OutputMaker]] {
        let further = outputs.indices.filter { outputs[$0].first != outputs[$0].destination }
        let destinations = outputs.map(\.destination) + further.map { outputs[$0].first }
        return try await look("find the jobs of outputs") { connection in
            var makers = [[OutputMaker]](repeating: [], count: outputs.count)
            try connection.forEachRow("select * from \(schema).list_makers(\(destinations))") { row in
                let entry = try (row["place"] as Int) - 1
                let place = entry < outputs.count ? entry : further[entry - outputs.count]
                var files: [PublishedFile?] = [nil]
                if let bytes: Int64 = try row["size"], let digest: String = try row["digest"] {
                    files = [PublishedFile(digest: digest, bytes: bytes)]
                }
                files += try [PublishedFile?](further: row)
                let names: [String] = try row["outputs"] ?? [destinations[entry]]
                // A job that does not write the file, only its neighbour.
                guard let index = names.firstIndex(of: outputs[place].destination) else { return }
                let maker = OutputMaker(
                    job: try row["job"],
                    state: try row.value("state"),
                    endedAt: try row["ended_at"],
                    file: index < files.count ? files[index] : nil
                )
                if !makers[place].contains(maker) { makers[place].append(maker) }
            }
            return makers
        }
    }
}
