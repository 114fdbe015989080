import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice cancel` of a running conversion, with real processes on both sides.
struct CancelTests {
    /// The worker sends a heartbeat every third of its lease.
    private func lab(beatEvery seconds: Int) async throws -> (lab: WorkerLab, jobs: [Int64]) {
        let lab = try await WorkerLab(lease: "\(3 * seconds) s")
        return (lab, try await lab.submitLong(1))
    }

    /// Waits until the output's unnamed file is open in the worker and the beat with its first progress has been
    /// sent. That beat would also fetch a cancellation.
    private func untilWriting(_ worker: WorkerProcess, in lab: WorkerLab) async throws {
        try await lab.wait("the output is open") { try openOutputs(worker, in: lab) > 0 }
        try await lab.wait("its progress is reported") {
            try lab.sql("select count(*) from \(lab.schema).running where frames > 0") == "1"
        }
        #expect(try lab.truth() == ["running": 1])
    }

    private func openOutputs(_ worker: WorkerProcess, in lab: WorkerLab) throws -> Int {
        let place = "/proc/\(worker.id)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: place).count { name in
            // If the descriptor was closed since the folder was read, the link is gone.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/\(name)")
            return target?.hasPrefix(lab.path("out/")) ?? false
        }
    }

    /// Cancels with the command. Returns the time until the ledger has recorded the job's end.
    private func cancel(_ jobs: [Int64], of lab: WorkerLab) async throws -> Duration {
        let words = ["cancel"] + jobs.map { "\($0)" } + ["--yes", "--schema", lab.schema.text]
        let environment = ["PATH": "/usr/bin:/bin", "HOME": "/", "SLUICE_DATABASE_URL": lab.url]
        let start = ContinuousClock.now
        let run = try Run.program(WorkerProcess.program, words, environment: environment).checked()
        #expect(run.outputText == "0 jobs cancelled, 1 running job being stopped\n")
        try await lab.wait(for: 1, "cancelled")
        return .now - start
    }

    /// The job has left no file and no open descriptor, and its attempt is recorded as cancelled.
    private func expectNothingLeft(_ worker: WorkerProcess, of lab: WorkerLab, _ job: Int64) async throws {
        #expect(try lab.outputs().isEmpty)
        try await lab.wait("the output is closed") { try openOutputs(worker, in: lab) == 0 }
        let attempt = try #require(try await lab.ledger.story(of: job)?.attempts.last)
        #expect(attempt.outcome == .cancelled)
        #expect(attempt.failure?.message == "the job was cancelled; its partial output was removed")
        try await worker.stopsWell()
        #expect(worker.lines("attempt").map(\.outcome) == ["cancelled"])
    }

    /// A job that takes longer than a second reports its progress then, and does not wait
    /// for the next beat that is due.
    @Test func progressOfALongJobIsSeenLongBeforeTheNextBeat() async throws {
        let (lab, _) = try await lab(beatEvery: 100)
        let start = ContinuousClock.now
        let worker = try lab.worker("--slots", "1", "--grace", "0s")
        try await untilWriting(worker, in: lab)
        #expect(.now - start < .seconds(80))
        try await worker.stopsWell()
    }

    @Test func notificationStopsAJobLongBeforeTheNextBeat() async throws {
        let (lab, jobs) = try await lab(beatEvery: 100)
        let worker = try lab.worker("--slots", "1")
        try await untilWriting(worker, in: lab)
        let took = try await cancel(jobs, of: lab)
        #expect(took < .seconds(80))
        try await expectNothingLeft(worker, of: lab, jobs[0])
    }

    /// A worker asks at most once a second, and must not forget news that arrives in between.
    @Test func cancellationRightBehindOtherNewsIsHeardToo() async throws {
        let (lab, jobs) = try await lab(beatEvery: 100)
        try lab.addSource()
        let worker = try lab.worker("--slots", "1")
        try await untilWriting(worker, in: lab)
        // Each submission is news to the worker, which is busy.
        for number in 0..<5 { try await lab.submit(1, "news\(number)-") }
        try await lab.ledger.apply(.cancel, to: JobFilter(ids: jobs))
        let asked = ContinuousClock.now
        try await lab.wait(for: 1, "cancelled")
        #expect(.now - asked < .seconds(80))
        try await lab.wait(for: 5, "completed")
        try await worker.stopsWell()
    }

    @Test func withoutNotificationsTheNextBeatStopsAJob() async throws {
        let (lab, jobs) = try await lab(beatEvery: 5)
        // In transaction mode, LISTEN does not work.
        let bouncer = try PrivatePostgresBouncer.start(before: lab.server, poolSize: 5)
        let words = ["worker", "--root", "in=\(lab.path("in"))", "--root", "out=\(lab.path("out"))", "--slots", "1"]
        let worker = try WorkerProcess(
            [],
            words + ["--schema", lab.schema.text],
            url: bouncer.url(database: lab.database),
            in: lab.folder
        )
        try await untilWriting(worker, in: lab)
        let took = try await cancel(jobs, of: lab)
        // Without that beat the job would go on to its end.
        #expect(took < .seconds(80))
        try await expectNothingLeft(worker, of: lab, jobs[0])
    }
}
