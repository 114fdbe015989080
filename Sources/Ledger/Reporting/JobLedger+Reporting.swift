public import Conversion
import FoundationEssentials

// Each call covers many jobs. The ledger answers for each job separately, and the answers keep the order of the
// call. A caller may repeat a call unchanged, and does so when an answer is lost.
extension JobLedger {
    /// Moves jobs from `running` to `publishing`. From then on any worker or coordinator may finish them.
    @discardableResult
    public func publish(_ outputs: [Publication], within limit: Duration? = nil) async throws -> [JobAnswer] {
        try await answers(outputs, \.fence, "publish jobs", within: limit) { outputs, schema in
            let facts = outputs.map(\.facts)
            return try """
            select * from \(schema).publish(
                \(outputs.map(\.fence.job)), \(outputs.map(\.fence.epoch)), \(outputs.map(\.fence.lease)),
                \(outputs.map(\.attemptName)), \(outputs.map(\.digest)), \(outputs.map(\.bytes)),
                \(facts.map(\.framesIn)), \(facts.map(\.framesOut)), \(facts.map(\.audio?.wholeMilliseconds)),
                \(facts.map(\.cpu?.wholeMilliseconds)), \(facts.map(\.peakBytes)), \(facts.map(\.slot)),
                \(facts.map { try AttemptReport($0).json()?.text }),
                \(try outputs.map(\.further).ledgerTexts))
            """
        }
    }

    /// Moves jobs whose outputs were renamed from `publishing` to `finished`. Any process that has the fence may
    /// call it.
    @discardableResult
    public func finish(_ fences: [Fence], within limit: Duration? = nil) async throws -> [JobAnswer] {
        try await finish(fences.map { FinishedJob($0) }, within: limit)
    }

    /// Moves jobs from `publishing` to `finished`, each with its placement. The first report of a job stands.
    @discardableResult
    public func finish(_ jobs: [FinishedJob], within limit: Duration? = nil) async throws -> [JobAnswer] {
        try await answers(jobs, \.fence, "finish jobs", within: limit) { jobs, schema in
            // Most groups hold only published outputs and need no placements.
            let placements = jobs.contains { $0.placement != .published } ? jobs.map(\.placement.rawValue) : nil
            return try """
            select * from \(schema).finish(
                \(jobs.map(\.fence.job)), \(jobs.map(\.fence.epoch)), \(jobs.map(\.fence.lease)), \(placements),
                \(jobs.map(\.each).ledgerTexts))
            """
        }
    }

    /// Ends attempts that failed. The ledger decides by the failure's class whether to retry.
    @discardableResult
    public func fail(_ failures: [AttemptFailure], within limit: Duration? = nil) async throws -> [JobAnswer] {
        try await answers(failures, \.fence, "report failures", within: limit) { failures, schema in
            "select * from \(schema).fail(\(try JSON(failures.map(FailureRow.init))))"
        }
    }

    /// Hands running jobs back without counting the attempt. They return to their place in their lane, at once or
    /// after `pause`.
    ///
    /// `need` is the ability that the next worker must have. `message` appears in the job's story. A job that was
    /// published under its fence gets the answer `publishing`: after an unanswered `publish`, the only way on is to
    /// repeat it.
    @discardableResult
    public func release(
        _ fences: [Fence],
        because reason: FailureCode = .handedBack,
        needing need: String? = nil,
        after pause: Duration? = nil,
        message: String? = nil,
        within limit: Duration? = nil
    ) async throws -> [JobAnswer] {
        try await answers(fences, \.self, "release jobs", within: limit) { fences, schema in
            """
            select * from \(schema).release(
                \(fences.map(\.job)), \(fences.map(\.epoch)), \(fences.map(\.lease)),
                \(reason), \(fences.map { _ in need }), \(pause), \(message))
            """
        }
    }

    /// Wakes waiting jobs that were handed back for `reason`, up to the limit of one call. Returns how many.
    @discardableResult
    public func recall(_ reason: FailureCode, within limit: Duration? = nil) async throws -> Int {
        try await settle("recall jobs", within: limit) { connection, _ in
            try connection.value("select \(schema).recall(\(reason), \(Int32(Self.wordsPerCall)))")
        }
    }

    /// Signs a worker off. Its jobs are handed back without counting the attempts. Returns how many there were.
    @discardableResult
    public func stop(_ worker: Int64, within limit: Duration? = nil) async throws -> Int {
        let count: Int = try await settle("stop a worker", within: limit) { connection, _ in
            try connection.value("select \(schema).stop_worker(\(worker), \(WorkerSecrets[worker]))")
        }
        WorkerSecrets[worker] = nil
        return count
    }

    /// The answer for each report. Splits the reports into calls of limited length in which no job occurs twice.
    private func answers<Word: Sendable>(
        _ words: [Word],
        _ fence: @Sendable (Word) -> Fence,
        _ operation: String,
        within limit: Duration?,
        _ statement: @Sendable ([Word], SchemaName) throws -> Statement
    ) async throws -> [JobAnswer] {
        var answers = [JobAnswer?](repeating: nil, count: words.count)
        var left = Array(words.indices)
        while !left.isEmpty {
            var jobs: Set<Int64> = []
            // Two claims of one job, at least one of them stale, go into separate calls.
            let chosen = left.filter { jobs.count < Self.wordsPerCall && jobs.insert(fence(words[$0]).job).inserted }
            let taken = Set(chosen)
            left.removeAll { taken.contains($0) }
            let call = try statement(chosen.map { words[$0] }, schema)
            let said = try await settle(operation, within: limit) { connection, _ in
                try connection.rows(call) { row in
                    (try row["job"] as Int64, try row.value("answer", as: JobAnswer.self))
                }
            }
            let byJob = Dictionary(said) { first, _ in first }
            for index in chosen { answers[index] = byJob[fence(words[index]).job] }
        }
        return try answers.map { answer in
            guard let answer else {
                throw LedgerError(.ledgerUnexpectedAnswer, during: operation, "the server did not answer for every job")
            }
            return answer
        }
    }

    static let wordsPerCall = 1_000
}

extension Array where Element: Collection & Encodable {
    /// A JSON list for each job, for jobs with something to list; `nil` if there is none. Most jobs have one output.
    fileprivate var ledgerTexts: [String?]? {
        get throws {
            allSatisfy(\.isEmpty) ? nil : try map { $0.isEmpty ? nil : try JSON($0).text }
        }
    }
}

/// An element of the list that `fail` takes.
private struct FailureRow: Encodable {
    var job: Int64
    var epoch: Int32
    var lease_id: UUID
    var code: String
    var `class`: Failure.Kind
    var stage: String
    var stream: Int?
    var position: MediaTime?
    var frame: Int64?
    var libav_name: String?
    var libav_text: String?
    var message: String
    var hint: String?
    var last_words: String?
    var room_death: Bool
    var need: String?
    var slot: Int16?
    var frames_in: Int64?
    var frames_out: Int64?
    var audio_ms: Int64?
    var cpu_ms: Int64?
    var peak_bytes: Int64?
    var report: AttemptReport?

    init(_ attempt: AttemptFailure) {
        let (failure, facts) = (attempt.failure, attempt.facts)
        job = attempt.fence.job
        epoch = attempt.fence.epoch
        lease_id = attempt.fence.lease
        code = failure.code
        `class` = failure.kind
        stage = failure.stage
        stream = failure.stream
        position = failure.position
        frame = failure.frame
        libav_name = failure.libavName
        libav_text = failure.libavText
        message = failure.message
        hint = failure.hint
        last_words = attempt.lastWords
        room_death = attempt.isRoomDeath
        need = attempt.need
        slot = facts.slot
        frames_in = facts.framesIn
        frames_out = facts.framesOut
        audio_ms = facts.audio?.wholeMilliseconds
        cpu_ms = facts.cpu?.wholeMilliseconds
        peak_bytes = facts.peakBytes
        let report = AttemptReport(facts, failure)
        self.report = report == AttemptReport() ? nil : report
    }
}
