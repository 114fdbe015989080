import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Worker

/// The outcomes of jobs, and what the ledger records of them.
struct OutcomeTests {
    @Test func destinationThatExistsIsKeptReplacedOrSkippedAsTheRecipeSays() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        for name in ["fail", "replace", "skip"] {
            try Bytes.write(Array("before".utf8), to: lab.path("out/\(name).flac"))
        }
        try await lab.submit([
            WorkerLab.recipe(to: "out:fail.flac", onConflict: .fail),
            WorkerLab.recipe(to: "out:replace.flac", onConflict: .replace),
            WorkerLab.recipe(to: "out:skip.flac", onConflict: .skip),
        ])
        let worker = try lab.worker()
        try await lab.wait("all have ended") { try lab.truth() == ["completed": 1, "failed": 1, "skipped": 1] }
        try await worker.stopsWell()
        #expect(try Bytes.read(lab.path("out/fail.flac")) == Array("before".utf8))
        #expect(try FFmpeg.decode(lab.path("out/replace.flac")).frames == 4_000)
        #expect(try Bytes.read(lab.path("out/skip.flac")) == Array("before".utf8))
        #expect(try lab.attempts() == ["completed": 2, "failed destination_exists": 1])
        #expect(Set(worker.lines("attempt").compactMap(\.outcome)) == ["completed", "failed", "skipped"])
        #expect(try lab.outputs().count == 3, "no hidden file is left")
    }

    @Test func sourceIsNeverReplacedByWhateverName() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("same.wav")
        try #require(link(lab.path("in/same.wav"), lab.path("out/other.wav")) == 0)
        let before = try Bytes.read(lab.path("in/same.wav"))
        try await lab.submit([
            WorkerLab.recipe("in:same.wav", to: "in:same.wav", onConflict: .replace),
            WorkerLab.recipe("in:same.wav", to: "out:other.wav", onConflict: .replace),
        ])
        let worker = try lab.worker()
        try await lab.wait(for: 2, "failed")
        try await worker.stopsWell()
        #expect(try lab.attempts() == ["failed destination_is_source": 2])
        #expect(try Bytes.read(lab.path("in/same.wav")) == before)
    }

    /// A recorder died after it had counted half of three seconds.
    @Test func soundThatTheHeaderDoesNotCountFailsTheJob() async throws {
        let lab = try await WorkerLab()
        let sound = Signal.noise(seed: 3, rate: 8_000, frames: 24_000).pcm(.s16)
        try WAVFile.write(sound, to: lab.path("in/half.wav"), options: .init(claimedDataSize: 24_000))
        let jobs = try await lab.submit([WorkerLab.recipe("in:half.wav", to: "out:half.flac")])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "failed")
        try await worker.stopsWell()
        let failure = try #require(try await lab.failure(jobs[0]))
        #expect(failure.known == .uncountedSound && failure.kind == .permanent && failure.frame == 12_000)
        #expect(try lab.outputs() == [])
    }

    @Test func failuresAreRecordedWithCodeClassAndStage() async throws {
        let lab = try await WorkerLab()
        try Bytes.write(Array("not a sound\n".utf8), to: lab.path("in/text.wav"))
        let jobs = try await lab.submit([
            WorkerLab.recipe("in:missing.wav", to: "out:a.flac"), WorkerLab.recipe("in:text.wav", to: "out:b.flac"),
            WorkerLab.recipe("in:../passwd", to: "out:c.flac"),
        ])
        let worker = try lab.worker()
        try await lab.wait(for: 3, "failed")
        try await worker.stopsWell()
        var failures: [Failure] = []
        for job in jobs { failures.append(try #require(try await lab.failure(job))) }
        #expect(failures.map(\.code) == ["source_not_found", "unknown_container", "outside_root"])
        #expect(failures.map(\.stage) == ["open", "open", "open"])
        #expect(failures.allSatisfy { $0.kind == .permanent })
        #expect(try lab.outputs().isEmpty)
    }

    @Test func jobOfAnUnknownRootIsLeftForAWorkerThatHasIt() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let job = try #require(try await lab.submit(1).first)
        let lacking = try lab.worker(roots: ["in"])
        try await lacking.waits(for: "attempt")
        #expect(lacking.lines("attempt").first?.outcome == "released")
        #expect(lacking.lines("attempt").first?.reason == "root:out")
        #expect(try await lab.ledger.story(of: job)?.waitingFor == .unable)
        let able = try lab.worker()
        try await lab.wait(for: 1, "completed")
        try await lacking.stopsWell()
        try await able.stopsWell()
        #expect(lacking.lines("attempt").count == 1, "it does not get the job again")
        #expect(try lab.attempts() == ["completed": 1, "released unable": 1])
    }

    @Test func cancelledJobIsStoppedAndLeavesNothing() async throws {
        let lab = try await WorkerLab()
        let jobs = try await lab.submitLong(1)
        let worker = try lab.worker()
        try await lab.wait(for: 1, "running")
        try await lab.ledger.apply(.cancel, to: JobFilter(ids: jobs))
        let asked = ContinuousClock.now
        try await lab.wait(for: 1, "cancelled")
        // NOTIFY announces the cancellation and a beat fetches it. The lease of ten minutes does not matter.
        #expect(.now - asked < .seconds(120))
        #expect(try lab.outputs().isEmpty)
        #expect(try lab.attempts() == ["cancelled cancelled": 1])
        try await worker.stopsWell()
        #expect(worker.lines("attempt").map(\.outcome) == ["cancelled"])
    }

    @Test func errorThatTheCatalogueDoesNotKnowIsTheWorkersOwn() {
        struct Odd: Error {}
        let failure = Failure(Odd())
        #expect(failure.known == .workerError && failure.kind == .infrastructure)
        #expect(failure.message.contains("Odd") && failure.hint == FailureCode.workerError.advice)
    }
}
