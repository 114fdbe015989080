import Conversion
import Foundation
import Ledger
import ObjectStores
import TestSupport
import Testing

/// Workers that read their sources on a web server.
@Suite(.timeLimit(.minutes(15))) struct WebSourceTests {
    /// Longer than what opening a source reads.
    private static let frames = 700_000

    /// Converts the file of the lab from the folder and from the server.
    private func expectEqualOutputs(_ lab: WebLab, _ name: String, _ source: String) async throws {
        let recipes = [
            WorkerLab.recipe("in:\(name)", to: "out:file.flac"), WorkerLab.recipe("web:\(source)", to: "out:web.flac"),
        ]
        try await lab.lab.submit(recipes, Submission(maxAttempts: 1))
        let worker = try lab.worker()
        try await lab.lab.wait("all jobs have ended") {
            try lab.lab.sql("select count(*) from \(lab.lab.schema).finished") == "2"
        }
        #expect(try lab.lab.truth() == ["completed": 2], "\(worker.text)")
        #expect(try Bytes.read(lab.lab.path("out/web.flac")) == Bytes.read(lab.lab.path("out/file.flac")))
        try await worker.stopsWell()
    }

    /// Fails the job of `web:NAME`, with its only attempt.
    private func failure(_ lab: WebLab, _ name: String = "talk.wav") async throws -> Failure {
        let worker = try lab.worker()
        let job = try await lab.submit(name)
        try await lab.lab.wait(for: 1, "failed")
        #expect(try lab.lab.outputs() == [])
        let failure = try #require(try await lab.lab.failure(job))
        try await worker.stopsWell()
        return failure
    }

    // MARK: - Conversions

    @Test(arguments: ["wav", "flac", "mp3"])
    func outputsEqualThoseOfFiles(ending: String) async throws {
        let lab = try await WebLab()
        try lab.lab.addSource("talk", as: ending, frames: Self.frames)
        let name = "talk.\(ending)"
        try lab.stub.set(files: ["/pre/a%20%23/\(name)": lab.entry(name)])
        try await expectEqualOutputs(lab, name, "a #/\(name)")
    }

    /// Without ranges, with chunks, and behind a redirect to another host.
    @Test(arguments: ["whole", "chunked", "redirect", "no pin"])
    func outputsDoNotDependOnTheServer(kind: String) async throws {
        let lab = try await WebLab()
        try lab.lab.addSource(frames: Self.frames)
        let entry = lab.entry { entry in
            (entry.ranges, entry.chunked) = (kind == "redirect" || kind == "no pin", kind == "chunked")
            if kind == "no pin" { (entry.etag, entry.modified) = (nil, nil) }
        }
        let isMoved = kind == "redirect"
        try lab.stub.set(
            files: isMoved
                ? ["/pre/talk.wav": .init(to: "http://localhost:\(lab.stub.port)/moved"), "/moved": entry]
                : ["/pre/talk.wav": entry]
        )
        try await expectEqualOutputs(lab, "talk.wav", "talk.wav")
    }

    @Test func brokenAndWrongAnswersAreAskedForAgain() async throws {
        let lab = try await WebLab()
        try lab.lab.addSource(frames: Self.frames)
        try lab.stub.set(files: ["/pre/talk.wav": lab.entry()])
        try lab.stub.set(
            faults: .init("talk", do: "status", status: 503, headers: ["Retry-After": "1"]),
            .init("talk", do: "truncate", times: 3, bytes: 100_000),
            .init("talk", do: "shift"),
            .init("talk", do: "reset")
        )
        try await expectEqualOutputs(lab, "talk.wav", "talk.wav")
    }

    /// Without a time, nothing says that other sound is of the same file.
    @Test(arguments: [nil, "Mon, 01 Jan 2024 00:00:00 GMT"])
    func scansAreComparedIfTheServerTellsATime(modified: String?) async throws {
        let lab = try await WebLab()
        try lab.stub.set(files: ["/pre/talk.wav": lab.entry { ($0.etag, $0.modified) = (nil, modified) }])
        let recipe = Recipe(scanning: .init(location: "web:talk.wav"), for: .init(loudness: false))
        try lab.lab.addSource(seed: 1)
        let worker = try lab.worker()
        try await lab.lab.submit([recipe])
        try await lab.lab.wait(for: 1, "completed")
        try lab.lab.addSource(seed: 2)
        let jobs = try await lab.lab.submit([recipe])
        guard modified == nil else {
            try await lab.lab.wait(for: 1, "failed")
            #expect(try await lab.lab.failure(jobs[0])?.known == .bitRot)
            return try await worker.stopsWell()
        }
        try await lab.lab.wait(for: 2, "completed")
        try await worker.stopsWell()
    }

    // MARK: - Sources that cannot be read

    @Test(arguments: [
        (404, FailureCode.sourceNotFound), (410, .sourceNotFound), (401, .permissionDenied), (403, .permissionDenied),
    ])
    func statusesHaveCodes(status: Int, code: FailureCode) async throws {
        let lab = try await WebLab()
        try lab.stub.set(faults: .init("talk", do: "status", times: 1_000, status: status))
        let failure = try await failure(lab)
        #expect(failure.known == code && failure.kind == .permanent, "\(failure)")
        #expect(failure.message.contains("web:talk.wav") && failure.message.contains("\(status)"), "\(failure)")
    }

    @Test func aLongSourceWithoutRangesFails() async throws {
        let lab = try await WebLab()
        // 69 MB.
        try lab.lab.addLongSource("talk.wav", seconds: 360)
        try lab.stub.set(files: ["/pre/talk.wav": lab.entry { $0.ranges = false }])
        let failure = try await failure(lab)
        #expect(failure.known == .sourceNotServed && failure.kind == .permanent, "\(failure)")
        #expect(failure.message.contains("sends no ranges") && failure.message.contains("64 MiB"), "\(failure)")
        #expect(failure.hint?.contains("ranges") == true)
    }

    @Test func sourcesWithoutRangesShareTheirLimit() async throws {
        let lab = try await WebLab()
        // 38 MB each.
        for name in ["a.wav", "b.wav"] { try lab.lab.addLongSource(name, seconds: 200) }
        let (a, b) = (lab.entry("a.wav") { $0.ranges = false }, lab.entry("b.wav") { $0.ranges = false })
        try lab.stub.set(files: ["/pre/a.wav": a, "/pre/b.wav": b])
        let recipe = Recipe(
            sources: ["a", "b"].map { (name: String) in Recipe.Source(location: "web:\(name).wav", name: name) },
            outputs: [Recipe.Output(location: "out:web.flac")],
            timeline: Timeline(tracks: [Timeline.Track(pieces: [Piece(.source("a")), Piece(.source("b"))])])
        )
        let worker = try lab.worker()
        let job = try await lab.lab.submitOnce(recipe)
        try await lab.lab.wait(for: 1, "failed")
        let failure = try #require(try await lab.lab.failure(job))
        #expect(failure.known == .sourceNotServed, "\(failure)")
        #expect(failure.message.contains("the sources of this job"), "\(failure)")
        try await worker.stopsWell()
    }

    @Test func anEncodedSourceFails() async throws {
        let lab = try await WebLab()
        try lab.lab.addSource()
        try lab.stub.set(files: ["/pre/talk.wav": lab.entry { $0.headers = ["Content-Encoding": "gzip"] }])
        let failure = try await failure(lab)
        #expect(failure.known == .sourceNotServed && failure.message.contains("gzip"), "\(failure)")
    }

    @Test func anOutputOnAWebServerIsRefused() async throws {
        let lab = try await WebLab()
        try lab.lab.addSource()
        let worker = try lab.worker()
        let job = try await lab.lab.submitOnce(WorkerLab.recipe(to: "web:a.flac"))
        try await lab.lab.wait(for: 1, "failed")
        let failure = try #require(try await lab.lab.failure(job))
        #expect(failure.known == .rootForbids && failure.kind == .permanent, "\(failure)")
        #expect(failure.message.contains("web:a.flac") && failure.hint == "name a root that is a folder")
        try await worker.stopsWell()
    }

    /// The same whether the room reads on, or has read all when the source is compared.
    @Test(arguments: [
        WebStub.Fault("talk", do: "status", skip: 1, status: 412), WebStub.Fault("talk", do: "other", skip: 1),
        WebStub.Fault("talk", do: "other", skip: 2),
    ])
    func nothingIsMadeOfASourceThatIsReplaced(fault: WebStub.Fault) async throws {
        let lab = try await WebLab()
        // Read by two requests.
        try lab.lab.addSource(frames: 200_000)
        try lab.stub.set(files: ["/pre/talk.wav": lab.entry()])
        try lab.stub.set(faults: fault)
        let failure = try await failure(lab)
        #expect(failure.known == .sourceChanged && failure.kind == .transient, "\(failure)")
    }

    /// Its server answers otherwise, so the job fails and the root stays in use.
    @Test(arguments: ["status", "redirect"]) func aFileThatAloneFailsSpendsItsAttempt(kind: String) async throws {
        let lab = try await WebLab()
        try lab.lab.addSource()
        // Nothing listens there.
        try lab.stub.set(files: ["/pre/talk.wav": .init(to: "http://127.0.0.1:1/talk.wav")])
        if kind == "status" { try lab.stub.set(faults: .init("talk", do: "status", times: 1_000, status: 500)) }
        let worker = try lab.worker()
        let job = try await lab.submit()
        try await lab.lab.expectFailureOfSource(job, worker)
    }

    // MARK: - Servers that are away

    @Test func aServerThatIsAwaySetsItsRootAside() async throws {
        let lab = try await WebLab()
        try lab.lab.addSource(frames: Self.frames)
        try lab.stub.set(files: ["/pre/talk.wav": lab.entry()])
        let worker = try lab.worker()
        try await worker.waits(for: "started")
        try lab.stub.set(faults: .init("/pre/", do: "status", times: 1_000, status: 503))
        _ = try await lab.submit()
        try await worker.waits(for: "paused")
        #expect(worker.lines("paused").map(\.root) == ["web"])
        // The other roots are in use.
        try await lab.lab.submit(1, "other")
        try await lab.lab.wait(for: 1, "completed")
        try lab.stub.set(faults: .init("nothing", do: "reset"))
        try await lab.lab.wait(for: 2, "completed")
        #expect(try lab.lab.outputs() == ["other0.flac", "web.flac"])
        try await worker.stopsWell()
    }

    /// With a certificate that no authority has signed.
    @Test func aServerThatIsNotTrustedEndsAWorkerAtItsStart() async throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("server.pem")
        let words = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=127.0.0.1", "-keyout", path, "-out", folder.path("certificate"),
        ]
        _ = try Run.program("openssl", words).checked()
        let key = try Bytes.read(path)
        try Data(key + Bytes.read(folder.path("certificate"))).write(to: URL(fileURLWithPath: path))
        let lab = try await WebLab(certificate: path)
        let worker = try lab.worker(root: "https://127.0.0.1:\(lab.stub.port)/pre")
        let status = try await worker.end()
        #expect(status != .exited(0))
        #expect(worker.text.contains("no secure connection"), "\(worker.text)")
    }
}
