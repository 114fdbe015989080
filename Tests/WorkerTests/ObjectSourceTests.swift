import Conversion
import Foundation
import Ledger
import ObjectStorage
import ObjectStores
import PumpRoom
import TestSupport
import Testing

/// Workers that read their sources in a bucket.
@Suite(.timeLimit(.minutes(15))) struct ObjectSourceTests {
    /// Longer than what opening an object reads.
    private static let frames = 700_000

    private func run(_ lab: ObjectLab, _ recipes: [Recipe]) async throws {
        try await lab.lab.submit(recipes, Submission(maxAttempts: 1))
        let worker = try lab.worker()
        try await lab.lab.wait("all jobs have ended") {
            try lab.lab.sql("select count(*) from \(lab.lab.schema).finished") == "\(recipes.count)"
        }
        #expect(try lab.lab.truth() == ["completed": recipes.count], "\(worker.text)")
        try await worker.stopsWell()
    }

    // MARK: - Conversions

    @Test(arguments: ["wav", "flac", "mp3"])
    func outputsEqualThoseOfFiles(ending: String) async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource("talk", as: ending, frames: Self.frames)
        let name = "talk.\(ending)"
        try lab.put(Bytes.read(lab.lab.path("in/\(name)")), "2024/\(name)")
        try await run(
            lab,
            [
                WorkerLab.recipe("in:\(name)", to: "out:file.flac"),
                WorkerLab.recipe("archive:2024/\(name)", to: "out:object.flac"),
            ]
        )
        #expect(try Bytes.read(lab.lab.path("out/object.flac")) == Bytes.read(lab.lab.path("out/file.flac")))
    }

    /// Otherwise each scan of a bucket would find all objects changed.
    @Test func scanRecordsTheTimeThatAListTells() async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource()
        try lab.putSource()
        try await run(lab, [Recipe(scanning: .init(location: "archive:talk.wav"), for: .init(loudness: false))])
        let scan = try await lab.lab.ledger.earlierScans(of: ["archive:talk.wav"])[0]
        let entry = try #require(try lab.store.client().page(prefix: "pre/").objects.first)
        #expect(scan?.stamp?.bytes == entry.byteCount)
        #expect(scan?.stamp?.modified == entry.modified?.nanoseconds)
    }

    @Test func joinsReadSeveralObjects() async throws {
        let lab = try await ObjectLab()
        for number in 0..<6 {
            try lab.lab.addSource("\(number).wav", frames: 200_000, seed: UInt64(number) + 1)
            try lab.putSource("\(number).wav")
        }
        func join(_ root: String) -> Recipe {
            let sources = (0..<6).map { Recipe.Source(location: "\(root):\($0).wav", name: "s\($0)") }
            let pieces = (0..<6).map { Piece(.source("s\($0)")) }
            return Recipe(
                sources: sources,
                outputs: [Recipe.Output(location: "out:\(root).flac")],
                timeline: Timeline(tracks: [Timeline.Track(pieces: pieces)])
            )
        }
        try await run(lab, [join("in"), join("archive")])
        #expect(try Bytes.read(lab.lab.path("out/archive.flac")) == Bytes.read(lab.lab.path("out/in.flac")))
    }

    @Test func brokenAnswersAreAskedForAgain() async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource(frames: Self.frames)
        try lab.putSource()
        try lab.store.set(
            faults: .init(match: "GET /bucket/pre/talk.wav", do: "status", times: 2, status: 503, code: "SlowDown"),
            .init(match: "GET /bucket/pre/talk.wav", do: "truncate", times: 3, bytes: 100_000),
            .init(match: "GET /bucket/pre/talk.wav", do: "reset", times: 1)
        )
        try await run(
            lab,
            [
                WorkerLab.recipe(to: "out:file.flac"), WorkerLab.recipe("archive:talk.wav", to: "out:object.flac"),
            ]
        )
        #expect(try Bytes.read(lab.lab.path("out/object.flac")) == Bytes.read(lab.lab.path("out/file.flac")))
    }

    /// A header and two gigabytes of zeros.
    private static func putLargeFile(in store: StrictStore) throws {
        let size = 2_000_000_000
        let header = try WAVFile.bytes(
            Signal.noise(seed: 1, rate: 48_000, frames: 0, channels: 2).pcm(.s16),
            options: .init(claimedDataSize: UInt32(size))
        )
        let digits = header.map { String(format: "%02x", Int($0)) }.joined()
        let json = #"{"key": "large.wav", "size": \#(header.count + size), "head": "\#(digits)"}"#
        try store.set("sparse", json: json)
    }

    @Test func aProbeReadsLittleOfALargeObject() async throws {
        let store = try StrictStore()
        try Self.putLargeFile(in: store)
        let reader = try ObjectReader.open("large.wav", in: try store.client())
        let window = try RoomWindow(ReadObject(reader: reader))
        var configuration = RoomConfiguration()
        configuration.executable = WorkerProcess.roomProgram
        let slot = RoomSlot(1, configuration: configuration)
        var work = RoomWork(describing: window.descriptor, ProbeOptions(nameHint: "large.wav"))
        (work.windows, work.sourceBytes) = ([0: window], reader.facts.byteCount)
        guard case .done(let report, _) = await slot.run(work) else {
            Issue.record("the object is not described")
            return
        }
        #expect(report.tracks.first?.frames == 500_000_000)
        #expect(try store.state().asked <= 2_000_000)
        await slot.close()
    }

    private struct ReadObject: FetchedBytes {
        let reader: ObjectReader

        var byteCount: Int64 { reader.facts.byteCount }

        func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            // `try?`: without its bytes the probe fails, and the test with it.
            try? reader.read(at: offset, into: buffer)
        }
    }

    // MARK: - Objects that cannot be read

    @Test func aMissingObjectIsAMissingSource() async throws {
        let lab = try await ObjectLab()
        let worker = try lab.worker()
        let job = try await lab.submit("2024/none.wav")
        try await lab.lab.wait(for: 1, "failed")
        let failure = try #require(try await lab.lab.failure(job))
        #expect(failure.known == .sourceNotFound && failure.kind == .permanent, "\(failure)")
        #expect(failure.message.contains("archive:2024/none.wav"))
        try await worker.stopsWell()
    }

    @Test func aForbiddenObjectNamesThePermission() async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource()
        try lab.putSource()
        try lab.store.set("denied", json: #"["/bucket/pre/talk.wav"]"#)
        let worker = try lab.worker()
        let job = try await lab.submit()
        try await lab.lab.wait(for: 1, "failed")
        let failure = try #require(try await lab.lab.failure(job))
        #expect(failure.known == .permissionDenied && failure.kind == .permanent, "\(failure)")
        #expect(failure.hint?.contains("s3:GetObject on arn:aws:s3:::bucket/pre/*") == true)
        try await worker.stopsWell()
    }

    @Test func anOutputInABucketIsRefused() async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource()
        let worker = try lab.worker()
        let job = try await lab.lab.submitOnce(WorkerLab.recipe(to: "archive:a.flac"))
        try await lab.lab.wait(for: 1, "failed")
        let failure = try #require(try await lab.lab.failure(job))
        #expect(failure.known == .rootForbids && failure.kind == .permanent, "\(failure)")
        #expect(failure.message.contains("archive:a.flac") && failure.hint == "name a root that is a folder")
        #expect(try lab.store.state().objects.isEmpty)
        try await worker.stopsWell()
    }

    /// The same whether the room reads on, or has read all when the object is compared.
    @Test(arguments: [
        StrictStore.Fault(
            match: "GET /bucket/pre/talk.wav",
            do: "status",
            skip: 1,
            status: 412,
            code: "PreconditionFailed"
        ),
        StrictStore.Fault(match: "GET /bucket/pre/talk.wav", do: "status", skip: 1, status: 404, code: "NoSuchKey"),
        StrictStore.Fault(match: "HEAD /bucket/pre/talk.wav", do: "etag"),
    ])
    func nothingIsMadeOfAnObjectThatIsReplaced(fault: StrictStore.Fault) async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource(frames: Self.frames)
        try lab.putSource()
        try lab.store.set(faults: fault)
        let worker = try lab.worker()
        let job = try await lab.submit()
        try await lab.lab.wait(for: 1, "failed")
        let failure = try #require(try await lab.lab.failure(job))
        #expect(failure.known == .sourceChanged && failure.kind == .transient, "\(failure)")
        #expect(try lab.lab.outputs() == [])
        try await lab.lab.ledger.apply(.retry, to: JobFilter(ids: [job]))
        try await lab.lab.wait(for: 1, "completed")
        #expect(try lab.lab.outputs() == ["object.flac"])
        try await worker.stopsWell()
    }

    /// Its store answers otherwise, so the job fails and the root stays in use.
    @Test func anObjectThatAloneFailsSpendsItsAttempt() async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource(frames: Self.frames)
        try lab.putSource()
        try lab.store.set(faults: .init(match: "/bucket/pre/talk.wav", do: "status", times: 1_000, status: 500))
        let worker = try lab.worker()
        let job = try await lab.submit()
        try await lab.lab.expectFailureOfSource(job, worker)
    }

    // MARK: - Stores that are away

    /// `skip` requests for the object succeed before.
    @Test(arguments: zip([0, 1], [503, 500]))
    func aStoreThatIsAwaySetsItsRootAside(skip: Int, status: Int) async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource(frames: Self.frames)
        try lab.putSource()
        let worker = try lab.worker()
        try await worker.waits(for: "started")
        try lab.store.set(
            faults: .init(match: "/bucket/pre/talk.wav", do: "status", times: 1_000, skip: skip, status: status),
            .init(match: "list-type", do: "status", times: 1_000, status: status)
        )
        _ = try await lab.submit()
        try await worker.waits(for: "paused")
        #expect(worker.lines("paused").map(\.root) == ["archive"])
        // The other roots are in use.
        try await lab.lab.submit(1, "other")
        try await lab.lab.wait(for: 1, "completed")
        try lab.store.set("faults", json: "[]")
        try await lab.lab.wait(for: 2, "completed")
        #expect(try lab.lab.outputs() == ["object.flac", "other0.flac"])
        try await worker.stopsWell()
    }

    @Test func aWorkerWaitsForAStoreThatIsAwayWhenItStarts() async throws {
        let lab = try await ObjectLab()
        try lab.lab.addSource()
        try lab.putSource()
        try lab.store.set(faults: .init(match: "list-type", do: "status", times: 1_000, status: 503))
        let worker = try lab.worker()
        try await worker.waits(for: "paused")
        _ = try await lab.submit()
        try lab.store.set("faults", json: "[]")
        try await lab.lab.wait(for: 1, "completed")
        try await worker.stopsWell()
    }

    @Test func wrongCredentialsEndAWorkerAtItsStart() async throws {
        let lab = try await ObjectLab()
        let worker = try lab.worker(secret: "wrong")
        let status = try await worker.end()
        #expect(status != .exited(0))
        #expect(worker.text.contains("use the bucket"), "\(worker.text)")
    }
}
