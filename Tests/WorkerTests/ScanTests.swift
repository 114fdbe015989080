import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Scans by a worker: it decodes sources in a room, and writes nothing but results.
struct ScanTests {
    private static func recipe(_ name: String, loudness: Bool = false) -> Recipe {
        Recipe(scanning: .init(location: "in:\(name)"), for: .init(loudness: loudness))
    }

    /// SHA-256 by coreutils.
    private func sha256(_ bytes: [UInt8], _ lab: WorkerLab) throws -> String {
        try Bytes.write(bytes, to: lab.path("samples"))
        return String(try Run.program("sha256sum", [lab.path("samples")]).checked().outputText.prefix(64))
    }

    private func attempt(_ lab: WorkerLab, _ job: Int64) async throws -> AttemptRecord {
        try #require(try await lab.ledger.story(of: job)?.attempts.last)
    }

    /// Changes bytes of a file, and leaves its size and time.
    private func rot(_ path: String, at place: Int) throws {
        let before = try times(of: path)
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64(place))
        try file.write(contentsOf: Data([0x55, 0xAA, 0x55, 0xAA]))
        try file.close()
        try set(before, of: path)
    }

    private func times(of path: String) throws -> [timespec] {
        var facts = stat()
        let status = stat(path, &facts)
        try #require(status == 0)
        return [facts.st_atim, facts.st_mtim]
    }

    private func set(_ times: [timespec], of path: String) throws {
        let status = utimensat(AT_FDCWD, path, times, 0)
        try #require(status == 0)
    }

    @Test func aScanHasTheDigestOfTheDecodedSamples() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("a.wav", frames: 12_345)
        try FFmpeg.encode(lab.path("in/a.wav"), to: lab.path("in/b.flac"))
        let jobs = try await lab.submit([Self.recipe("a.wav", loudness: true), Self.recipe("b.flac")])
        let worker = try lab.worker()
        try await lab.wait(for: 2, "completed")
        let digest = try sha256(FFmpeg.decode(lab.path("in/a.wav")).bytes, lab)
        for job in jobs {
            let facts = try await attempt(lab, job).facts
            let scan = try #require(facts.scan)
            #expect(scan.sound?.sha256 == digest && scan.sound?.form == "s16le" && scan.sound?.decoder == nil)
            #expect(scan.frames == 12_345 && scan.damage.isEmpty && facts.framesIn == 12_345)
            #expect((scan.loudness != nil) == (job == jobs[0]))
            #expect(try await lab.ledger.story(of: job)?.summary.digest == digest)
        }
        #expect(try lab.outputs() == [])
        #expect(try lab.sql("select count(*) from \(lab.schema).scan_result where not has_rotten") == "2")
        try await worker.stopsWell()
    }

    @Test func damageEndsTheJobWithItsPlaces() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("a.wav", frames: 80_000)
        let path = lab.path("in/a.flac")
        try FFmpeg.encode(lab.path("in/a.wav"), to: path)
        let size = try Bytes.read(path).count
        try rot(path, at: size / 2)
        let jobs = try await lab.submit([Self.recipe("a.flac")])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "failed")
        let attempt = try await attempt(lab, jobs[0])
        let failure = try #require(attempt.failure)
        let scan = try #require(attempt.facts.scan)
        #expect(failure.known == .damageFound && failure.kind == .permanent)
        #expect(scan.damage.stretchCount >= 1 && scan.sound?.decoder != nil)
        #expect(failure.frame == scan.damage.stretches.first?.start)
        #expect(scan.damage.stretches.allSatisfy { $0.start + $0.frames <= scan.frames })
        #expect(try lab.attempts() == ["failed \(FailureCode.damageFound.rawValue)": 1])
        #expect(try lab.sql("select count(*) from \(lab.schema).scan_result") == "1")
        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let page = try Sluice.run(["job", "\(jobs[0])"] + address).checked().outputText
        #expect(page.contains("damaged in") && page.contains("corrupt_stream"), "\(page)")
        let errors = try Sluice.run(["errors"] + address).checked().outputText
        #expect(errors.contains(FailureCode.damageFound.rawValue), "\(errors)")
        try await worker.stopsWell()
    }

    @Test func bytesThatRotAreFound() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("a.wav", frames: 8_000)
        let path = lab.path("in/a.wav")
        let whole = try Bytes.read(path)
        let worker = try lab.worker()
        try await lab.submit([Self.recipe("a.wav")])
        try await lab.wait(for: 1, "completed")
        let digest = try lab.sql("select encode(digest, 'hex') from \(lab.schema).scan_result")
        // WAV has no checksums: only the digest tells.
        try rot(path, at: 9_000)
        let jobs = try await lab.submit([Self.recipe("a.wav")])
        try await lab.wait(for: 1, "failed")
        let failure = try #require(try await attempt(lab, jobs[0]).failure)
        #expect(failure.known == .bitRot && failure.message.contains(digest), "\(failure)")
        #expect(try lab.sql("select encode(digest, 'hex') from \(lab.schema).scan_result") == digest)
        // Restored with its time.
        let before = try times(of: path)
        try Bytes.write(whole, to: path)
        try set(before, of: path)
        try await lab.ledger.apply(.retry, to: JobFilter(ids: jobs))
        try await lab.wait(for: 2, "completed")
        try await worker.stopsWell()
    }

    /// A file that is written while it is decoded gives the sound of neither version, and its time may be the old one.
    @Test func aFileThatIsChangedMeanwhileIsNotRecorded() async throws {
        let lab = try await WorkerLab()
        try lab.addLongSource(seconds: 1_800)
        let path = lab.path("in/long.wav")
        let jobs = try await lab.submit([Self.recipe("long.wav")], Submission(maxAttempts: 1))
        let worker = try lab.worker()
        var seconds = 1_000_000
        try await lab.wait("the scan fails") {
            seconds += 1
            try set([timespec(), timespec(tv_sec: seconds, tv_nsec: 0)], of: path)
            return try lab.truth()["failed"] == 1
        }
        let failure = try #require(try await attempt(lab, jobs[0]).failure)
        #expect(failure.known == .sourceChanged && failure.kind == .transient, "\(failure)")
        #expect(try await attempt(lab, jobs[0]).facts.scan == nil)
        #expect(try lab.sql("select count(*) from \(lab.schema).scan_result") == "0")
        try await lab.ledger.apply(.retry, to: JobFilter(ids: jobs))
        try await lab.wait(for: 1, "completed")
        #expect(try lab.sql("select count(*) from \(lab.schema).scan_result") == "1")
        try await worker.stopsWell()
    }

    /// Otherwise it would be decoded again without end.
    @Test func aResultThatTheLedgerRefusesSpendsTheAttempt() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("a.wav")
        try lab.sql("alter table \(lab.schema).scan_result add constraint none_fits check (bytes < 0)")
        let jobs = try await lab.submit([Self.recipe("a.wav")], Submission(maxAttempts: 1))
        let worker = try lab.worker()
        try await lab.wait(for: 1, "failed")
        #expect(try await attempt(lab, jobs[0]).failure?.kind == .transient)
        try await worker.stopsWell()
    }

    @Test func aHeaderThatRotsIsFoundAsWell() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("a.wav", frames: 8_000)
        try FFmpeg.encode(lab.path("in/a.wav"), to: lab.path("in/a.flac"))
        let worker = try lab.worker()
        try await lab.submit([Self.recipe("a.flac")])
        try await lab.wait(for: 1, "completed")
        try rot(lab.path("in/a.flac"), at: 0)
        let jobs = try await lab.submit([Self.recipe("a.flac")])
        try await lab.wait(for: 1, "failed")
        #expect(try await attempt(lab, jobs[0]).failure?.known == .bitRot)
        try await worker.stopsWell()
    }

    @Test func whatCannotBeDecodedFailsAsAConversionWould() async throws {
        let lab = try await WorkerLab()
        try Bytes.write(Array("no sound at all".utf8), to: lab.path("in/a.wav"))
        let jobs = try await lab.submit([Self.recipe("a.wav"), Self.recipe("gone.wav")])
        let worker = try lab.worker()
        try await lab.wait(for: 2, "failed")
        let code = try await attempt(lab, jobs[0]).failure?.known
        #expect(code == .unknownContainer || code == .unreadableContainer)
        #expect(try await attempt(lab, jobs[1]).failure?.known == .sourceNotFound)
        #expect(try lab.sql("select count(*) from \(lab.schema).scan_result") == "0")
        try await worker.stopsWell()
    }

    @Test func aScanNeedsTheRootOfItsSourceOnly() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try await lab.submit([Self.recipe("talk.wav")])
        let worker = try lab.worker(roots: ["in"])
        try await lab.wait(for: 1, "completed")
        try await worker.stopsWell()
    }

    /// A worker that dies after publishing leaves nothing to rename.
    @Test func aScanThatWasLeftIsCompletedByAProcessWithoutRoots() async throws {
        let lab = try await WorkerLab(publishGrace: "1 s")
        let jobs = try await lab.submit([Self.recipe("a.wav")])
        let entry = try await lab.ledger.register(
            WorkerRegistration(name: "gone", host: "h", build: "1", slots: 1, abilities: [])
        )
        let fence = try #require(try await lab.ledger.claim(1, for: entry.worker).jobs.first).fence
        let digest = String(repeating: "0f", count: 32)
        let publication = Publication(fence, attemptName: "", digest: digest, bytes: 0)
        #expect(try await lab.ledger.publish([publication]) == [.done])
        let coordinator = try lab.coordinator()
        try await lab.wait(for: 1, "completed")
        #expect(try await lab.ledger.story(of: jobs[0])?.summary.digest == digest)
        try await coordinator.stopsWell()
    }

    @Test func aScanIsCancelled() async throws {
        let lab = try await WorkerLab()
        try lab.addLongSource()
        let jobs = try await lab.submit([Self.recipe("long.wav")])
        let worker = try lab.worker()
        try await lab.waitForMovement()
        try await lab.ledger.apply(.cancel, to: JobFilter(ids: jobs))
        try await lab.wait(for: 1, "cancelled")
        #expect(try lab.sql("select count(*) from \(lab.schema).scan_result") == "0")
        try await worker.stopsWell()
    }
}
