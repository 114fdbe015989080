import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct SubmittingTests {
    @Test func aHundredThousandJobsComeInByCopyInTheirOrder() async throws {
        let lab = try await LedgerLab()
        let submission = Submission(label: "big", key: "big-1")
        let receipt = try await lab.submit(100_000, submission)
        #expect(receipt.jobCount == 100_000)
        #expect(!receipt.isRepetition)
        let first = try await lab.ledger.jobs(ofBatch: receipt.batch, limit: 3)
        #expect(first.first == receipt.firstJob)
        let page = try await lab.ledger.jobs(ofBatch: receipt.batch, after: receipt.lastJob - 1)
        #expect(page == [receipt.lastJob])
        let schema = lab.schema
        let inOrder: Bool = try await lab.value(
            """
            select bool_and(source = 'in:big/' || place || '.wav')
            from (select source, row_number() over (order by id) - 1 as place from \(schema).job) j
            """
        )
        #expect(inOrder)
        let again = try await lab.submit(100_000, submission)
        #expect(again.isRepetition && again.isSameRequest)
        #expect((again.batch, again.firstJob, again.lastJob) == (receipt.batch, receipt.firstJob, receipt.lastJob))
        #expect(try await lab.truth() == ["waiting": 100_000])
    }

    /// A batch is named by its number, by its label, or as the last one. One job, a few and many come in by different ways.
    @Test(arguments: [1, 3, 1_000])
    func aLabelThatNamesAnotherBatchIsRefused(count: Int) async throws {
        let lab = try await LedgerLab()
        // The short way for one job needs a lane.
        try await lab.submit(count)
        for label in ["3", "007", "+3", "-3", "99999999999999999999", "last"] {
            let error = try await failure(of: { try await lab.submit(count, Submission(label: label)) })
            #expect(error.code == .ledgerRefused && error.detail.contains("names another batch"), "\(label): \(error)")
        }
        for label in ["3a", "a3", "3 4", "+", "Last", "1.5", "２"] {
            try await lab.submit(count, Submission(label: label))
        }
        // Labels of earlier releases stay.
        let batch = try await lab.submit(count, Submission(label: "old", key: "k")).batch
        try await lab.lab.run { _ = try $0.execute("update \(lab.schema).batch set name = '3' where id = \(batch)") }
        #expect(try await lab.submit(count, Submission(label: "3", key: "k")).isRepetition)
        #expect(try await lab.ledger.batches(labelled: "3") == [batch])
        _ = try await lab.keepWholeHouse()
        #expect(try await lab.ledger.batches(limit: 1).map(\.name) == ["3"])
    }

    @Test(arguments: [1, 3, 1_000])
    func aPreviewRefusesWhatASubmissionWouldAndAddsNothing(count: Int) async throws {
        let lab = try await LedgerLab()
        func submit(_ change: (inout Submission) -> Void) async throws -> SubmissionReceipt {
            var submission = Submission(queue: "new", label: "big")
            submission.isPreview = true
            change(&submission)
            return try await lab.submit(count, submission)
        }
        #expect(try await submit { _ in }.jobCount == count)
        let wrong: [(why: String, change: (inout Submission) -> Void)] = [
            ("a number as the label of a batch", { $0.label = "3" }),
            ("a webhook that does not exist", { $0.notify = ["unknown-hook"] }),
            ("a priority above 100", { $0.priority = 1_000 }), ("a weight of 0", { $0.weight = 0 }),
        ]
        for (why, change) in wrong {
            let dry = try await failure(of: { _ = try await submit(change) })
            let real = try await failure(of: {
                _ = try await submit { submission in
                    change(&submission)
                    submission.isPreview = false
                }
            })
            #expect((dry.code, dry.detail) == (real.code, real.detail), "\(why)")
        }
        for table in ["batch", "job", "lane", "share", "count_delta"] {
            let rows: Int = try await lab.value("select count(*) from \(lab.schema).\(name: table)")
            #expect(rows == 0, "\(table)")
        }
        #expect(try await !lab.ledger.queues().contains { $0.name == "new" })
        // A key that is in use adds nothing.
        try await lab.submit(count, Submission(key: "k"))
        var repetition = Submission(key: "k")
        repetition.isPreview = true
        #expect(try await lab.submit(count, repetition).isRepetition)
    }

    /// So a submitter learns what is wrong before it looks for files.
    @Test func aPreviewWithoutJobsChecksAllButTheJobs() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1, Submission(key: "used"))
        for key in ["k", "used"] {
            var submission = Submission(queue: "new", key: key)
            submission.isPreview = true
            let receipt = try await lab.submit(0, submission)
            #expect(receipt.jobCount == 0 && !receipt.isRepetition && receipt.isSameRequest)
        }
        let wrong: [(why: String, change: (inout Submission) -> Void)] = [
            ("a number as the label of a batch", { $0.label = "3" }),
            ("a long label", { $0.label = String(repeating: "x", count: 1_001) }),
            ("a long key", { $0.key = String(repeating: "x", count: 1_001) }),
            ("long labels", { $0.labels = ["a": String(repeating: "x", count: RequestWriter.recipeLimit)] }),
            ("the name of a queue", { $0.queue = "no name" }),
            ("a webhook that does not exist", { $0.notify = ["unknown-hook"] }), ("a weight of 0", { $0.weight = 0 }),
        ]
        for (why, change) in wrong {
            var submission = Submission(queue: "new")
            change(&submission)
            let (asked, job) = (submission, LedgerLab.recipe("a"))
            let real = try await failure(of: { _ = try await lab.ledger.submit(asked, recipes: [job]) })
            submission.isPreview = true
            let preview = submission
            let early = try await failure(of: { _ = try await lab.ledger.submit(preview, recipes: []) })
            #expect((early.code, early.detail) == (real.code, real.detail), "\(why)")
        }
        #expect(try await lab.ledger.batches().count == 1)
        #expect(try await !lab.ledger.queues().contains { $0.name == "new" })
        let error = try await failure(of: { try await lab.submit(0) })
        #expect(error.code == .ledgerRefused && error.detail.contains("at least one job"), "\(error)")
    }

    /// Jobs are sent while they are read.
    @Test(arguments: [3, 1_000])
    func aJobThatIsRefusedAmongOthersLeavesNone(count: Int) async throws {
        let lab = try await LedgerLab()
        var wrong = LedgerLab.recipe("wrong")
        wrong.tags.set([("comment", String(repeating: "x", count: RequestWriter.recipeLimit))])
        for place in [0, count / 2, count - 1] {
            var jobs = LedgerLab.requests(count).map { $0 }
            jobs[place] = JobRequest(wrong)
            let (submission, all) = (Submission(key: "k"), jobs)
            let error = try await failure(of: { _ = try await lab.ledger.submit(submission, all) })
            #expect(error.code == .ledgerRefused && error.detail.contains("job \(place + 1): "), "\(error)")
        }
        #expect(try await lab.ledger.batches().isEmpty)
        let jobs: Int = try await lab.value("select count(*) from \(lab.schema).job")
        #expect(jobs == 0)
    }

    @Test(arguments: [3, 1_000])
    func theSameKeyAnswersTheSameBatchAlsoWhenItIsDone(count: Int) async throws {
        let lab = try await LedgerLab()
        let submission = Submission(key: "k")
        let receipt = try await lab.submit(count, submission)
        let worker = try await lab.worker()
        let claims = try await lab.claim(Int32(count), for: worker)
        #expect(claims.count == count)
        #expect(try await lab.ledger.publish(claims.map { LedgerLab.publication($0.fence) }).allSatisfy { $0 == .done })
        #expect(try await lab.ledger.finish(claims.map(\.fence)).allSatisfy { $0 == .done })
        _ = try await lab.ledger.keepHouse()
        let again = try await lab.submit(count, submission)
        #expect(again.isRepetition && again.isSameRequest)
        #expect((again.batch, again.firstJob) == (receipt.batch, receipt.firstJob))
        #expect(try await lab.ledger.receipt(forKey: "k") == again)
        #expect(try await lab.ledger.receipt(forKey: "other") == nil)
        #expect(try await lab.truth() == ["completed": count])
        let other = try await lab.submit(count + 1, submission)
        #expect(other.isRepetition && !other.isSameRequest)
        let labelled = try await lab.submit(count, Submission(key: "k", priority: 1))
        #expect(labelled.isRepetition && !labelled.isSameRequest)
    }

    @Test(arguments: [5, 2_000])
    func ofTwoWhoSubmitAtOnceUnderOneKeyOneIsTheRepetition(count: Int) async throws {
        let lab = try await LedgerLab()
        let receipts = try await withThrowingTaskGroup { group in
            for _ in 0..<4 { group.addTask { try await lab.submit(count, Submission(key: "same")) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(receipts.count { !$0.isRepetition } == 1)
        #expect(receipts.allSatisfy { $0.isSameRequest && $0.batch == receipts[0].batch })
        let firstJobs: Set<Int64> = Set(receipts.map(\.firstJob))
        #expect(firstJobs.count == 1)
        #expect(try await lab.truth() == ["waiting": count])
    }

    @Test func whatEachJobSaysOfItselfIsKeptByBothWays() async throws {
        let lab = try await LedgerLab()
        let later = Date(timeIntervalSince1970: 4_000_000_000.5)
        let special = JobRequest(
            LedgerLab.recipe("x"),
            cost: 5,
            needs: ["root:archive", "codec:\"odd\""],
            maxAttempts: 7,
            runAt: later,
            labels: ["a \"b\"": "c\\d\n"]
        )
        for plainCount in [1, 500] {
            let plain = (0..<plainCount).map { JobRequest(LedgerLab.recipe("p/\($0)")) }
            let receipt = try await lab.ledger.submit(Submission(maxAttempts: 2), plain + [special])
            let odd = try #require(try await lab.ledger.story(of: receipt.lastJob))
            #expect(odd.labels == special.labels)
            #expect(odd.runAt == later)
            #expect(odd.cost == 5)
            #expect(Set(odd.needs) == ["root:archive", "codec:\"odd\"", "recipe:1"])
            #expect(odd.summary.maxAttempts == 7)
            #expect((odd.summary.state, odd.waitingFor) == (.delayed, .runAt))
            #expect(try Recipe(json: odd.recipe) == special.recipe)
            let first = try #require(try await lab.ledger.story(of: receipt.firstJob))
            #expect((first.cost, first.summary.maxAttempts, first.summary.state) == (1_000, 2, .waiting))
            #expect(first.needs == ["recipe:1"])
            #expect(first.runAt == nil)
        }
    }

    @Test func anEmptySubmissionIsRefusedAndKeysOfOursAreToo() async throws {
        let lab = try await LedgerLab()
        #expect(try await failure { try await lab.submit(0) }.code == .ledgerRefused)
        #expect(try await failure { try await lab.submit(1, Submission(key: "~a")) }.code == .ledgerRefused)
        #expect(try await failure { try await lab.submit(1, Submission(queue: "no spaces")) }.code == .ledgerRefused)
        #expect(try await failure { try await lab.submit(1, Submission(priority: 1_000)) }.code == .ledgerRefused)
        #expect(try await lab.ledger.batches().isEmpty)
    }

    @Test(arguments: [10, 1_000])
    func jobsThatComeByAndByAreSubmittedWhole(count: Int) async throws {
        let lab = try await LedgerLab()
        let stream = AsyncStream { continuation in
            for request in LedgerLab.requests(count) { continuation.yield(request) }
            continuation.finish()
        }
        let receipt = try await lab.ledger.submit(Submission(key: "s"), streaming: stream)
        #expect(receipt.jobCount == count && !receipt.isRepetition)
        let again = try await lab.submit(count, Submission(key: "s"))
        #expect(again.isRepetition && again.isSameRequest)
        let schema = lab.schema
        let inOrder: Bool = try await lab.value(
            """
            select bool_and(source = 'in:a/' || place || '.wav')
            from (select source, row_number() over (order by id) - 1 as place from \(schema).job) j
            """
        )
        #expect(inOrder)
    }

    @Test(arguments: [10, 3_000])
    func aSequenceThatFailsSubmitsNothing(count: Int) async throws {
        struct Torn: Error {}
        let lab = try await LedgerLab()
        let stream = AsyncThrowingStream<JobRequest, any Error> { continuation in
            for request in LedgerLab.requests(count) { continuation.yield(request) }
            continuation.finish(throwing: Torn())
        }
        await #expect(throws: Torn.self) { try await lab.ledger.submit(streaming: stream) }
        #expect(try await lab.truth().isEmpty)
    }

    @Test func aSubmissionThatWaitsForItsJobsEndsWithItsTimeOrItsTask() async throws {
        let lab = try await LedgerLab()
        let (stream, continuation) = AsyncStream.makeStream(of: JobRequest.self)
        for request in LedgerLab.requests(1_000) { continuation.yield(request) }
        let late = try await failure {
            try await lab.ledger.submit(streaming: stream, within: .milliseconds(300))
        }
        #expect(late.code == .ledgerTimedOut && !late.mayHaveHappened)
        let (endless, source) = AsyncStream.makeStream(of: JobRequest.self)
        for request in LedgerLab.requests(1_000) { source.yield(request) }
        let task = Task { try await lab.ledger.submit(streaming: endless) }
        task.cancel()
        #expect(try await failure { try await task.value }.code == .cancelled)
        #expect(try await lab.truth().isEmpty)
    }

    @Test func jobsThatComeByAndByHoldNoConnection() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 1 }
        let (jobs, source) = AsyncStream.makeStream(of: JobRequest.self)
        let submission = Task { try await lab.ledger.submit(streaming: jobs) }
        for request in LedgerLab.requests(2_000) { source.yield(request) }
        // The only connection is free for others, again and again.
        for _ in 0..<20 { #expect(try await lab.ledger.status().jobs.total == 0) }
        source.finish()
        #expect(try await submission.value.jobCount == 2_000)
    }

    @Test func recipesAreWrittenAsTheirOwnJSON() throws {
        var text = RecipeText()
        var recipes = ["a", "a/\"b\"", "\\", "ü\u{1}\u{7F}\n\t\r\u{8}\u{C}/x", "𝄞\u{2028}"].map { LedgerLab.recipe($0) }
        var odd = LedgerLab.recipe("b", onConflict: .replace)
        odd.tags = ["title": "in:b.wav", "x": "out:b.flac"]
        odd.limits = Recipe.Limits(wallSeconds: 7)
        recipes += [odd, LedgerLab.recipe("c"), odd, odd]
        var double = LedgerLab.recipe("d")
        double.sources.append(Recipe.Source(location: "in:second", track: 3))
        double.outputs.append(Recipe.Output(location: "out:second", preset: "speech-16k"))
        recipes.append(double)
        // Forms that differ in one field.
        for change: (inout Recipe.Output) -> Void in [
            { $0.replayGain = .track }, { $0.preset = nil }, { $0.onConflict = .skip },
            { $0.format = AudioFormat(container: .wav, codec: .pcm) },
            { $0.loudness = LoudnessGoal(target: .named(.podcast)) },
        ] {
            var other = double
            change(&other.outputs[1])
            recipes.append(other)
        }
        var none = double
        none.sources = []
        recipes += [none, LedgerLab.recipe("e")]
        for recipe in recipes + recipes.reversed() { #expect(try text.json(recipe) == recipe.json()) }
    }

    @Test func requestsThatDifferHaveOtherDigests() throws {
        var digests: Set<Data> = []
        func add(_ submission: Submission, _ requests: [JobRequest]) throws {
            var writer = RequestWriter(submission)
            for request in requests { _ = try writer.write(request) }
            #expect(digests.insert(writer.digest.bytes).inserted)
        }
        let (one, two) = (JobRequest(LedgerLab.recipe("1")), JobRequest(LedgerLab.recipe("2")))
        try add(Submission(), [])
        try add(Submission(), [one])
        try add(Submission(), [two])
        try add(Submission(), [one, two])
        try add(Submission(), [two, one])
        try add(Submission(queue: "other"), [one])
        try add(Submission(priority: 1), [one])
        try add(Submission(weight: 7), [one])
        try add(Submission(maxAttempts: 7), [one])
        for change: (inout JobRequest) -> Void in [
            { $0.cost = 1 }, { $0.needs = ["a"] }, { $0.maxAttempts = 1 }, { $0.labels = ["a": "b"] },
            { $0.labels = ["ab": ""] }, { $0.runAt = Date(timeIntervalSince1970: 1) },
        ] {
            var request = one
            change(&request)
            try add(Submission(), [request])
        }
    }
}
