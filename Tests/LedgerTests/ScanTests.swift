import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The results of scans: recorded under the fence, compared with the scan before, and what need not be scanned again.
struct ScanTests {
    private static let stamp = SourceStamp(bytes: 1_000, modified: 77)

    private static func sound(
        _ byte: String = "ab",
        form: String = "s16le",
        decoder: String? = nil
    ) -> SoundDigest {
        let digits = String(repeating: byte, count: 32)
        return SoundDigest(sha256: digits, form: form, sampleRateHz: 44_100, channelCount: 2, decoder: decoder)
    }

    private static func request(_ name: String, _ stamp: SourceStamp? = ScanTests.stamp) -> JobRequest {
        JobRequest(Recipe(scanning: .init(location: "in:\(name).flac")), stamp: stamp)
    }

    /// Submits a scan and claims it.
    private func claim(_ lab: LedgerLab, _ worker: WorkerEntry, _ name: String = "a") async throws -> Fence {
        _ = try await lab.ledger.submit(Submission(), [Self.request(name)])
        return try #require(try await lab.claim(1, for: worker).first).fence
    }

    /// Scans a source, and completes the job unless it has rotted.
    @discardableResult
    private func scan(
        _ lab: LedgerLab,
        _ worker: WorkerEntry,
        _ sound: SoundDigest?,
        _ stamp: SourceStamp = ScanTests.stamp
    ) async throws -> ScanVerdict {
        let fence = try await claim(lab, worker)
        let verdict = try await lab.ledger.recordScan(sound, of: stamp, fence)
        if let sound, verdict == .recorded {
            try await complete(lab, fence, sound)
        } else {
            #expect(try await lab.ledger.fail([AttemptFailure(fence, Failure(.bitRot, at: .decode, "it"))]) == [.done])
        }
        return verdict
    }

    private func complete(_ lab: LedgerLab, _ fence: Fence, _ sound: SoundDigest) async throws {
        let scan = ScanReport(frames: 48_000, damage: DamageReport(), sound: sound)
        let facts = AttemptFacts(framesIn: 48_000, audio: .seconds(1), cpu: .milliseconds(5), scan: scan)
        let publication = Publication(fence, attemptName: "", digest: sound.sha256, bytes: 0, facts: facts)
        #expect(try await lab.ledger.publish([publication]) == [.done])
        #expect(try await lab.ledger.finish([fence]) == [.done])
    }

    private func digests(_ lab: LedgerLab) async throws -> Int {
        try await lab.value("select count(*) from \(lab.schema).scan_result")
    }

    private func digest(_ lab: LedgerLab) async throws -> String {
        try await lab.value("select encode(digest, 'hex') from \(lab.schema).scan_result")
    }

    // MARK: - A job like others

    @Test func aScanCompletesWithTheDigestOfItsSound() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        #expect(try await scan(lab, worker, Self.sound()) == .recorded)
        let job = try #require(try await lab.ledger.jobs().jobs.first)
        #expect((job.state, job.digest, job.bytes) == (.completed, Self.sound().sha256, 0))
        let story = try #require(try await lab.ledger.story(of: job.job))
        #expect(story.attempts.last?.facts.scan?.sound == Self.sound())
        #expect(story.attempts.last?.facts.report == nil)
        #expect(story.needs == ["recipe:4"])
        let json = try JSONEncoder().encode(JSONRecord(story))
        let read = try JSONDecoder().decode(JSONRecord<JobStory>.self, from: json).record
        #expect(read.attempts.last?.facts.scan == story.attempts.last?.facts.scan)
        // It has no output that a check could look for.
        #expect(try await lab.value("select count(*) from \(lab.schema).list_outputs()") == 0)
        #expect(try await lab.ledger.batches().first?.jobs.completed == 1)
    }

    /// A worker that dies after publishing leaves the rest to any process, even one without roots.
    @Test func anUnfinishedScanIsFinishedByAnyProcess() async throws {
        let lab = try await LedgerLab()
        let fence = try await claim(lab, lab.worker())
        let publication = Publication(fence, attemptName: "", digest: Self.sound().sha256, bytes: 0)
        try await lab.ledger.publish([publication])
        try await lab.age(by: .seconds(7_200))
        let row = try #require(try await lab.ledger.takeUnfinished(limit: 10, in: []).first)
        #expect(row.fence == fence && row.recipe.scan != nil && row.recipe.outputs.isEmpty)
        #expect(try await lab.ledger.finish([row.fence]) == [.done])
        #expect(try await lab.state(fence.job) == "completed")
    }

    @Test func failuresOfScansAreGrouped() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        for name in ["a", "b"] {
            let fence = try await claim(lab, worker, name)
            try await lab.ledger.fail([AttemptFailure(fence, Failure(.damageFound, at: .decode, "it is"))])
        }
        let group = try #require(try await lab.ledger.failures().first)
        #expect((group.code, group.kind, group.jobs) == (FailureCode.damageFound.rawValue, .permanent, 2))
    }

    // MARK: - The fence

    @Test func aStaleFenceRecordsNothing() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let fence = try await claim(lab, worker)
        try await lab.ledger.release([fence])
        #expect(try await lab.ledger.recordScan(Self.sound(), of: Self.stamp, fence) == .lost)
        #expect(try await digests(lab) == 0)
        let again = try #require(try await lab.claim(1, for: worker).first).fence
        #expect(try await lab.ledger.recordScan(Self.sound("cd"), of: Self.stamp, again) == .recorded)
        #expect(try await lab.ledger.recordScan(Self.sound(), of: Self.stamp, fence) == .lost)
        #expect(try await digest(lab) == Self.sound("cd").sha256)
    }

    @Test func anAttemptRecordsOnce() async throws {
        let lab = try await LedgerLab()
        let fence = try await claim(lab, lab.worker())
        #expect(try await lab.ledger.recordScan(Self.sound(), of: Self.stamp, fence) == .recorded)
        // A call that repeats another after a lost answer has the same digest. One that has not writes nothing.
        #expect(try await lab.ledger.recordScan(Self.sound(), of: Self.stamp, fence) == .recorded)
        #expect(try await lab.ledger.recordScan(Self.sound("cd"), of: Self.stamp, fence) == .recorded)
        #expect(try await digests(lab) == 1)
        #expect(try await digest(lab) == Self.sound().sha256)
    }

    /// As after a failover that lost commits: the digest has survived, and the claim has not.
    @Test func sameEpochWithAnotherLeaseIsAnotherAttempt() async throws {
        let lab = try await LedgerLab()
        var fence = try await claim(lab, lab.worker())
        #expect(try await lab.ledger.recordScan(Self.sound(), of: Self.stamp, fence) == .recorded)
        fence.lease = UUID()
        let lease = fence.lease
        try await lab.lab.run { try $0.execute("update \(lab.schema).running set lease_id = \(lease)") }
        guard case .rotten = try await lab.ledger.recordScan(Self.sound("cd"), of: Self.stamp, fence) else {
            Issue.record("it was taken for a repetition")
            return
        }
    }

    // MARK: - Bit rot

    @Test func otherSoundInTheSameFileIsBitRot() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await scan(lab, worker, Self.sound())
        let fence = try await claim(lab, worker)
        for _ in 1...2 {
            let verdict = try await lab.ledger.recordScan(Self.sound("cd"), of: Self.stamp, fence)
            guard case .rotten(Self.sound().sha256, _) = verdict else {
                Issue.record("\(verdict)")
                return
            }
        }
        #expect(try await digest(lab) == Self.sound().sha256)
        #expect(try await lab.value("select has_rotten from \(lab.schema).scan_result") == true)
        try await lab.ledger.fail([AttemptFailure(fence, Failure(.bitRot, at: .decode, "it"))])
        // Restored from a backup, with its time.
        #expect(try await scan(lab, worker, Self.sound()) == .recorded)
        #expect(try await lab.value("select has_rotten from \(lab.schema).scan_result") == false)
    }

    @Test func otherFormOrNoSoundInTheSameFileIsBitRot() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await scan(lab, worker, Self.sound())
        for sound in [nil, Self.sound(form: "s24le")] {
            guard case .rotten = try await scan(lab, worker, sound) else {
                Issue.record("\(String(describing: sound))")
                continue
            }
        }
        #expect(try await digest(lab) == Self.sound().sha256)
    }

    @Test(arguments: [SourceStamp(bytes: 1_001, modified: 77), SourceStamp(bytes: 1_000, modified: 78)])
    func aChangedFileMayHaveOtherSound(stamp: SourceStamp) async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await scan(lab, worker, Self.sound())
        #expect(try await scan(lab, worker, Self.sound("cd"), stamp) == .recorded)
        #expect(try await digest(lab) == Self.sound("cd").sha256)
    }

    /// What a decoder makes of damage depends on its release.
    @Test func damagedSoundIsComparedWithTheSameDecoderOnly() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await scan(lab, worker, Self.sound("01", decoder: "libavcodec 59"))
        guard case .rotten = try await scan(lab, worker, Self.sound("02", decoder: "libavcodec 59")) else {
            Issue.record("the same decoder gives the same")
            return
        }
        #expect(try await scan(lab, worker, Self.sound("03", decoder: "libavcodec 61")) == .recorded)
        #expect(try await scan(lab, worker, Self.sound("04")) == .recorded)
        guard case .rotten = try await scan(lab, worker, Self.sound("03", decoder: "libavcodec 61")) else {
            Issue.record("it had no damage before")
            return
        }
    }

    @Test func soundThatWasNeverDecodedIsNotRecorded() async throws {
        let lab = try await LedgerLab()
        #expect(try await scan(lab, lab.worker(), nil) == .recorded)
        #expect(try await digests(lab) == 0)
    }

    // MARK: - What need not be scanned again

    @Test func scansAreFoundInTheOrderOfTheirSources() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        #expect(try await lab.ledger.earlierScans(of: ["in:a.flac"]) == [nil])
        try await scan(lab, worker, Self.sound())
        let other = SourceStamp(bytes: 5, modified: 6)
        _ = try await lab.ledger.submit(Submission(), [Self.request("b", other)])
        // A conversion of the same source is no scan.
        let conversion = Recipe(from: .init(location: "in:c.flac"), to: .init(location: "out:c.wav"))
        _ = try await lab.ledger.submit(Submission(), [JobRequest(conversion)])
        let found = try await lab.ledger.earlierScans(of: ["in:c.flac", "in:b.flac", "in:a.flac"])
        #expect(found[0] == nil)
        let (waiting, done) = (try #require(found[1]), try #require(found[2]))
        #expect((waiting.state, waiting.submittedStamp, waiting.stamp) == (.waiting, other, nil))
        #expect((done.state, done.stamp, done.code) == (.completed, Self.stamp, nil))
        #expect(done.checkedAt != nil && done.endedAt != nil && done.batch != nil)
    }

    @Test func theLatestScanCounts() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await scan(lab, worker, Self.sound())
        guard case .rotten = try await scan(lab, worker, Self.sound("cd")) else {
            Issue.record("it is the same file")
            return
        }
        let found = try #require(try await lab.ledger.earlierScans(of: ["in:a.flac"])[0])
        #expect((found.state, found.code) == (.failed, FailureCode.bitRot.rawValue))
        #expect(found.stamp == Self.stamp)
    }

    @Test func longPathsAreTold() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        let stem = String(repeating: "ä/", count: 1_300)
        for name in ["\(stem)1", "\(stem)2"] {
            let fence = try await claim(lab, worker, name)
            #expect(try await lab.ledger.recordScan(Self.sound(), of: Self.stamp, fence) == .recorded)
        }
        #expect(try await digests(lab) == 2)
        let found = try await lab.ledger.earlierScans(of: ["in:\(stem)2.flac", "in:\(stem)3.flac"])
        #expect(found[0]?.stamp == Self.stamp && found[1] == nil)
    }

    @Test func aTenantHasItsOwnScans() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await scan(lab, worker, Self.sound())
        let own = try #require(try await lab.ledger.jobs().jobs.first?.job)
        _ = try await lab.ledger.createTenant("radio")
        let radio = try lab.ledger.acting(for: Principal(name: "t", role: .submitter, tenant: "radio"))
        #expect(try await radio.earlierScans(of: ["in:a.flac"]) == [nil])
        _ = try await radio.submit(Submission(), [Self.request("a")])
        let fence = try #require(try await lab.claim(1, for: worker).first).fence
        // Its digest is not compared with that of the others.
        #expect(try await lab.ledger.recordScan(Self.sound("cd"), of: Self.stamp, fence) == .recorded)
        #expect(try await digests(lab) == 2)
        #expect(try await radio.earlierScans(of: ["in:a.flac"])[0]?.job == fence.job)
        let ours = try #require(try await lab.ledger.earlierScans(of: ["in:a.flac"])[0])
        #expect((ours.job, ours.state, ours.stamp) == (own, .completed, Self.stamp))
    }

    // MARK: - Retention

    /// The job that failed leaves the ledger before the digest does.
    @Test func whatWasFoundOutlastsItsJob() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', span_size = 1000, keep = '2 h'")
        let worker = try await lab.worker()
        try await scan(lab, worker, Self.sound())
        guard case .rotten = try await scan(lab, worker, Self.sound("cd")) else {
            Issue.record("it is the same file")
            return
        }
        let fence = try await claim(lab, worker, "b")
        let damaged = Self.sound(decoder: "libavcodec 59")
        #expect(try await lab.ledger.recordScan(damaged, of: Self.stamp, fence) == .recorded)
        try await lab.ledger.fail([AttemptFailure(fence, Failure(.damageFound, at: .decode, "it is"))])
        let others = try await lab.submit(1_000)
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(batch: others.batch)).changed == 1_000)
        _ = try await lab.ledger.keepHouse()
        let sources = ["in:a.flac", "in:b.flac"]
        let before = try await lab.ledger.earlierScans(of: sources).compactMap(\.self)
        #expect(before.map(\.state) == [.failed, .failed])
        try await lab.age(by: .seconds(121 * 60))
        for _ in 0..<10 {
            try await lab.age(by: .seconds(400))
            _ = try await lab.ledger.keepHouse()
        }
        let found = try await lab.ledger.earlierScans(of: sources).compactMap(\.self)
        #expect(found.map(\.job) == [nil, nil] && found.map(\.stamp) == [Self.stamp, Self.stamp])
        #expect(found.map(\.hasRotten) == [true, false] && found.map(\.isDamaged) == [false, true])
    }

    @Test func digestsOfSourcesThatAreNoLongerScannedAreDeleted() async throws {
        let lab = try await LedgerLab()
        try await scan(lab, lab.worker(), Self.sound())
        try await lab.set("keep_scans = '10 days'")
        try await lab.age(by: .seconds(9 * 86_400))
        _ = try await lab.keepWholeHouse()
        #expect(try await digests(lab) == 1)
        try await lab.age(by: .seconds(2 * 86_400))
        _ = try await lab.keepWholeHouse()
        #expect(try await digests(lab) == 0)
    }
}
