import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Sources that are written while they are read: what was read is no state of the file, so nothing is made of it.
struct ChangingSourceTests {
    private func failure(_ lab: WorkerLab, _ job: Int64) async throws -> Failure {
        try #require(try await lab.failure(job))
    }

    /// Gives a file another time until a job has ended, as a program does that writes it.
    private func touch(_ path: String, untilTheEndIn lab: WorkerLab) async throws {
        var seconds = 1_000_000
        try await lab.wait("the job ends") {
            seconds += 1
            let status = utimensat(AT_FDCWD, path, [timespec(), timespec(tv_sec: seconds, tv_nsec: 0)], 0)
            try #require(status == 0)
            return try lab.sql("select count(*) from \(lab.schema).finished") == "1"
        }
    }

    @Test func aConversionOfAChangedSourceIsNotPublished() async throws {
        let lab = try await WorkerLab()
        try lab.addLongSource(seconds: 1_800)
        let recipe = WorkerLab.recipe("in:long.wav", to: "out:long.flac")
        let job = try await lab.submitOnce(recipe)
        let worker = try lab.worker()
        try await touch(lab.path("in/long.wav"), untilTheEndIn: lab)
        let failure = try await failure(lab, job)
        #expect(failure.known == .sourceChanged && failure.kind == .transient, "\(failure)")
        #expect(try lab.outputs() == [])
        // The file is complete.
        try await lab.ledger.apply(.retry, to: JobFilter(ids: [job]))
        try await lab.wait(for: 1, "completed")
        #expect(try lab.outputs() == ["long.flac"])
        try await worker.stopsWell()
    }

    /// Its damage is not that of the file that will be there, so the job is tried again.
    @Test func aSourceThatIsCutOffMeanwhileIsNotDamaged() async throws {
        let lab = try await WorkerLab()
        try lab.addLongSource()
        let recipe = WorkerLab.recipe("in:long.wav", to: "out:long.mp3")
        let job = try await lab.submitOnce(recipe)
        let worker = try lab.worker()
        try await lab.waitForMovement()
        try #require(truncate(lab.path("in/long.wav"), 1_000_000) == 0)
        try await lab.wait(for: 1, "failed")
        let failure = try await failure(lab, job)
        #expect(failure.known == .sourceChanged && failure.message.contains("truncated"), "\(failure)")
        #expect(try lab.outputs() == [])
        try await worker.stopsWell()
    }

    /// The worker reads the file that it has opened, whatever the name means later.
    @Test func aSourceThatIsReplacedMeanwhileIsReadToItsEnd() async throws {
        let lab = try await WorkerLab()
        let lengths = [4_000, 8_000]
        for length in lengths { try lab.addSource("\(length).wav", frames: length) }
        try lab.addSource(frames: lengths[0])
        try await lab.submit(40)
        let worker = try lab.worker()
        var turn = 0
        try await lab.wait("all are done") {
            turn += 1
            let path = lab.path("in/\(lengths[turn % 2]).wav")
            try #require(link(path, lab.path("in/next")) == 0)
            try #require(rename(lab.path("in/next"), lab.path("in/talk.wav")) == 0)
            return try lab.truth() == ["completed": 40]
        }
        let frames = try lab.sql("select distinct frames_in from \(lab.schema).attempt")
        let found: [Int] = frames.split(separator: "\n").compactMap { Int($0) }
        #expect(!found.isEmpty && found.allSatisfy(lengths.contains), "\(frames)")
        #expect(try lab.attempts() == ["completed": 40])
        try await worker.stopsWell()
    }
}
