import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct ClaimingTests {
    @Test func tenJobsBehindAHundredThousandComeAtOnce() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(100_000, Submission(label: "big"))
        // Some jobs of the big batch are already running.
        _ = try await lab.claim(40, for: worker)
        let small = try await lab.submit(10, Submission(label: "small"))
        var claimed: [Int64] = []
        while claimed.count < 30 { claimed += try await lab.claim(1, for: worker).map(\.batch) }
        #expect(claimed.prefix(22).count { $0 == small.batch } == 10, "\(claimed)")
    }

    @Test func aClaimReadsAsMuchWithAHundredThousandWaitingAsWithFew() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let secret = try #require(WorkerSecrets[worker.worker]).uuidString
        func pages() async throws -> Int {
            let claim = "select count(*) from sluice.claim(\(worker.worker), '\(secret)', 10)"
            return try #require(try await lab.pages(of: Array(repeating: claim, count: 5)).min())
        }
        try await lab.submit(100)
        let few = try await pages()
        try await lab.submit(100_000)
        try await lab.submit(10)
        let many = try await pages()
        // A scan of the waiting jobs would read thousands of pages.
        #expect(many < few + few / 2 + 100, "\(few) pages, then \(many)")
    }

    @Test func eightConnectionsThatClaimAtOnceGetEachJobOnce() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        try await lab.submit(2_000)
        let fences = try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let worker = try await lab.worker("w\(number)")
                    var fences: [Fence] = []
                    while true {
                        let claims = try await lab.claim(7, for: worker)
                        if claims.isEmpty { return fences }
                        fences += claims.map(\.fence)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(fences.count == 2_000)
        let jobs: Set<Int64> = Set(fences.map(\.job))
        #expect(jobs.count == 2_000)
        #expect(try await lab.truth() == ["running": 2_000])
    }

    @Test func priorityGoesBeforeTurn() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        for priority: Int32 in [-1, 5, 0] { try await lab.submit(2, Submission(priority: priority)) }
        #expect(try await lab.claim(9, for: worker).map(\.priority) == [5, 5, 0, 0, -1, -1])
    }

    @Test func pausedQueuesGiveNothingAndLimitedOnesNoMoreThanTheirLimit() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        for queue in ["a", "b"] { try await lab.submit(5, Submission(queue: queue)) }
        try await lab.ledger.setPaused(true, queue: "a")
        try await lab.ledger.setRunningLimit(2, queue: "b")
        #expect(try await lab.claim(9, for: worker).map(\.queue) == ["b", "b"])
        #expect(try await lab.claim(9, for: worker).isEmpty)
        let reply = try await lab.heartbeat.beat(worker.worker)
        #expect(reply.pausedQueues == ["a"])
        try await lab.ledger.setPaused(false, queue: "a")
        #expect(try await lab.claim(9, for: worker, from: ["b"]).isEmpty)
        let rest = try await lab.claim(9, for: worker).map(\.queue)
        #expect(rest == Array(repeating: "a", count: 5), "\(rest)")
        try await lab.ledger.setRunningLimit(nil, queue: "b")
        #expect(try await lab.claim(9, for: worker).count == 3)
        for change in [
            { try await lab.ledger.setPaused(true, queue: "none") },
            { try await lab.ledger.setRunningLimit(1, queue: "none") },
            { try await lab.ledger.setWeight(1, queue: "none") },
        ] as [@Sendable () async throws -> Void] {
            #expect(try await failure(of: change).code == .ledgerRefused)
        }
    }

    @Test func aClaimThatWaitedForAQueueWhichThenWasFullTakesOtherJobs() async throws {
        let lab = try await LedgerLab()
        let (first, second) = (try await lab.worker("first"), try await lab.worker("second"))
        for queue in ["limited", "other"] { try await lab.submit(2, Submission(queue: queue)) }
        try await lab.ledger.setRunningLimit(1, queue: "limited")
        let (claimed, signal) = AsyncStream.makeStream(of: Void.self)
        async let early: [String] = lab.lab.run { [schema = lab.schema] connection in
            defer { signal.finish() }
            return try connection.transaction {
                let secret = WorkerSecrets[first.worker]
                let queues: [String] = try connection.rows(
                    "select queue from \(schema).claim(\(first.worker), \(secret), 1)"
                ) { try $0[0] }
                signal.finish()
                while try !connection.value(
                    "select exists (select from pg_locks where not granted and transactionid = pg_current_xact_id()::xid)"
                ) {
                    // The server sends no event when the other claim waits for this transaction.
                    try connection.execute("select pg_sleep(0.01)")
                }
                return queues
            }
        }
        for await _ in claimed {}
        #expect(try await lab.claim(1, for: second).map(\.queue) == ["other"])
        #expect(try await early == ["limited"])
    }

    @Test func jobsGoOnlyToWorkersThatCanDoThem() async throws {
        let lab = try await LedgerLab()
        let able = try await lab.worker("able", abilities: ["root:archive", "codec:flac", "more"])
        let unable = try await lab.worker("unable", abilities: ["codec:flac"])
        let request = JobRequest(LedgerLab.recipe("a"), needs: ["root:archive", "codec:flac"])
        let receipt = try await lab.ledger.submit(Submission(), [request])
        #expect(try await lab.claim(1, for: unable).isEmpty)
        #expect(try await lab.ledger.unableLanes().isEmpty)
        let claim = try #require(try await lab.claim(1, for: able).first)
        try await lab.ledger.release([claim.fence], because: .unable, needing: "gpu")
        #expect(try await lab.claim(1, for: able).isEmpty)
        let line = try #require(try await lab.ledger.unableLanes().first)
        #expect(Set(line.needs) == ["root:archive", "codec:flac", "recipe:1", "gpu"])
        #expect(line.missing == ["gpu"])
        #expect(line.example == receipt.firstJob)
        #expect(try await lab.ledger.story(of: receipt.firstJob)?.waitingFor == .unable)
    }

    @Test func aRecipeOfAVersionUnknownHereIsNeverGivenOut() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submitPlain(#"{"version": 9, "sources": [{"location": "a"}], "news": true}"#)
        #expect(try await lab.claim(9, for: worker).isEmpty)
        #expect(try await lab.ledger.unableLanes().map(\.missing) == [["recipe:9"]])
    }

    @Test func aRecipeThatCannotBeReadFailsItsJobAndNothingElse() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submitPlain(#"{"version": 1, "sources": [{"location": "a", "speed": 7}], "outputs": []}"#)
        try await lab.submitPlain(#"{"version": 1, "sources": [{"location": 5}]}"#)
        let good = try await lab.submit(1)
        let claims = try await lab.ledger.claim(9, for: worker.worker)
        #expect(claims.jobs.map(\.fence.job) == [good.firstJob])
        #expect(claims.refused.map(\.error.code) == [.unknownField, .wrongType])
        #expect(claims.refused.map(\.isFailed) == [true, true])
        #expect(try await lab.truth() == ["failed": 2, "running": 1])
        let story = try #require(try await lab.ledger.story(of: claims.refused[0].fence.job))
        #expect(story.attempts.last?.failure?.code == "recipe_refused")
        #expect(story.attempts.last?.failure?.message.contains("recipe.sources[0].speed") == true)
    }

    /// The lane states another version than the recipe. That takes an edit of the tables by hand.
    @Test func aRecipeWhoseVersionIsUnknownAfterAllIsHandedBackForOthers() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let receipt = try await lab.submit(1)
        let schema = lab.schema
        try await lab.lab.run { try $0.execute("update \(schema).job set recipe = recipe || '{\"version\": 9}'") }
        let claims = try await lab.ledger.claim(9, for: worker.worker)
        #expect(claims.jobs.isEmpty)
        #expect(claims.refused.map(\.isFailed) == [false])
        #expect(try await lab.truth() == ["waiting": 1])
        #expect(try await lab.claim(9, for: worker).isEmpty)
        #expect(try await lab.ledger.story(of: receipt.firstJob)?.needs.contains("recipe:9") == true)
    }

    @Test func aWorkerThatIsToBeQuietGetsNothingAndHearsOfIt() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(2)
        #expect(try await lab.ledger.wish(.drain, of: worker.worker))
        #expect(try await lab.heartbeat.beat(worker.worker).wish == .drain)
        #expect(try await lab.claim(1, for: worker).isEmpty)
        #expect(try await lab.ledger.status().quietWorkers == 1)
        #expect(try await lab.ledger.wish(.run, of: worker.worker))
        #expect(try await lab.claim(1, for: worker).count == 1)
        try await lab.ledger.stop(worker.worker)
        #expect(try await !lab.ledger.wish(.quiet, of: worker.worker))
    }

    @Test func aWorkerThatHasEndedCannotClaim() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(1)
        let schema = lab.schema
        try await lab.lab.run {
            try $0.execute("select \(schema).end_workers(\([worker.worker]), 'lost', \(schema).ledger_time())")
        }
        let error = try await failure { try await lab.claim(1, for: worker) }
        #expect(error.code == .ledgerLeaseOver)
        #expect(error.sqlState == "SL001")
        #expect(try await failure { try await lab.ledger.claim(1, for: 4_711) }.code == .ledgerLeaseOver)
        #expect(try await lab.truth() == ["waiting": 1])
    }

    @Test func aSubmissionWakesThoseWhoWait() async throws {
        let lab = try await LedgerLab { $0.pollInterval = .seconds(3_600) }
        var signals = lab.ledger.workSignals().makeAsyncIterator()
        // The first signal covers what came before we listened.
        #expect(await signals.next() == .timePassed)
        try await lab.submit(1)
        #expect(await signals.next() == .work)
    }

    /// In a ledger without jobs, housekeeping and workers rest until they are notified.
    @Test func delayedJobsOfAPersonWithPsqlWakeThoseWhoWait() async throws {
        let lab = try await LedgerLab { $0.pollInterval = .seconds(3_600) }
        var signals = lab.ledger.workSignals().makeAsyncIterator()
        #expect(await signals.next() == .timePassed)
        let recipe: String = try LedgerLab.recipe("a").json()
        let (list, schema) = (JSON(text: "[{\"recipe\": \(recipe)}]"), lab.schema)
        try await lab.lab.run { connection in
            try connection.execute("select * from \(schema).submit(\(list), run_at => now() + interval '1 h')")
        }
        #expect(await signals.next() == .work)
    }

    /// At a cancellation every worker sends a beat, at a submission none: a fleet has thousands of workers.
    @Test func aCancellationIsToldFromASubmission() async throws {
        let lab = try await LedgerLab { $0.pollInterval = .seconds(3_600) }
        let worker = try await lab.worker()
        try await lab.submit(2)
        let claims = try await lab.claim(2, for: worker)
        var signals = lab.ledger.workSignals().makeAsyncIterator()
        #expect(await signals.next() == .timePassed)
        for claim in claims {
            try await lab.ledger.apply(.cancel, to: JobFilter(ids: [claim.fence.job]))
            #expect(await signals.next() == .cancellation)
            try await lab.submit(1)
            #expect(await signals.next() == .work)
        }
    }

    /// At a new webhook no worker sends a beat, and coordinators begin to look for deliveries.
    @Test func aWebhookIsToldFromACancellation() async throws {
        let lab = try await LedgerLab { $0.pollInterval = .seconds(3_600) }
        let before = try await lab.ledger.hasWebhooks()
        var signals = lab.ledger.workSignals().makeAsyncIterator()
        #expect(await signals.next() == .timePassed)
        _ = try await lab.ledger.createWebhook(NewWebhook(at: "https://example.com/hook", for: .all))
        #expect(await signals.next() == .webhook)
        let after = try await lab.ledger.hasWebhooks()
        #expect(!before && after)
    }

    /// Submissions notify workers once for many, outside their transactions.
    @Test func aBurstOfSubmissionsIsPickedUpWithoutWaitingForALook() async throws {
        let lab = try await LedgerLab {
            $0.pollInterval = .seconds(3_600)
            $0.connectionLimit = 8
        }
        let worker = try await lab.worker()
        var signals = lab.ledger.workSignals().makeAsyncIterator()
        #expect(await signals.next() == .timePassed)
        let (sessions, each) = (8, 40)
        for _ in 0..<3 {
            let submitting = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<sessions {
                        group.addTask {
                            for job in 0..<each {
                                _ = try await lab.ledger.submit(recipes: [LedgerLab.recipe("\(number)/\(job)")])
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            var taken = 0
            while taken < sessions * each {
                #expect(await signals.next() == .work)
                while case let count = try await lab.claim(100, for: worker).count, count > 0 { taken += count }
            }
            #expect(taken == sessions * each)
            try await submitting.value
        }
    }

    /// When a connection breaks, a claim may still be on its way until the server notices.
    @Test func aClaimThatWasGivenUpTakesNothingWhenItArrives() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(5)
        let schema = lab.schema
        let secret = WorkerSecrets[worker.worker]
        let (late, next): (Int, Int) = try await lab.lab.run { connection in
            try connection.execute("select \(schema).bar_claims(\(worker.worker), \(secret), 7)")
            return (
                try connection.value("select count(*) from \(schema).claim(\(worker.worker), \(secret), 2, null, 7)"),
                try connection.value("select count(*) from \(schema).claim(\(worker.worker), \(secret), 2, null, 8)")
            )
        }
        #expect((late, next) == (0, 2))
        #expect(try await lab.ledger.held(by: worker.worker).jobs.count == 2)
    }

    /// An idle fleet claims all the time. Otherwise each such claim would wait for the server's disk.
    @Test func aClaimWaitsForTheDiskOnlyIfItTookSomething() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let schema = lab.schema
        func waits() async throws -> (taken: Int, mode: String) {
            try await lab.lab.run { connection in
                try connection.transaction {
                    let secret = WorkerSecrets[worker.worker]
                    return (
                        try connection.value("select count(*) from \(schema).claim(\(worker.worker), \(secret), 8)"),
                        try connection.value("select current_setting('synchronous_commit')")
                    )
                }
            }
        }
        #expect(try await waits() == (0, "off"))
        try await lab.submit(3)
        #expect(try await waits() == (3, "on"))
        #expect(try await waits() == (0, "off"))
    }

    /// Otherwise this claim and all later ones would scan the dead rows of old jobs that a long transaction keeps.
    @Test func largeClaimsLiftTheFloorOfTheirLaneUnlessASubmissionHoldsIt() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(1_000)
        let schema = lab.schema
        func floor() async throws -> (floor: Int64, head: Int64) {
            (
                try await lab.value("select max(floor) from \(schema).lane"),
                try await lab.value("select min(turn) from \(schema).waiting")
            )
        }
        for _ in 0..<2 { #expect(try await lab.claim(100, for: worker).count == 100) }
        let lifted = try await floor()
        #expect(lifted.floor == lifted.head && lifted.head > 0)

        try await lab.whileOpen(["select \(schema).hold_lanes(array(select id from \(schema).lane))"]) {
            try await lab.age(by: .seconds(10))
            #expect(try await lab.claim(100, for: worker).count == 100)
            #expect(try await floor().floor == lifted.floor)
        }

        // A claim that is rolled back leaves the floor below the jobs that it returns.
        try await lab.lab.run { connection in
            let secret = WorkerSecrets[worker.worker]
            try connection.script("begin", changes: false)
            try connection.execute("select from \(schema).claim(\(worker.worker), \(secret), 100)")
            try connection.script("rollback", changes: false)
        }
        var left = 0
        while true {
            let claims = try await lab.claim(70, for: worker)
            if claims.isEmpty { break }
            left += claims.count
        }
        #expect(left == 700)
    }

    /// Rows that are locked in a shared mode have no queue: the floor of a busy lane would never be raised.
    @Test func submissionsWaitBehindWhatRaisesTheFloorOfTheirLane() async throws {
        let lab = try await LedgerLab()
        let schema = lab.schema
        try await lab.submit(1)
        try await lab.lab.run { connection in
            // Opens the lane, which then has something to raise.
            try connection.execute("select \(schema).raise_floors()")
            try connection.execute("update \(schema).lane set floor = floor - 5")
            // By itself it gives way after a moment.
            try connection.execute("alter function \(schema).wait_for_lane set lock_timeout = '5min'")
        }
        let hold = "select \(schema).hold_lanes(array(select id from \(schema).lane))"
        var raising: Task<Int, any Error>?
        var holding: Task<Void, any Error>?
        try await lab.whileOpen([hold]) {
            raising = Task { try await lab.value("select affected from \(schema).raise_floors()") }
            try await lab.lab.untilRunning("%raise_floors%", waitsFor: "relation")
            holding = Task { try await lab.lab.run { _ = try $0.execute(Statement(stringLiteral: hold)) } }
            try await lab.lab.untilRunning("%hold_lanes%", waitsFor: "relation")
        }
        #expect(try await raising?.value == 1)
        try await holding?.value
    }

    @Test func delayedJobsComeWhenTheirTimeHasCome() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(2, Submission(runAt: try await lab.ledger.time() + 3_600))
        #expect(try await lab.claim(9, for: worker).isEmpty)
        try await lab.age(by: .seconds(3_601))
        #expect(try await lab.claim(9, for: worker).count == 2)
    }
}

extension LedgerLab {
    /// Submits a job as a person with psql does.
    func submitPlain(_ recipe: String) async throws {
        let list = JSON(text: "[{\"recipe\": \(recipe)}]")
        let schema = schema
        try await lab.run { _ = try $0.execute("select * from \(schema).submit(\(list))") }
    }
}
