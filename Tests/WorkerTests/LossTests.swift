import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Workers that die, are suspended or cannot reach the ledger.
struct LossTests {
    /// The test waits until it ends. A live worker that a busy machine holds up must not lose it.
    private static let shortLease = "10 s"

    @Test func jobOfAKilledWorkerIsDoneByAnother() async throws {
        let lab = try await WorkerLab(lease: Self.shortLease)
        try lab.addSource()
        try await lab.submitLong(1)
        let doomed = try lab.worker()
        try await lab.wait(for: 1, "running")
        doomed.kill()
        // Make the long job's source short, so that the next worker can finish it.
        try lab.addSource("long.wav")
        let next = try lab.worker()
        try await lab.wait(for: 1, "completed")
        try await next.stopsWell()
        #expect(try lab.outputs() == ["long0.mp3"])
        #expect(try lab.attempts() == ["completed": 1, "lost worker_lost": 1])
    }

    @Test func workerThatSleptBeyondItsLeasePublishesNothingAndGoesOn() async throws {
        let lab = try await WorkerLab(lease: Self.shortLease)
        try await lab.submitLong(1)
        let zombie = try lab.worker("--slots", "1")
        try await lab.wait(for: 1, "running")
        zombie.signal(SIGSTOP)
        try lab.addSource("long.wav")
        let next = try lab.worker()
        try await lab.wait(for: 1, "completed")
        let published = try Bytes.read(lab.path("out/long0.mp3"))
        zombie.signal(SIGCONT)
        try await zombie.waits(for: "registered_again")
        #expect(zombie.lines("lease_lost").count == 1)
        #expect(try Bytes.read(lab.path("out/long0.mp3")) == published)
        #expect(try lab.outputs() == ["long0.mp3"])
        // The other worker is gone, so the resumed one does the next job.
        try await next.stopsWell()
        try lab.addSource()
        try await lab.submit(1)
        try await lab.wait(for: 2, "completed")
        try await zombie.stopsWell()
        #expect(try lab.attempts() == ["completed": 2, "lost worker_lost": 1])
    }

    @Test func outageShorterThanTheLeaseIsSurvivedByWhatRuns() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await WorkerLab(on: server, lease: "60 s")
        try lab.addSource()
        let worker = try lab.worker()
        var (count, outages) = (0, 0)
        while outages < 3 {
            try #require(count < 2_000, "the worker had no jobs in any outage")
            try await lab.submit(200, "a\(count)-")
            count += 200
            try await lab.wait("some more are done") { try lab.truth()["completed", default: 0] > count - 200 + 20 }
            let before = worker.lines("ledger_away").count
            try server.stop(.immediate)
            // It notices no outage when it has done all jobs, which it may have if a busy machine stops the server late.
            try await lab.wait("it notices the outage") {
                try worker.lines("ledger_away").count > before || lab.outputs().count == count
            }
            try server.start()
            if worker.lines("ledger_away").count > before { outages += 1 }
        }
        try await lab.wait(for: count, "completed")
        try await worker.stopsWell()
        #expect(try lab.outputs().count == count, "no hidden file is left")
        #expect(try lab.attempts().keys.allSatisfy { !$0.hasPrefix("failed") && !$0.hasPrefix("lost") })
        #expect(worker.lines("lease_lost").isEmpty)
    }

    @Test func outageLongerThanTheLeaseIsSurvivedByWhatRuns() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await WorkerLab(on: server, lease: Self.shortLease)
        try await lab.submitLong(1)
        let worker = try lab.worker("--slots", "1")
        try await lab.waitForMovement()
        let frames = try lab.sql("select frames from \(lab.schema).running")
        try server.stop(.immediate)
        try await worker.waits(for: "lease_overdue")
        let kept = try #require(worker.lines("lease_overdue").first)
        #expect(kept.jobs == 1)
        #expect((3_500...3_600).contains(try #require(kept.keep_seconds)))
        try server.start()
        try await worker.waits(for: "lease_revived")
        try await lab.wait("the same attempt goes on") {
            try lab.sql("select epoch = 1 and frames > \(frames) from \(lab.schema).running") == "t"
        }
        #expect(worker.lines("lease_lost").isEmpty && worker.lines("attempt").isEmpty)
        #expect(try lab.attempts().isEmpty)
        worker.kill()
    }

    @Test func outageThatEndsWithTheWorkDoneIsSurvivedByTheOutput() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await WorkerLab(on: server, lease: Self.shortLease)
        try lab.addLongSource(seconds: 900)
        let worker = try lab.worker("--slots", "1")
        var outputs: [String] = []
        while true {
            try #require(outputs.count < 5, "each job was done before its outage")
            let stem = "try\(outputs.count)-"
            try await lab.submitLong(1, stem)
            outputs.append("\(stem)0.mp3")
            let runs = "select count(*) from \(lab.schema).running where slot is not null"
            try await lab.wait("it runs") {
                try lab.sql(runs) == "1" || lab.truth()["completed"] == outputs.count
            }
            try server.stop(.immediate)
            // It is done if a busy machine stops the server late.
            try await lab.wait("the lease is overdue") {
                try !worker.lines("lease_overdue").isEmpty || lab.outputs() == outputs
            }
            if !worker.lines("lease_overdue").isEmpty { break }
            try server.start()
        }
        // The output has its attempt's name, and waits for the ledger.
        try await lab.wait("it is converted") { try lab.outputs().contains { $0.hasSuffix(".attempt") } }
        try server.start()
        try await lab.wait(for: outputs.count, "completed")
        try await worker.stopsWell()
        #expect(try lab.attempts() == ["completed": outputs.count])
        #expect(try lab.outputs() == outputs)
    }

    @Test func outageLongerThanTheLimitStopsTheWorkAndTheWorkerComesBack() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await WorkerLab(on: server, lease: Self.shortLease)
        try await lab.submitLong(1)
        let worker = try lab.worker("--outage-limit", "0s")
        try await lab.wait(for: 1, "running")
        try server.stop(.immediate)
        try await worker.waits(for: "lease_lost")
        #expect(worker.lines("lease_overdue").isEmpty)
        try lab.addSource("long.wav")
        try server.start()
        try await worker.waits(for: "registered_again")
        try await lab.wait(for: 1, "completed")
        try await worker.stopsWell()
        #expect(try lab.attempts() == ["completed": 1, "lost worker_lost": 1])
        #expect(try lab.outputs() == ["long0.mp3"])
    }

    @Test func abandonedPublicationIsFinishedByAnotherWorker() async throws {
        let lab = try await WorkerLab(lease: "3 s", publishGrace: "1 s")
        try lab.addSource()
        // As far as the ledger can tell, this is a worker that dies between `publish` and the rename.
        try await lab.submit(2)
        let entry = try await lab.ledger.register(
            WorkerRegistration(name: "gone", host: "h", build: "1", slots: 2, abilities: ["root:in", "root:out"])
        )
        let claims = try await lab.ledger.claim(2, for: entry.worker).jobs
        try #require(claims.count == 2)
        let left = try LeftBehind.publish(claims, in: lab.path("out"))
        #expect(try await lab.ledger.publish(left) == [.done, .done])
        let worker = try lab.worker()
        try await lab.wait(for: 2, "completed")
        try await worker.stopsWell()
        #expect(try lab.outputs() == ["a0.flac", "a1.flac"])
        let finished: [Int] = worker.lines("finished_for_others").compactMap(\.count)
        let total: Int = finished.reduce(0, +)
        #expect(total == 2, "\(finished)")
        #expect(worker.lines("attempt").isEmpty)
    }

    /// A publication that the ledger cannot store does not hold up the others of its group.
    @Test func publicationThatTheLedgerRefusesHoldsUpNoOther() async throws {
        let lab = try await WorkerLab(lease: "3 s", publishGrace: "1 s")
        try lab.addSource()
        try await lab.submit(3)
        let entry = try await lab.ledger.register(
            WorkerRegistration(name: "gone", host: "h", build: "1", slots: 3, abilities: ["root:in", "root:out"])
        )
        let claims = try await lab.ledger.claim(3, for: entry.worker).jobs
        try #require(claims.count == 3)
        try await lab.ledger.publish(try LeftBehind.publish(claims, in: lab.path("out")))
        try lab.sql(
            "alter table \(lab.schema).attempt add constraint poisoned check (job <> \(claims[1].fence.job)) not valid"
        )
        let worker = try lab.worker()
        try await lab.wait(for: 2, "completed")
        #expect(try lab.truth() == ["completed": 2, "publishing": 1])
        try lab.sql("alter table \(lab.schema).attempt drop constraint poisoned")
        try await lab.wait(for: 3, "completed")
        try await worker.stopsWell()
    }

    /// The ledger has a record of which job it was, even if the worker dies before its next beat.
    @Test func jobThatEndsOneWorkerAfterAnotherIsPutAway() async throws {
        let lab = try await WorkerLab(lease: Self.shortLease)
        try lab.set("workers_lost_allowed = 2")
        let killer = try await lab.submitLong(1)[0]
        let bystanders = try await lab.submitLong(3, "bystander")
        let coordinator = try lab.coordinator()
        for round in 1...2 {
            let doomed = try lab.worker("--slots", "1")
            try await lab.waitForMovement()
            doomed.kill()
            try await lab.wait("its jobs have been handed back") { try lab.truth()["running"] == nil }
            #expect(try lab.truth()["failed"] == (round == 2 ? 1 : nil))
        }
        try await coordinator.stopsWell()
        let story = try #require(try await lab.ledger.story(of: killer))
        #expect((story.summary.code, story.summary.kind) == ("workers_lost", .permanent))
        for bystander in bystanders {
            #expect(try await lab.ledger.story(of: bystander)?.summary.state == .waiting)
        }
    }

    /// A dead worker never slows the others: jobs that it had converted, or not begun, are not suspected.
    @Test func onlyJobsInRoomsAreSuspectedWhenAWorkerWithManyIsLost() async throws {
        let lab = try await WorkerLab(lease: Self.shortLease)
        try lab.addSource()
        var count = 0
        repeat {
            try #require(count < 2_000, "no worker was killed with jobs in hand")
            try await lab.submit(400, "a\(count)-")
            count += 400
            let doomed = try lab.worker("--slots", "2")
            try await lab.wait("some are completed") { try lab.truth()["completed", default: 0] > count - 400 + 100 }
            doomed.kill()
            // It has done all jobs if a busy machine kills it late.
        } while try lab.truth()["running"] == nil
        let worker = try lab.worker("--slots", "2")
        try await lab.wait(for: count, "completed")
        let lost = "select count(*) filter (where slot is not null) from \(lab.schema).attempt where outcome = 'lost'"
        #expect(try #require(Int(try lab.sql(lost))) <= 2, "it has two rooms")
        // Jobs behind slow ones go back too, but without a message.
        let suspects = "outcome = 'released' and message like 'it ran when a worker was lost%'"
        let released = "select count(*) from \(lab.schema).attempt where \(suspects)"
        #expect(try lab.sql(released) == "0", "no worker handed back a suspect")
        try await worker.stopsWell()
    }

    /// Suspects run one at a time, so that a job that kills its workers does not take the other suspects with it again.
    @Test func jobsWhoseWorkerWasLostAreRunOneAtATime() async throws {
        let lab = try await WorkerLab(lease: "60 s")
        let suspects = try await lab.submitLong(3, "suspect")
        for job in suspects { try lab.sql("insert into \(lab.schema).suspect values (\(job), 1)") }
        try await lab.submitLong(1, "other")
        let worker = try lab.worker("--slots", "3")
        try await lab.waitForMovement(2)
        let running = try lab.sql("select job from \(lab.schema).running where slot is not null order by job")
        #expect(running == "\(suspects[0])\n\(suspects[2] + 1)")
        try await worker.stopsWell()
    }

    @Test func twoWorkersShareAQueueAndDoNothingTwice() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let workers = [try lab.worker("--slots", "1"), try lab.worker("--slots", "1")]
        for worker in workers { try await worker.waits(for: "started") }
        var count = 0
        // A busy machine may hold up one of them until the other has done all jobs.
        repeat {
            try #require(count < 2_000, "one worker has done all jobs")
            try await lab.submit(200, "a\(count)-")
            count += 200
            try await lab.wait(for: count, "completed")
        } while workers.contains { $0.lines("attempt").isEmpty }
        for worker in workers { try await worker.stopsWell() }
        let attempts: [WorkerProcess.Line] = workers.flatMap { $0.lines("attempt") }
        let completed: Int = attempts.count { $0.outcome == "completed" }
        #expect(completed == count)
        #expect(try lab.outputs().count == count)
    }
}
