import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct HousekeepingTests {
    /// Ticks as a coordinator does, while `sixths` sixths of a lease pass and nothing else happens. Returns the
    /// number of reaped jobs.
    private func pass(_ lab: LedgerLab, sixths: Int) async throws -> Int {
        var reaped = 0
        for _ in 0..<sixths {
            try await lab.age(by: lab.lease / 6)
            reaped += try await lab.ledger.keepHouse()["reap"]?.affected ?? 0
        }
        return reaped
    }

    @Test func jobsOfASilentWorkerGoBackUnspentAfterItsLease() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(5)
        let (silent, alive) = (try await lab.worker("silent"), try await lab.worker("alive"))
        _ = try await lab.claim(3, for: silent)
        _ = try await lab.claim(1, for: alive)
        _ = try await lab.ledger.keepHouse()
        #expect(try await pass(lab, sixths: 5) == 0)
        #expect(try await lab.heartbeat.beat(alive.worker).isAlive)
        #expect(try await pass(lab, sixths: 2) == 3)
        #expect(try await lab.truth() == ["waiting": 4, "running": 1])
        let ended = try await lab.ledger.workers(endedSince: .distantPast)
        #expect(
            Dictionary(uniqueKeysWithValues: ended.map { ($0.name, $0.ending) }) == ["silent": .lost, "alive": nil]
        )
        #expect(try await lab.ledger.workers().map(\.name) == ["alive"])
        let again = try await lab.claim(5, for: alive)
        #expect(again.allSatisfy { $0.attempt == 1 })
        #expect(again.count { $0.losses == 1 } == 3)
    }

    @Test func afterAnOutageAWholeLeasePassesBeforeAnybodyIsLost() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await LedgerLab(on: server)
        try await lab.submit(2)
        let worker = try await lab.worker()
        _ = try await lab.claim(2, for: worker)
        _ = try await lab.ledger.keepHouse()
        try await lab.age(by: lab.lease / 3)
        _ = try await lab.ledger.keepHouse()
        try server.restart(.immediate)
        // Whole leases pass in which no worker can beat.
        try await lab.age(by: lab.lease * 10)
        _ = try await lab.ledger.keepHouse()
        let quietUntil = try #require(try await lab.ledger.status().quietUntil)
        let time = try await lab.ledger.time()
        #expect(quietUntil > time + 400)
        #expect(try await pass(lab, sixths: 5) == 0)
        #expect(try await lab.truth() == ["running": 2])
        #expect(try await pass(lab, sixths: 2) == 2)
        #expect(try await lab.ledger.status().quietUntil == nil)
    }

    /// Workers beat every third of a lease. After a gap of half a lease, a worker would have a sixth left to find
    /// the ledger.
    @Test func noWorkerIsLostForALeaseAfterAThirdOfALeaseWithoutATick() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        _ = try await lab.claim(1, for: worker)
        _ = try await lab.ledger.keepHouse()
        #expect(try await pass(lab, sixths: 4) == 0)
        try await lab.age(by: lab.lease * 2 / 5)
        #expect(try await lab.ledger.keepHouse()["reap"]?.affected == 0)
        #expect(try await pass(lab, sixths: 5) == 0)
        #expect(try await pass(lab, sixths: 2) == 1)
    }

    /// A lease of a second or two ends within seconds of a server start. A worker needs longer to find the server.
    @Test func aShortLeaseLeavesWorkersTimeToFindTheServer() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await LedgerLab(on: server)
        try await lab.set("lease = '1 s'")
        _ = try await lab.ledger.keepHouse()
        try server.restart(.fast)
        try await lab.age(by: .seconds(5))
        _ = try await lab.ledger.keepHouse()
        // Both times are those of the tick, so that it does not matter when the test looks.
        let quiet: Duration = try await lab.value("select quiet_until - resumed_at from \(lab.schema).house")
        #expect(quiet >= .seconds(10))
    }

    /// A server that freezes in the middle of a tick goes on with the tick when it thaws. No worker could beat
    /// meanwhile.
    @Test func aTickThatStoodStillReapsNoWorkerWhoseLeaseEndedMeanwhile() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        _ = try await lab.claim(1, for: worker)
        _ = try await lab.ledger.keepHouse()
        let schema = lab.schema
        try await lab.lab.run { try $0.execute("update \(schema).house set quiet_until = '-infinity'") }
        try await lab.age(by: lab.lease * 2)
        let reaped: Int = try await lab.value("select \(schema).reap()")
        #expect(reaped == 0)
        #expect(try await lab.truth() == ["running": 1])
    }

    /// The server was away for only a moment. No gap shows the restart, but the server's start time does.
    @Test func alsoAfterARestartThatTookNoTime() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await LedgerLab(on: server)
        try await lab.submit(1)
        let worker = try await lab.worker()
        _ = try await lab.claim(1, for: worker)
        _ = try await lab.ledger.keepHouse()
        #expect(try await pass(lab, sixths: 5) == 0)
        try server.restart(.fast)
        #expect(try await pass(lab, sixths: 5) == 0)
        #expect(try await lab.truth() == ["running": 1])
        #expect(try await pass(lab, sixths: 3) == 1)
    }

    @Test func coordinatorsThatTickAtOnceKeepHouseOnce() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        try await lab.submit(50)
        let worker = try await lab.worker()
        _ = try await lab.claim(50, for: worker)
        _ = try await lab.ledger.keepHouse()
        var reaped = 0
        for _ in 0..<8 {
            try await lab.age(by: lab.lease / 6)
            let reports = try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await lab.ledger.keepHouse() } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(reports.contains { !$0.chores.isEmpty })
            for report in reports {
                #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
                reaped += report["reap"]?.affected ?? 0
            }
        }
        #expect(reaped == 50)
        let attempts: Int = try await lab.value("select count(*) from \(lab.schema).attempt")
        #expect(attempts == 50)
        #expect(try await lab.truth() == ["waiting": 50])
    }

    @Test func aPublicationThatIsLeftLyingIsHandedToOneWhoFinishesIt() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(3)
        let worker = try await lab.worker()
        let claims = try await lab.claim(3, for: worker)
        try await lab.ledger.publish(claims.prefix(2).map { LedgerLab.publication($0.fence) })
        #expect(try await lab.ledger.takeUnfinished().isEmpty)
        try await lab.age(by: .seconds(3_601))
        let taken = try await lab.ledger.takeUnfinished()
        #expect(taken.map(\.fence) == claims.prefix(2).map(\.fence))
        #expect(taken.map(\.recipe) == claims.prefix(2).map(\.recipe))
        #expect(taken[0].file.digest == LedgerLab.publication(taken[0].fence).digest)
        #expect(taken[0].attemptName == LedgerLab.publication(taken[0].fence).attemptName)
        #expect(taken[0].file.bytes == 1_234)
        #expect(try await lab.ledger.takeUnfinished().isEmpty)
        // The worker is long gone, but its fence is still valid.
        #expect(try await lab.ledger.finish([taken[0].fence]) == [.done])
        let torn = AttemptFailure(taken[1].fence, LedgerLab.failure(.permanent, code: "attempt_lost", stage: "publish"))
        #expect(try await lab.ledger.fail([torn]) == [.done])
        #expect(try await lab.truth() == ["completed": 1, "failed": 1, "running": 1])
    }

    /// Otherwise a caller without the root would withhold the publication from capable callers for a whole grace
    /// period.
    @Test func aPublicationIsHandedOnlyToThoseWhoHaveItsRoot() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let worker = try await lab.worker()
        let fences = try await lab.claim(2, for: worker).map(\.fence)
        let skipped = Publication(fences[1], attemptName: "", digest: "", bytes: 0)
        try await lab.ledger.publish([LedgerLab.publication(fences[0]), skipped])
        try await lab.age(by: .seconds(3_601))
        // A skipped job has no file.
        #expect(try await lab.ledger.takeUnfinished(in: []).map(\.fence) == [fences[1]])
        for _ in 0..<50 { #expect(try await lab.ledger.takeUnfinished(in: ["in", "elsewhere"]).isEmpty) }
        #expect(try await lab.ledger.takeUnfinished(in: ["in", "out"]).map(\.fence) == [fences[0]])
        #expect(try await lab.ledger.takeUnfinished(in: ["out"]).isEmpty)
        try await lab.age(by: .seconds(3_601))
        #expect(Set(try await lab.ledger.takeUnfinished().map(\.fence)) == Set(fences))
    }

    /// Nothing is known about beats before the first tick, or about beats that a crash lost.
    @Test func theFirstTickReapsNoWorkerForAWholeLease() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        let claim = try await lab.claim(1, for: worker)[0]
        let schema = lab.schema
        try await lab.lab.run { _ = try $0.script("update \(schema).worker set lease_until = beat_at", changes: true) }
        _ = try await lab.ledger.keepHouse()
        #expect(try await lab.state(claim.fence.job) == "running")
        for _ in 1...7 {
            try await lab.age(by: lab.lease / 6)
            _ = try await lab.ledger.keepHouse()
        }
        #expect(try await lab.state(claim.fence.job) == "waiting")
    }

    /// A failover could repeat a sequence number, and two workers would then share it.
    @Test func numbersOfWorkersAreDrawn() async throws {
        let lab = try await LedgerLab()
        var numbers: [Int64] = []
        for _ in 0..<20 { numbers.append(try await lab.worker().worker) }
        #expect(Set(numbers).count == numbers.count)
        #expect(Set(numbers.map { $0 % 1024 }).count > 1)
        #expect(numbers.allSatisfy { $0 > 1 << 40 && $0 < 1 << 53 })
    }

    @Test func jobsThatStandStillUnderAWorkerThatBeatsAreTakenFromIt() async throws {
        let lab = try await LedgerLab()
        // Both limits are far longer than a slow machine takes, and both end before the last beat.
        try await lab.set("stall = '1000 s', lease = '600 s'")
        try await lab.submit(2)
        let worker = try await lab.worker()
        let claims = try await lab.claim(2, for: worker)
        _ = try await lab.ledger.keepHouse()
        for second in 1...14 {
            try await lab.age(by: .seconds(100))
            _ = try await lab.heartbeat.beat(
                worker.worker,
                [RunningJob(claims[0].fence, frames: Int64(second)), RunningJob(claims[1].fence, frames: 0)]
            )
            _ = try await lab.ledger.keepHouse()
        }
        #expect(try await lab.state(claims[0].fence.job) == "running")
        let story = try #require(try await lab.ledger.story(of: claims[1].fence.job))
        // The back-off before another try may be arbitrarily short.
        #expect([.delayed, .waiting].contains(story.summary.state))
        #expect(story.attempts.map(\.failure?.code) == [FailureCode.stalled.rawValue])
        #expect(story.summary.attempts == 1)
    }

    /// The worker reports progress, and does not notice that the recipe's time is over.
    @Test func jobsThatRunPastTheirTimeAreTakenFromTheirWorker() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '600 s', deadline_grace = '10 s'")
        try await lab.submit(1)
        try await lab.lab.run { connection in
            let limit = #"{"limits": {"wallSeconds": 500}}"#
            _ = try connection.script("update \(lab.schema).job set recipe = recipe || '\(limit)'", changes: true)
        }
        let worker = try await lab.worker()
        let claim = try await lab.claim(1, for: worker)[0]
        _ = try await lab.ledger.keepHouse()
        for second in 1...8 {
            try await lab.age(by: .seconds(100))
            _ = try await lab.heartbeat.beat(worker.worker, [RunningJob(claim.fence, frames: Int64(second))])
            _ = try await lab.ledger.keepHouse()
            if second == 4 { #expect(try await lab.state(claim.fence.job) == "running") }
        }
        let story = try #require(try await lab.ledger.story(of: claim.fence.job))
        #expect(story.attempts.map(\.failure?.known) == [.deadlineMissed])
        #expect(story.attempts.first?.failure?.kind == .transient)
    }

    /// While a worker is unreachable, the ledger cannot see its jobs progress.
    @Test func anOutageIsNotHeldAgainstJobsThatStoodStillInIt() async throws {
        let lab = try await LedgerLab()
        try await lab.set("stall = '1000 s', lease = '600 s'")
        try await lab.submit(1)
        let worker = try await lab.worker()
        let claim = try await lab.claim(1, for: worker)[0]
        _ = try await lab.ledger.keepHouse()
        try await lab.age(by: .seconds(5_000))
        for second in 1...13 {
            _ = try await lab.heartbeat.beat(worker.worker, [RunningJob(claim.fence, frames: 0, slot: 1)])
            _ = try await lab.ledger.keepHouse()
            // The quiet period after the outage ends with the seventh beat, and the stall limit of the job with the
            // twelfth.
            if second == 10 { #expect(try await lab.state(claim.fence.job) == "running") }
            try await lab.age(by: .seconds(100))
        }
        let story = try #require(try await lab.ledger.story(of: claim.fence.job))
        #expect(story.attempts.map(\.failure?.code) == [FailureCode.stalled.rawValue])
    }

    @Test func partitionsAreMadeAheadAndDroppedWhenTheirTimeIsOver() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', span_size = 1000, keep = '2 h'")
        let worker = try await lab.worker()
        try await lab.submit(2_500, Submission(key: "old"))
        _ = try await lab.ledger.keepHouse()
        let schema = lab.schema
        let spans: Int = try await lab.value("select count(*) from \(schema).span")
        let last: Int64 = try await lab.value("select max(next_id) from \(schema).span")
        #expect(last >= 2_500 + 2_000)
        while true {
            let claims = try await lab.claim(1_000, for: worker)
            if claims.isEmpty { break }
            let answers = try await lab.ledger.publish(claims.map { LedgerLab.publication($0.fence) })
            #expect(answers.allSatisfy { $0 == .done })
            try await lab.ledger.finish(claims.map(\.fence))
        }
        try await lab.age(by: .seconds(7_300))
        let other = try await lab.submit(1)
        var dropped = 0
        for _ in 0..<4 {
            let report = try await lab.ledger.keepHouse()
            #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
            dropped += report["drop_old"]?.affected ?? 0
            try await lab.age(by: .seconds(301))
        }
        #expect(dropped == 2)
        let left: Int = try await lab.value("select count(*) from \(schema).span")
        #expect(left >= spans - 2)
        // Jobs that share a span with open jobs stay.
        #expect(try await lab.truth() == ["completed": 500, "waiting": 1])
        let counts = try await lab.ledger.status().jobs
        #expect((counts.completed, counts.waiting, counts.total) == (500, 1, 501))
        #expect(try await lab.state(other.firstJob) == "waiting")
    }

    @Test func withoutHousekeepingPartitionsAreMadeByThoseWhoSubmit() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        try await lab.set("span_size = 1000")
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask { try await lab.submit(700, Submission(label: "batch \(number)")) }
            }
            try await group.waitForAll()
        }
        #expect(try await lab.truth() == ["waiting": 5_600])
    }

    // MARK: - Rests

    /// Ticks of one process, which may rest.
    private func tick(_ lab: LedgerLab) async throws -> HousekeepingReport {
        try await lab.lab.run {
            try $0.execute("update \(lab.schema).chore set due_at = '-infinity'")
            try $0.execute(
                "update \(lab.schema).house set tick_at = least(tick_at, \(lab.schema).ledger_time() - interval '900 ms')"
            )
        }
        return try await lab.ledger.keepHouse(rests: true)
    }

    /// The length of the rest that the ledger keeps, from the tick that began it; zero without a rest. Unlike the time that is
    /// left of it, the length does not depend on how fast the machine is.
    private func keptRest(_ lab: LedgerLab) async throws -> Duration {
        try await lab.value(
            """
            select case when isfinite(rest_until) then rest_until - tick_at else interval '0' end from \(lab.schema).house
            """
        )
    }

    /// Ticks until one has found nothing to do, and returns the length of the rest that it began. A chore may leave something
    /// to the next tick, and those of a new ledger make its first spans.
    private func restOfTicks(_ lab: LedgerLab) async throws -> Duration {
        for _ in 0..<5 {
            let report = try await tick(lab)
            #expect(report.chores.count == 13)
            let rest = try await keptRest(lab)
            if rest > .zero { return rest }
        }
        throw SupportError("tick until there is nothing to do", "every tick found something")
    }

    @Test func whenNothingIsToBeDoneAllProcessesRest() async throws {
        let lab = try await LedgerLab()
        let rest = try await restOfTicks(lab)
        #expect(rest == .seconds(5))
        // Another process, whose tick comes in between, keeps to it. A slow machine needs more than five seconds for that.
        let longer: Duration = .seconds(3_600)
        try await lab.lab.run { try $0.execute("update \(lab.schema).house set rest_until = rest_until + \(longer)") }
        let other = try await tick(lab)
        #expect(other.chores.isEmpty)
        let left = try #require(other.rest)
        #expect(left > longer / 2 && left <= rest + longer)
        try await lab.age(by: rest + longer)
        #expect(try await tick(lab).chores.count == 13)
    }

    @Test func restEndsWithTheNextJob() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        _ = try await restOfTicks(lab)
        try await lab.submit(1)
        let report = try await tick(lab)
        let folded = report["fold_counts"]?.affected ?? 0
        #expect(folded > 0 && report.rest == nil)
        // As long as a job is there, the next tick comes as usual, whatever the chores find.
        #expect(try await tick(lab).rest == nil)
        let claim = try #require(try await lab.claim(1, for: worker).first)
        for _ in 0..<2 { #expect(try await tick(lab).rest == nil) }
        try await lab.ledger.publish([LedgerLab.publication(claim.fence)])
        try await lab.ledger.finish([claim.fence])
        _ = try await restOfTicks(lab)
    }

    @Test func delayedJobKeepsTheHouseAwake() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1, Submission(runAt: try await lab.ledger.time() + 3_600))
        for _ in 0..<3 { #expect(try await tick(lab).rest == nil) }
    }

    /// A worker must be found lost as soon as its lease is over.
    @Test func restEndsNoLaterThanALease() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.worker()
        #expect(try await restOfTicks(lab) == .seconds(5))
        // A rest is counted from its tick. The lease ends three seconds after this one, and long after the test.
        try await lab.lab.run { connection in
            let end = "select lease_until from \(lab.schema).worker where ended_at is null"
            _ = try connection.script(
                "update \(lab.schema).house set rest_until = '-infinity', tick_at = (\(end)) - interval '3 s'",
                changes: true
            )
        }
        let _: Int32 = try await lab.value("select \(lab.schema).house_rest(true)")
        #expect(try await keptRest(lab) == .seconds(3))
    }

    /// Between a tick that has found something and its next page, a caller that comes too early for a tick must not stop it.
    @Test func onlyATickThatFoundNothingBeginsARest() async throws {
        let lab = try await LedgerLab()
        _ = try await restOfTicks(lab)
        try await lab.age(by: .seconds(10))
        let report = try await lab.ledger.keepHouse()
        #expect(!report.chores.isEmpty)
        var rests: [Duration] = []
        for isQuiet in [false, true, false] {
            let _: Int32 = try await lab.value("select \(lab.schema).house_rest(\(isQuiet))")
            rests.append(try await keptRest(lab))
        }
        #expect(rests == [.zero, .seconds(5), .seconds(5)])
    }

    /// A server that takes over may be behind the one that began the rest.
    @Test func clockThatGoesBackEndsARest() async throws {
        let lab = try await LedgerLab()
        _ = try await restOfTicks(lab)
        try await lab.age(by: .seconds(-3_600))
        try await lab.lab.run { try $0.execute("update \(lab.schema).chore set due_at = '-infinity'") }
        let report = try await lab.ledger.keepHouse(rests: true)
        #expect(!report.chores.isEmpty)
        #expect(report.rest.map { $0 <= .seconds(5) } ?? true)
    }

    @Test func restIsNoOutage() async throws {
        let lab = try await LedgerLab()
        // The shortest lease for which a rest is as long as it can be. A third of it without a tick is an outage.
        try await lab.set("lease = '30 s'")
        let rest = try await restOfTicks(lab)
        #expect(rest + .seconds(1) < .seconds(10))
        // A busy machine adds seconds of its own.
        try await lab.set("lease = '5 min'")
        try await lab.age(by: rest + .seconds(1))
        for _ in 0..<5 { try await lab.age(by: try await restOfTicks(lab) + .seconds(1)) }
        // The first tick of a ledger is followed by a quiet time, and no later one is.
        let since: String = try await lab.value("select coalesce(stood_since::text, 'never') from \(lab.schema).house")
        #expect(since == "never")
    }

    @Test func claimSaysWhetherAnythingCanComeWithoutANotification() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        #expect(try await lab.ledger.claim(1, for: worker.worker).isLedgerIdle)
        // Delayed jobs come by the clock.
        try await lab.submit(1, Submission(runAt: try await lab.ledger.time() + 3_600))
        let claims = try await lab.ledger.claim(1, for: worker.worker)
        #expect(claims.jobs.isEmpty && !claims.isLedgerIdle)
    }
}
