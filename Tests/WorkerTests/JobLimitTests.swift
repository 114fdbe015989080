import Conversion
import Ledger
import TestSupport
import Testing

/// How `sluice worker --job-time` and `--job-cpu` end a job that exceeds them, with a real worker and a real ledger.
@Suite(.timeLimit(.minutes(15))) struct JobLimitTests {
    /// Runs the job that `submit` makes, between good ones, on a worker with the given limit. Returns the job's story.
    private func end(
        _ limit: [String],
        program: String = WorkerProcess.program,
        _ submit: (WorkerLab) async throws -> Int64
    ) async throws -> JobStory {
        let lab = try await WorkerLab()
        try lab.addSource()
        let before = try await lab.submit(2, "before")
        let job = try await submit(lab)
        let worker = try WorkerProcess(
            [],
            ["worker", "--slots", "1", "--root", "in=\(lab.path("in"))", "--root", "out=\(lab.path("out"))"] + limit
                + ["--schema", lab.schema.text],
            url: lab.url,
            in: lab.folder,
            program: program
        )
        try await lab.wait(for: 1, "failed")
        // The same worker goes on.
        let after = try await lab.submit(2, "after")
        try await lab.wait(for: before.count + after.count, "completed")
        #expect(worker.lines("started").count == 1 && worker.lines("lease_lost").isEmpty)
        #expect(worker.lines("paused").isEmpty)
        try await worker.stopsWell()
        #expect(try lab.outputs() == ["after0.flac", "after1.flac", "before0.flac", "before1.flac"])
        #expect(try lab.sql("select max(spent) from \(lab.schema).finished where state = 'completed'") == "1")
        return try #require(try await lab.ledger.story(of: job))
    }

    /// The job failed permanently after one attempt.
    private func expectEnd(_ story: JobStory, _ code: String, says: String) throws {
        #expect(story.summary.state == .failed && story.summary.code == code && story.summary.kind == .permanent)
        #expect(story.attempts.count == 1)
        let failure = try #require(story.attempts.first?.failure)
        #expect(failure.code == code && failure.kind == .permanent && failure.stage == "decode", "\(failure)")
        #expect(failure.message.contains(says), "\(failure.message)")
    }

    private func long(_ lab: WorkerLab) async throws -> Int64 { try await lab.submitLong(1)[0] }

    private func poisoned(_ poison: Poison, _ lab: WorkerLab) async throws -> Int64 {
        try poison.write(to: lab.path("in/poison.wav"))
        return try await lab.submit([WorkerLab.recipe("in:poison.wav", to: "out:poison.flac")])[0]
    }

    @Test func jobBeyondJobTimeEnds() async throws {
        let story = try await end(["--job-time", "2s"], long)
        try expectEnd(story, "deadline_exceeded", says: "the job exceeded its time limit of 2 s")
    }

    /// Its room does not stop when it is asked to, and is killed.
    @Test func jobThatHangsBeyondJobTimeEnds() async throws {
        let story = try await end(["--job-time", "2s"], program: WorkerProcess.poisoned) {
            try await poisoned(.hang, $0)
        }
        try expectEnd(story, "deadline_exceeded", says: "the job exceeded its time limit of 2 s")
    }

    @Test func jobBeyondJobCPUEnds() async throws {
        let story = try await end(["--job-cpu", "1s"], long)
        try expectEnd(story, "cpu_seconds_exceeded", says: "CPU time")
    }

    /// Its room no longer checks its own time, so the worker reads it from the kernel.
    @Test func jobThatSpinsBeyondJobCPUEnds() async throws {
        let story = try await end(["--job-cpu", "1s"], program: WorkerProcess.poisoned) {
            try await poisoned(.spin, $0)
        }
        try expectEnd(story, "cpu_seconds_exceeded", says: "the job exceeded its limit of 1 s of CPU time")
    }
}
