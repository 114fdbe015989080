import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct ListingTests {
    /// All jobs that match, read page by page.
    private func all(_ lab: LedgerLab, _ filter: JobFilter, limit: Int32) async throws -> [JobSummary] {
        var jobs: [JobSummary] = []
        var cursor: JobCursor?
        repeat {
            let page = try await lab.ledger.jobs(matching: filter, after: cursor, limit: limit)
            #expect(page.jobs.count <= Int(limit) && !page.jobs.isEmpty)
            jobs += page.jobs
            // A cursor survives being encoded and decoded.
            cursor = try page.next.map { try JSONDecoder().decode(JobCursor.self, from: JSONEncoder().encode($0)) }
        } while cursor != nil
        return jobs
    }

    @Test func pagesAreWholeAndInOrderAndEveryFilterFindsWhatItSays() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', retry_base = '10 min'")
        let start = try await lab.ledger.time()
        let worker = try await lab.worker()
        let first = try await lab.submit(20, Submission(queue: "x", label: "first"))
        try await lab.age(by: .seconds(10))
        let second = try await lab.submit(20, Submission(queue: "y", label: "se%ond"))
        try await lab.submit(5, Submission(queue: "y", label: "later", runAt: start + 7_200))
        let claims = try await lab.claim(20, for: worker, from: ["x"])
        try await lab.ledger.publish(claims[0..<9].map { LedgerLab.publication($0.fence) })
        try await lab.ledger.finish(claims[0..<7].map(\.fence))
        try await lab.age(by: .seconds(10))
        let middle = try await lab.ledger.time()
        try await lab.ledger.fail(
            claims[9..<14].map { AttemptFailure($0.fence, LedgerLab.failure(.permanent)) }
                + claims[14..<16].map {
                    AttemptFailure($0.fence, LedgerLab.failure(.permanent, code: "no_sound", stage: "open"))
                }
                + claims[16..<17].map { AttemptFailure($0.fence, LedgerLab.failure(.transient)) }
        )

        let expected: [(JobFilter, Int)] = [
            (JobFilter(), 45),
            (JobFilter(states: [.completed]), 7), (JobFilter(states: [.publishing]), 2),
            (JobFilter(states: [.failed]), 7), (JobFilter(states: [.running]), 3), (JobFilter(states: [.waiting]), 20),
            (JobFilter(states: [.delayed]), 6), (JobFilter(states: [.completed, .waiting]), 27),
            (JobFilter(states: []), 0),
            (JobFilter(queue: "x"), 20), (JobFilter(queue: "y"), 25), (JobFilter(queue: "none"), 0),
            (JobFilter(states: [.failed], queue: "y"), 0),
            (JobFilter(batch: first.batch), 20), (JobFilter(states: [.failed], batch: first.batch), 7),
            (JobFilter(batch: second.batch), 20), (JobFilter(batch: 4_711), 0),
            (JobFilter(ids: [first.firstJob, second.lastJob, 4_711]), 2),
            (JobFilter(codes: ["corrupt_stream"]), 6), (JobFilter(codes: ["no_sound", "corrupt_stream"]), 8),
            (JobFilter(classes: [.permanent]), 7), (JobFilter(classes: [.transient]), 1),
            (JobFilter(classes: [.infrastructure]), 0), (JobFilter(stages: ["open"]), 2),
            (JobFilter(states: [.failed], codes: ["corrupt_stream"], classes: [.permanent], stages: ["decode"]), 5),
            (JobFilter(sourcePrefix: "in:first/"), 20), (JobFilter(sourcePrefix: "in:first/1"), 11),
            (JobFilter(sourcePrefix: "in:se%"), 20), (JobFilter(sourcePrefix: "in:s_"), 0),
            (JobFilter(sourcePrefix: ""), 45),
            (JobFilter(states: [.failed], queue: "x", sourcePrefix: "in:"), 7),
            (JobFilter(submittedFrom: start + 5), 25), (JobFilter(submittedBefore: start + 5), 20),
            (JobFilter(submittedFrom: start + 60), 0),
            (JobFilter(endedBefore: middle), 7), (JobFilter(endedFrom: middle), 7),
            (JobFilter(endedFrom: start, endedBefore: start + 1), 0),
        ]
        for (filter, count) in expected {
            #expect(try await lab.ledger.count(matching: filter) == count, "\(filter)")
            guard count > 0 else {
                #expect(try await lab.ledger.jobs(matching: filter) == JobPage(jobs: [], next: nil))
                continue
            }
            for limit: Int32 in [3, 100] {
                let jobs = try await all(lab, filter, limit: limit)
                #expect(jobs.count == count, "\(filter)")
                let ids: [Int64] = jobs.map(\.job)
                #expect(Set(ids).count == jobs.count)
                if filter.sourcePrefix == nil {
                    let newestFirst: [Int64] = ids.sorted(by: >)
                    #expect(ids == newestFirst)
                } else {
                    let sources: [String] = jobs.map(\.source)
                    let sorted: [String] = sources.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                    #expect(sources == sorted)
                }
            }
        }
    }

    @Test func aPageStaysWhereItWasWhileJobsComeAndGo() async throws {
        let lab = try await LedgerLab()
        let receipt = try await lab.submit(10)
        let page = try await lab.ledger.jobs(limit: 4)
        #expect(page.jobs.map(\.job) == (0..<4).map { receipt.lastJob - $0 })
        try await lab.submit(10)
        try await lab.ledger.apply(.cancel, to: JobFilter(ids: [receipt.lastJob - 5]))
        let next = try await lab.ledger.jobs(after: page.next, limit: 4)
        #expect(next.jobs.map(\.job) == (4..<8).map { receipt.lastJob - $0 })
    }

    @Test func aFilterOrCursorThatIsNoneIsRefused() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let cursor = JobCursor(text: "{\"job\": \"seven\"}")
        #expect(try await failure { try await lab.ledger.jobs(after: cursor) }.code == .ledgerRefused)
        #expect(
            try await failure { try await lab.ledger.jobs(after: JobCursor(text: "no JSON")) }.code == .ledgerRefused
        )
    }

    @Test func aStorySaysWhyAJobDoesNotRun() async throws {
        let lab = try await LedgerLab()
        let job = try await lab.submit(2, Submission(queue: "q", label: "l", labels: ["a": "b"])).firstJob
        func why() async throws -> JobStory.WaitingFor? { try await lab.ledger.story(of: job)?.waitingFor }
        #expect(try await why() == .unable)
        let worker = try await lab.worker()
        #expect(try await why() == .line)
        try await lab.ledger.setPaused(true, queue: "q")
        #expect(try await why() == .paused)
        try await lab.ledger.setPaused(false, queue: "q")
        try await lab.ledger.setRunningLimit(1, queue: "q")
        let claim = try #require(try await lab.claim(1, for: worker).first)
        #expect(try await why() == nil)
        #expect(try await lab.ledger.story(of: job + 1)?.waitingFor == .limit)
        let story = try #require(try await lab.ledger.story(of: job))
        #expect(story.attempts.map(\.outcome) == [nil])
        #expect(story.attempts[0].failure == nil)
        #expect((story.batchName, story.batchLabels, story.submitter) == ("l", ["a": "b"], "postgres"))
        try await lab.ledger.fail([AttemptFailure(claim.fence, LedgerLab.failure(.transient))])
        #expect(try await why() == .backOff)
        #expect(try await lab.ledger.story(of: 4_711) == nil)
    }

    /// Jobs that return to a lane stand before others that have waited longer, or behind them.
    @Test func theOldestWaitingJobIsTheOneThatWaitsLongest() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        func oldest() async throws -> (seconds: Double, metric: Double) {
            let status = try await lab.ledger.status()
            let since = try #require(status.oldestWaiting)
            return (
                status.time.timeIntervalSince(since),
                try #require(try await lab.ledger.metrics()[.oldestWaiting, "default"])
            )
        }
        func check(_ range: Range<Double>) async throws {
            let found = try await oldest()
            #expect(range ~= found.seconds && range ~= found.metric, "\(found)")
        }
        let first = try await lab.submit(1)
        try await lab.age(by: .seconds(100))
        try await lab.submit(5)
        try await lab.age(by: .seconds(200))
        // It comes before the others, because its lane's head has not moved.
        try await lab.ledger.apply(.cancel, to: JobFilter(ids: [first.firstJob]))
        try await lab.ledger.apply(.retry, to: JobFilter(ids: [first.firstJob]))
        try await check(200..<260)
        // It returns to the head of its lane.
        let claim = try #require(try await lab.claim(1, for: worker).first)
        try await lab.ledger.release([claim.fence])
        try await check(200..<260)
        try await lab.age(by: .seconds(50))
        _ = try await lab.claim(4, for: worker)
        _ = try await lab.ledger.keepHouse()
        try await check(0..<310)
        _ = try await lab.claim(9, for: worker)
        #expect(try await lab.ledger.status().oldestWaiting == nil)
    }

    @Test func aWorkerThatHasEndedHasNoWorkInHand() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        _ = try await lab.heartbeat.beat(
            worker.worker,
            status: WorkerStatus(
                busySlots: 2,
                pausedBecause: "away",
                sandbox: "off",
                paces: [JobSpeed(job: 1, speed: 3)]
            )
        )
        let alive = try #require(try await lab.ledger.workers().first)
        #expect(alive.status.busySlots == 2)
        try await lab.lab.run { connection in
            _ = try connection.execute(
                "update \(lab.schema).worker set ended_at = \(lab.schema).ledger_time(), end_reason = 'lost'"
            )
        }
        let lost = try #require(try await lab.ledger.workers(endedSince: .distantPast).first)
        #expect(lost.ending == .lost && lost.status == WorkerStatus(sandbox: "off"))
    }

    @Test func theOverviewShowsQueuesBatchesWorkersAndChores() async throws {
        let lab = try await LedgerLab()
        let bare = try await lab.ledger.status()
        #expect(
            bare.jobs == JobCounts() && bare.keptHouseAt == nil && bare.quietUntil == nil && bare.oldestWaiting == nil
        )
        #expect(try await lab.ledger.chores().allSatisfy { $0.dueAt == nil })
        let worker = try await lab.worker(abilities: ["root:a"])
        let keyed = try await lab.submit(3, Submission(queue: "a", label: "one", key: "k", priority: 2, weight: 50))
        let bareBatch = try await lab.submit(4)
        try await lab.ledger.setWeight(200, queue: "a")
        let claims = try await lab.claim(2, for: worker)
        try await lab.ledger.publish(claims.map { LedgerLab.publication($0.fence) })
        try await lab.ledger.finish(claims.map(\.fence))
        _ = try await lab.ledger.keepHouse()
        let batches = try await lab.ledger.batches()
        #expect(batches.map(\.batch) == [bareBatch.batch, keyed.batch])
        #expect(batches.map(\.key) == [nil, "k"])
        #expect((batches[1].name, batches[1].priority, batches[1].weight, batches[1].queue) == ("one", 2, 50, "a"))
        #expect((batches[1].jobs.completed, batches[1].jobs.waiting, batches[1].jobs.open) == (2, 1, 1))
        #expect(try await lab.ledger.batch(keyed.batch) == batches[1])
        #expect(try await lab.ledger.batches(before: bareBatch.batch).map(\.batch) == [keyed.batch])
        #expect(try await lab.ledger.batch(4_711) == nil)
        let queues = try await lab.ledger.queues()
        #expect(queues.map(\.name) == ["a", "default"])
        #expect(queues.map(\.weight) == [200, 100])
        #expect(queues.map(\.jobs.total) == [3, 4])
        let status = try await lab.ledger.status()
        #expect((status.workers, status.slots, status.quietWorkers) == (1, 4, 0))
        #expect((status.completedLately, status.audioLately) == (2, .seconds(2)))
        #expect((status.completedLastMinute, status.audioLastMinute) == (2, .seconds(2)))
        let span = try #require(status.lastMinuteSpan)
        #expect(span > .zero && span <= .seconds(120))
        #expect(status.jobs.waiting == 5 && status.jobs.completed == 2)
        #expect(status.oldestWaiting != nil && status.keptHouseAt != nil)
        let paces = try await lab.ledger.paces(since: status.time - 3_600)
        #expect(paces.reduce(0) { $0 + $1.completed } == 2)
        #expect(paces.reduce(.zero) { $0 + $1.audio } == Duration.seconds(2))
        let first = try #require(try await lab.ledger.story(of: keyed.firstJob))
        #expect(paces.map(\.began) == first.attempts.map(\.startedAt))
        #expect(try await lab.ledger.chores().map(\.name).count == 13)
        #expect(try await lab.ledger.chores().allSatisfy { $0.error == nil && $0.dueAt != nil })
        try await lab.age(by: .seconds(180))
        let later = try await lab.ledger.status()
        #expect((later.completedLastMinute, later.audioLastMinute, later.lastMinuteSpan) == (0, .zero, nil))
        #expect(later.completedLately == 2)
    }
}
