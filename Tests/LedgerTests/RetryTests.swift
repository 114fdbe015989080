import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// How the ledger retries failures of each class.
struct RetryTests {
    /// Claims the only job and fails it.
    @discardableResult
    private func failOnce(
        _ lab: LedgerLab,
        _ worker: WorkerEntry,
        _ failure: Failure,
        isRoomDeath: Bool = false
    ) async throws -> Claim {
        let claim = try #require(try await lab.claim(1, for: worker).first)
        let attempt = AttemptFailure(claim.fence, failure, isRoomDeath: isRoomDeath)
        #expect(try await lab.ledger.fail([attempt]) == [.done])
        #expect(try await lab.ledger.fail([attempt]) == [.repeated])
        return claim
    }

    private func lab() async throws -> (LedgerLab, WorkerEntry, Int64) {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h'")
        let job = try await lab.submit(1).firstJob
        return (lab, try await lab.worker(), job)
    }

    @Test func whatWaitsForItsWorkerIsCalledBackAtOnce() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h'")
        let worker = try await lab.worker()
        try await lab.submit(4)
        let fences = try await lab.claim(4, for: worker).map(\.fence)
        let hour = Duration.seconds(3_600)
        try await lab.ledger.release(
            Array(fences[0..<3]),
            because: .fileSystemFull,
            after: hour,
            message: "the file system at /mnt/a is full"
        )
        try await lab.ledger.release([fences[3]], because: .handedBack, after: hour)
        let story = try #require(try await lab.ledger.story(of: fences[0].job))
        #expect(story.attempts.map(\.failure?.message) == ["the file system at /mnt/a is full"])
        #expect(story.attempts.map(\.failure?.code) == ["file_system_full"])
        #expect(story.waitingFor == .backOff && story.summary.attempts == 0)
        #expect(try await lab.claim(4, for: worker).isEmpty)
        #expect(try await lab.ledger.recall(.fileSystemFull) == 3)
        #expect(try await lab.ledger.recall(.fileSystemFull) == 0)
        let again = try await lab.claim(4, for: worker)
        #expect(Set(again.map(\.fence.job)) == Set(fences[0..<3].map(\.job)), "a job with another reason was recalled")
        #expect(again.allSatisfy { $0.attempt == 1 && $0.losses == 0 })
    }

    @Test func permanentIsNeverTriedAgain() async throws {
        let (lab, worker, job) = try await lab()
        try await failOnce(lab, worker, LedgerLab.failure(.permanent))
        #expect(try await lab.state(job) == "failed")
        try await lab.age(by: .seconds(1_800))
        #expect(try await lab.claim(1, for: worker).isEmpty)
    }

    @Test func transientComesBackWithinItsBoundUntilItsAttemptsAreSpent() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', retry_base = '600 s', retry_cap = '900 s'")
        let worker = try await lab.worker()
        try await lab.submit(60)
        var readyAt: [Set<Date>] = []
        for (attempt, bound) in [(1, 600.0), (2, 900.0)] {
            let claims = try await lab.claim(60, for: worker)
            #expect(claims.count == 60)
            #expect(claims.allSatisfy { $0.attempt == attempt })
            let before = try await lab.ledger.time()
            try await lab.ledger.fail(claims.map { AttemptFailure($0.fence, LedgerLab.failure(.transient)) })
            let after = try await lab.ledger.time()
            let jobs = try await lab.ledger.jobs(matching: JobFilter(states: [.delayed]), limit: 100).jobs
            #expect(jobs.count == 60)
            let times = try jobs.map { try #require($0.readyAt) }
            // Full jitter: the times spread from now to the bound, and do not coincide.
            for time in times { #expect(time >= before && time <= after + bound) }
            readyAt.append(Set(times))
            let early = times.count { $0 < before + bound / 2 }
            #expect((10...50).contains(early), "\(early) of 60 in the first half")
            try await lab.age(by: .seconds(901))
        }
        #expect(readyAt.allSatisfy { $0.count > 50 })
        let last = try await lab.claim(60, for: worker)
        try await lab.ledger.fail(last.map { AttemptFailure($0.fence, LedgerLab.failure(.transient)) })
        #expect(try await lab.truth() == ["failed": 60])
        let story = try #require(try await lab.ledger.story(of: last[0].fence.job))
        #expect(story.summary.attempts == 3)
        #expect(story.attempts.map(\.outcome) == [.failed, .failed, .failed])
        #expect(story.attempts.map(\.epoch) == [1, 2, 3])
    }

    @Test func infrastructureSpendsNoAttemptAndBacksOffInTheEnd() async throws {
        let (lab, worker, job) = try await lab()
        for loss in 1...3 {
            let claim = try await failOnce(lab, worker, LedgerLab.failure(.infrastructure, code: "storage_unavailable"))
            #expect((claim.attempt, claim.losses) == (1, loss - 1))
            #expect(try await lab.state(job) == "waiting")
        }
        try await failOnce(lab, worker, LedgerLab.failure(.infrastructure))
        let summary = try #require(try await lab.ledger.story(of: job)).summary
        #expect((summary.state, summary.attempts, summary.losses) == (.delayed, 0, 4))
    }

    @Test func aJobOfWhichRoomsDieIsPutInQuarantine() async throws {
        let (lab, worker, job) = try await lab()
        try await lab.set("max_attempts = 100, room_deaths_allowed = 3")
        let poison = try await lab.submit(1, Submission(queue: "poison")).firstJob
        for death in 1...3 {
            let claim = try #require(try await lab.claim(1, for: worker, from: ["poison"]).first)
            #expect(claim.roomDeaths == death - 1)
            let failure = LedgerLab.failure(.transient, code: "room_died", stage: "decode")
            try await lab.ledger.fail([AttemptFailure(claim.fence, failure, lastWords: "boom", isRoomDeath: true)])
            try await lab.age(by: .seconds(100))
        }
        let story = try #require(try await lab.ledger.story(of: poison))
        #expect((story.summary.state, story.summary.code, story.summary.kind) == (.failed, "rooms_crashed", .permanent))
        #expect(story.attempts.map(\.failure?.code) == ["room_died", "room_died", "room_died"])
        #expect(story.attempts.map(\.lastWords) == ["boom", "boom", "boom"])
        #expect(try await lab.state(job) == "waiting")
    }

    @Test func aFailureComesOutAsItWentIn() async throws {
        let (lab, worker, job) = try await lab()
        let claim = try #require(try await lab.claim(1, for: worker).first)
        var failure = Failure(
            code: "corrupt_stream",
            kind: .transient,
            stage: "decode",
            message: "a frame is \"broken\" \\ ü \u{1}",
            stream: 2,
            position: MediaTime(value: 1_234_567, timescale: 44_100),
            frame: 1_234_567,
            libavName: "INVALIDDATA",
            libavText: "Invalid data\nfound",
            hint: "fetch the file again",
            refusals: [
                FormatRefusal.Reason(field: "rate", value: "7", why: "too low", allowed: "8000 to 48000", hint: nil)
            ]
        )
        failure.contradiction = Contradiction(.clock, promised: "frame 10", found: "frame 4")
        let facts = AttemptFacts(
            slot: 3,
            framesIn: 10,
            framesOut: 9,
            audio: .milliseconds(250),
            cpu: .milliseconds(31),
            peakBytes: 1 << 30
        )
        try await lab.ledger.fail([AttemptFailure(claim.fence, failure, lastWords: "last\nwords", facts: facts)])
        let record = try #require(try await lab.ledger.story(of: job)?.attempts.first)
        #expect(record.failure == failure)
        #expect(record.lastWords == "last\nwords")
        #expect(record.facts == facts)
        #expect((record.host, record.build, record.workerName, record.worker) == ("h", "1.0", "w", worker.worker))
    }

    @Test(arguments: [
        ("zero \u{0} and \\u0000 and \\\u{0}", "zero \u{FFFD} and \\u0000 and \\\u{FFFD}"),
        // To Swift, the combining mark and the last digit of the escape before it are one character.
        ("zero \u{0}\u{301}", "zero \u{FFFD}\u{301}"),
    ])
    func aMessageThatPostgreSQLCannotStoreDoesNotKeepItsGroupFromBeingReported(given: String, kept: String) async throws
    {
        let (lab, worker, _) = try await lab()
        try await lab.submit(1)
        let claims = try await lab.claim(2, for: worker)
        var failure = LedgerLab.failure(.permanent)
        failure.message = given
        let words = [
            AttemptFailure(claims[0].fence, failure), AttemptFailure(claims[1].fence, LedgerLab.failure(.permanent)),
        ]
        #expect(try await lab.ledger.fail(words) == [.done, .done])
        let record = try #require(try await lab.ledger.story(of: claims[0].fence.job)?.attempts.first)
        #expect(record.failure?.message == kept)
    }

    @Test func laterSuccessErasesNoAttempt() async throws {
        let (lab, worker, job) = try await lab()
        try await failOnce(lab, worker, LedgerLab.failure(.permanent))
        for _ in 0..<2 {
            let tally = try await lab.ledger.apply(.retry, to: JobFilter(ids: [job]))
            #expect(tally.changed == 1)
            try await failOnce(lab, worker, LedgerLab.failure(.permanent, code: "truncated"))
        }
        try await lab.ledger.apply(.retry, to: JobFilter(ids: [job]))
        let claim = try #require(try await lab.claim(1, for: worker).first)
        #expect((claim.attempt, claim.fence.epoch) == (1, 4))
        try await lab.ledger.publish([LedgerLab.publication(claim.fence)])
        try await lab.ledger.finish([claim.fence])
        let story = try #require(try await lab.ledger.story(of: job))
        #expect(story.summary.state == .completed)
        #expect(story.attempts.map(\.outcome) == [.failed, .failed, .failed, .completed])
        #expect(story.attempts.map(\.failure?.code) == ["corrupt_stream", "truncated", "truncated", nil])
        #expect(story.attempts.last?.facts == LedgerLab.publication(claim.fence).facts)
    }

    /// This also holds after a worker found a missing ability: another worker may run the job as it was submitted.
    @Test func aRetryKeepsThePriorityAndForgetsWhatWorkersFoundMissing() async throws {
        let lab = try await LedgerLab()
        let plain = try await lab.worker("plain")
        let able = try await lab.worker("able", abilities: ["codec:x"])
        let job = try await lab.submit(1, Submission(priority: 1)).firstJob
        let untouched = try await lab.submit(1, Submission(priority: 2)).firstJob
        #expect(try await lab.ledger.apply(.prioritize(50), to: JobFilter(ids: [job])).changed == 1)
        let first = try #require(try await lab.claim(1, for: plain).first)
        #expect((first.fence.job, first.priority) == (job, 50))
        try await lab.ledger.release([first.fence], needing: "codec:x")
        #expect(try await lab.claim(1, for: plain).map(\.fence.job) == [untouched])
        try await failOnce(lab, able, LedgerLab.failure(.permanent))
        #expect(try #require(try await lab.ledger.story(of: job)).summary.priority == 50)

        #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [job])).changed == 1)
        let again = try await failOnce(lab, plain, LedgerLab.failure(.permanent))
        #expect((again.fence.job, again.priority) == (job, 50))
        // Cancelled jobs keep their priorities too.
        for priority: Int32 in [50, -3] {
            #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [job])).changed == 1)
            #expect(
                try await lab.ledger.apply(.prioritize(-3), to: JobFilter(ids: [job])).changed
                    == (priority == 50 ? 1 : 0)
            )
            #expect(try await lab.ledger.apply(.cancel, to: JobFilter(ids: [job])).changed == 1)
        }
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [job])).changed == 1)
        #expect(try await lab.claim(1, for: plain).map(\.priority) == [-3])
    }

    @Test func failuresAreGroupedByWhatTheyAre() async throws {
        let (lab, worker, _) = try await lab()
        try await lab.submit(9, Submission(queue: "other"))
        let claims = try await lab.claim(10, for: worker)
        try await lab.ledger.fail(
            claims.enumerated().map { number, claim in
                let code = number < 3 ? "truncated" : "corrupt_stream"
                return AttemptFailure(claim.fence, LedgerLab.failure(number == 9 ? .transient : .permanent, code: code))
            }
        )
        for _ in 0..<2 {
            let groups = try await lab.ledger.failures()
            #expect(groups.map(\.code) == ["corrupt_stream", "truncated", "corrupt_stream"])
            #expect(groups.map(\.jobs) == [6, 3, 0])
            #expect(groups.map(\.attempts) == [6, 3, 1])
            #expect(groups.map(\.kind) == [.permanent, .permanent, .transient])
            #expect(groups[0].exampleSource?.hasPrefix("in:a/") == true)
            // The same by the hour, before the counts are folded and after it.
            let dayAgo = try await lab.ledger.time().addingTimeInterval(-86_400)
            let hours = try await lab.ledger.failureHours(since: dayAgo)
            func attempts(_ group: FailureGroup) -> Int {
                hours.filter { $0.code == group.code && $0.kind == group.kind && $0.stage == group.stage }
                    .reduce(0) { $0 + $1.attempts }
            }
            #expect(groups.map(attempts) == [6, 3, 1])
            #expect(hours.allSatisfy { $0.hour > dayAgo })
            #expect(try await lab.ledger.failureHours(since: dayAgo, queue: "nowhere").isEmpty)
            _ = try await lab.ledger.keepHouse()
        }
        let batch = try #require(try await lab.ledger.batches().first)
        let ofBatch = try await lab.ledger.failures(batch: batch.batch)
        #expect(ofBatch.reduce(0) { $0 + $1.jobs } == batch.jobs.failed || batch.jobs.failed == 0)
        #expect(ofBatch.allSatisfy { $0.attempts == nil })
        let none = try await lab.ledger.failures(queue: "default")
        #expect(none.reduce(0) { $0 + $1.jobs } <= 1)
    }

    /// The group says what the story of its example says.
    @Test func aGroupHasTheHintOfItsExample() async throws {
        let (lab, worker, job) = try await lab()
        let claim = try #require(try await lab.claim(1, for: worker).first)
        var failure = LedgerLab.failure(.permanent, code: "source_missing")
        failure.hint = "mount the archive"
        try await lab.ledger.fail([AttemptFailure(claim.fence, failure)])
        let batch = try #require(try await lab.ledger.batches().first).batch
        for groups in [try await lab.ledger.failures(), try await lab.ledger.failures(batch: batch)] {
            #expect(groups.map(\.example) == [job])
            #expect(groups.map(\.hint) == ["mount the archive"])
        }
    }

    /// A failure without a hint of its own has the advice of its code.
    @Test func aGroupHasTheAdviceOfItsCode() async throws {
        let (lab, worker, _) = try await lab()
        let claim = try #require(try await lab.claim(1, for: worker).first)
        try await lab.ledger.fail([AttemptFailure(claim.fence, LedgerLab.failure(.permanent, code: "truncated"))])
        let advice = try #require(FailureCode(rawValue: "truncated")?.advice)
        #expect(try await lab.ledger.failures().map(\.hint) == [advice])
    }
}
