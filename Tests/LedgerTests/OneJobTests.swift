import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Submissions of one job, which the ledger adds by a shorter way if their lane exists.
struct OneJobTests {
    /// What a submission wrote, without ids and times.
    private func written(_ batch: Int64, _ lab: LedgerLab) async throws -> [String] {
        try await lab.lab.run { [schema = lab.schema] connection in
            try connection.rows(
                """
                select (to_jsonb(b) - '{id, key, created_at, first_job, last_job, request_digest}'::text[] || jsonb_build_object(
                    'ids', b.last_job - b.first_job,
                    'job', (select jsonb_agg(to_jsonb(j) - '{id, batch}'::text[]) from \(schema).job j where j.batch = b.id),
                    'waiting', (select jsonb_agg(to_jsonb(w) - '{job, batch, since}'::text[])
                                from \(schema).waiting w where w.batch = b.id),
                    'delayed', (select jsonb_agg(to_jsonb(d) - '{job, batch, since}'::text[])
                                from \(schema).delayed d where d.batch = b.id),
                    'counts', (select jsonb_agg(to_jsonb(d) - '{id, batch, at}'::text[])
                               from \(schema).count_delta d where d.batch = b.id)))::text
                from \(schema).batch b where b.id = \(batch)
                """
            ) { try $0[0] }
        }
    }

    private static let requests = [
        JobRequest(LedgerLab.recipe("plain")),
        JobRequest(LedgerLab.recipe("cost"), cost: 70, maxAttempts: 9),
        JobRequest(LedgerLab.recipe("needs"), needs: ["root:b", "codec:flac", "root:b"]),
        JobRequest(LedgerLab.recipe("stamp"), stamp: SourceStamp(bytes: 5, modified: 1_700_000_000_000_000_000)),
        JobRequest(LedgerLab.recipe("labels"), labels: ["show": "a \"b\"", "x": ""]),
        JobRequest(LedgerLab.recipe("later"), runAt: Date(timeIntervalSince1970: 4_000_000_000.5)),
    ]

    @Test(arguments: requests) func theShortWayWritesWhatTheLongWayWrites(_ request: JobRequest) async throws {
        let lab = try await LedgerLab()
        let submission = Submission(
            queue: "q",
            label: "a label",
            priority: 3,
            weight: 50,
            maxAttempts: 4,
            labels: ["of": "the batch"]
        )
        // The first creates the lane, and so takes the long way.
        var batches: [Int64] = []
        for _ in 0..<3 { batches.append(try await lab.ledger.submit(submission, [request]).batch) }
        let long = try await written(batches[0], lab)
        #expect(long.count == 1)
        #expect(try await written(batches[1], lab) == long)
        #expect(try await written(batches[2], lab) == long)
        #expect(try await lab.ledger.status().jobs.total == 3)
        // Several in one call.
        var writer = RequestWriter(submission)
        let job = JSON(text: try writer.write(request).json)
        let together: [Int64] = try await lab.lab.run { [schema = lab.schema] connection in
            try connection.rows(
                """
                select batch from \(schema).submit_each((
                    select jsonb_agg(jsonb_build_object('job', \(job)::jsonb, 'key', 'together ' || i, 'digest', '0a',
                        'name', 'a label', 'weight', 50, 'max_attempts', 4, 'labels', '{"of": "the batch"}'::jsonb))
                    from generate_series(1, 3) i
                ), 'q', 3)
                """
            ) { try $0[0] }
        }
        #expect(Set(together).count == 3)
        for batch in together { #expect(try await written(batch, lab) == long) }
        let status = try await lab.ledger.status()
        #expect(status.jobs.total == 6)
    }

    @Test func theShortWayIsTakenWhereverTheLaneExists() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(1)
        let schema = lab.schema
        // The long way cannot be taken from now on.
        try await lab.lab.run { try $0.execute("drop function \(schema).enter_listed") }
        try await lab.submit(1)
        #expect(try await lab.claim(9, for: worker).count == 2)
        // The lane is empty, and later closed.
        try await lab.submit(1)
        #expect(try await lab.claim(9, for: worker).count == 1)
        for _ in 0..<3 {
            try await lab.age(by: .seconds(700))
            _ = try await lab.ledger.keepHouse()
        }
        let isOpen: Bool = try await lab.value("select bool_or(is_open) from \(schema).lane")
        #expect(!isOpen)
        try await lab.submit(1)
        #expect(try await lab.claim(9, for: worker).count == 1)
        #expect(try await submitEach(["1", "2"].map { Self.request("x", $0) }, lab).count == 2)
        let jobs = try await lab.ledger.status().jobs
        #expect((jobs.running, jobs.waiting) == (4, 2))
        #expect(try await failure { try await lab.submit(2) }.code == .ledgerMissing)
    }

    /// A request of `submit_each`.
    private static func request(_ source: String, _ key: String, needs: String = "[]") -> String {
        """
        {"job": {"recipe": {"version": 1, "sources": [{"location": "\(source)"}]}, "needs": \(needs)},
         "key": "\(key)", "digest": "\(key.utf8.map { String($0, radix: 16) }.joined())"}
        """
    }

    /// Each answer: the batch, the job, and whether it was added for this request.
    private func submitEach(_ requests: [String], _ lab: LedgerLab) async throws -> [String] {
        try await lab.lab.run { [schema = lab.schema] connection in
            try connection.rows(
                """
                select format('%s %s %s %s', batch, first_job, added, same_request)
                from \(schema).submit_each(\(JSON(text: "[\(requests.joined(separator: ","))]")))
                """
            ) { try $0[0] }
        }
    }

    @Test func batchesOfOneCallAreAnsweredInTheirOrderAndFoundAgainByTheirKeys() async throws {
        let lab = try await LedgerLab()
        #expect(try await submitEach([], lab) == [])
        try await lab.submit(1)
        let keys: [String] = ["d", "b", "c", "a"]
        let requests: [String] = keys.map { Self.request($0, $0) }
        let answers = try await submitEach(requests, lab)
        let sources: [String] = try await lab.lab.run { [schema = lab.schema] connection in
            try connection.rows(
                """
                select format('%s %s t t', b.id, j.id) || ' ' || j.source || ' ' || b.key from \(schema).job j
                join \(schema).batch b on b.id = j.batch and b.first_job = j.id and b.last_job = j.id
                where b.key is not null order by j.id
                """
            ) { try $0[0] }
        }
        let expected: [String] = zip(answers, keys).map { (answer: String, key: String) -> String in
            "\(answer) \(key) \(key)"
        }
        let last: [String] = Array(sources.suffix(4))
        #expect(last == expected)
        // The same call again, and another with a digest that differs.
        #expect(try await submitEach(requests, lab) == answers.map { $0.replacing("t t", with: "f t") })
        let other = Self.request("d", "d").replacing("\"digest\": \"64\"", with: "\"digest\": \"65\"")
        #expect(try await submitEach([other], lab) == [answers[0].replacing("t t", with: "f f")])
        // Some of the keys only.
        let error = try await failure { try await submitEach([requests[0], Self.request("e", "e")], lab) }
        #expect(error.sqlState == "23505")
        #expect(try await lab.truth() == ["waiting": 5])
    }

    @Test func jobsOfOneCallHaveTheSameNeeds() async throws {
        let lab = try await LedgerLab()
        for _ in 0..<2 {
            let requests = [Self.request("x", "1"), Self.request("x", "2", needs: #"["root:a"]"#)]
            #expect(try await failure { try await submitEach(requests, lab) }.sqlState == "22023")
            try await lab.submit(1)
        }
        let needy = ["1", "2"].map { Self.request("x", $0, needs: #"["root:a"]"#) }
        #expect(try await submitEach(needy, lab).count == 2)
        #expect(try await lab.truth() == ["waiting": 4])
    }

    @Test func ofManyWhoSubmitAJobUnderOneKeyOneAddsIt() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        try await lab.submit(1)
        for round in 0..<5 {
            let receipts = try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await lab.submit(1, Submission(key: "same \(round)")) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(receipts.count { !$0.isRepetition } == 1)
            #expect(receipts.allSatisfy { $0.isSameRequest && $0.batch == receipts[0].batch && $0.jobCount == 1 })
        }
        #expect(try await lab.truth() == ["waiting": 6])
        let other = try await lab.ledger.submit(Submission(key: "same 0"), recipes: [LedgerLab.recipe("other")])
        #expect(other.isRepetition && !other.isSameRequest)
    }

    /// Each submission finds that the last partition is full, or nearly so.
    @Test func idsThatReachTheEndOfTheirPartitionGetAnother() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        try await lab.set("span_size = 1000")
        try await lab.submit(1)
        let schema = lab.schema
        for _ in 0..<3 {
            try await lab.lab.run {
                try $0.execute("select setval('\(schema).job_id', (select max(next_id) - 4 from \(schema).span))")
            }
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await lab.submit(1) } }
                try await group.waitForAll()
            }
        }
        #expect(try await lab.truth() == ["waiting": 25])
    }

    /// The limit on open lanes holds for a lane that exists and is closed.
    @Test func aClosedLaneIsNotOpenedBeyondTheLimit() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lanes_per_submitter = 2")
        let worker = try await lab.worker()
        try await lab.submit(1, Submission(queue: "a"))
        _ = try await lab.claim(1, for: worker)
        for _ in 0..<3 {
            try await lab.age(by: .seconds(700))
            _ = try await lab.ledger.keepHouse()
        }
        for queue in ["b", "c"] { try await lab.submit(1, Submission(queue: queue)) }
        #expect(try await failure { try await lab.submit(1, Submission(queue: "a")) }.code == .ledgerRefused)
        #expect(try await lab.ledger.batches().count == 3)
    }

    /// A job that is wrong is refused as it is in a batch of two.
    @Test(arguments: [
        #"{"recipe": 5}"#, #"{"recipe": {"version": 1}}"#, #"{"recipe": {"version": 1}, "needs": {}}"#, "7", "null",
        #"{"recipe": {"version": 1, "sources": [{"location": "a"}]}, "cost": "x"}"#,
        #"{"recipe": {"version": 1, "sources": [{"location": "a"}]}, "cost": 0}"#,
        #"{"recipe": {"version": 1, "sources": [{"location": "a"}]}, "max_attempts": 70000}"#,
        #"{"recipe": {"version": 1, "sources": [{"location": "a"}]}, "labels": []}"#,
        #"{"recipe": {"version": 1, "sources": [{"location": "a"}], "limits": {"wallSeconds": -1}}}"#,
    ])
    func aJobThatIsWrongIsRefusedAsInABatchOfTwo(job: String) async throws {
        let lab = try await LedgerLab()
        try await lab.submitPlain(#"{"version": 1, "sources": [{"location": "a"}]}"#)
        var states: [String?] = []
        for list in ["[\(job)]", "[\(job), \(job)]"] {
            let error = try await failure {
                try await lab.lab.run { [schema = lab.schema] connection in
                    try connection.execute("select * from \(schema).submit(\(JSON(text: list)))")
                }
            }
            states.append(error.sqlState)
        }
        #expect(states[0] != nil && states[0] == states[1], "\(states)")
        let each = try await failure { try await submitEach(["{\"job\": \(job)}", "{\"job\": \(job)}"], lab) }
        #expect(each.sqlState == states[0])
        #expect(try await lab.truth() == ["waiting": 1])
    }
}
