import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Jobs that cut their source into pieces: one decode, and all pieces appear or none.
struct PieceTests {
    private static let cuts = [1_000, 1_001, 5_003]
    private static let frames = 8_000
    private static let names = (1...4).map { "talk-\($0).flac" }

    private static func recipe(
        _ cuts: [Int] = cuts,
        _ ending: String = "flac",
        onConflict: Recipe.ConflictPolicy = .fail
    ) throws -> Recipe {
        let times = cuts.map { MediaTime(frames: Int64($0), rate: 8_000) }
        let ranges = try zip([.zero] + times, times + [.positiveInfinity]).map {
            try MediaTimeRange(start: $0, end: $1)
        }
        let outputs = ranges.enumerated().map { index, range in
            Recipe.Output(
                location: "out:talk-\(index + 1).\(ending)",
                onConflict: onConflict,
                range: range,
                tags: ["track": "\(index + 1)/\(ranges.count)"]
            )
        }
        return Recipe(sources: [.init(location: "in:talk.wav")], outputs: outputs)
    }

    /// The samples of a piece, which is FLAC or WAV.
    private static func samples(_ lab: WorkerLab, _ name: String) throws -> PCM {
        guard name.hasSuffix(".flac") else { return try WAVFile.read(path: lab.path("out/\(name)")) }
        try FFmpeg.encode(lab.path("out/\(name)"), to: lab.path("decoded.wav"), ["-c:a", "pcm_s16le"])
        return try WAVFile.read(path: lab.path("decoded.wav"))
    }

    /// Compares each piece with the source, sample by sample.
    private static func expectPieces(_ lab: WorkerLab) throws {
        let whole = try WAVFile.read(path: lab.path("in/talk.wav"))
        let bounds = [0] + cuts + [frames]
        for (index, name) in names.enumerated() {
            #expect(try samples(lab, name) == whole.cut(bounds[index]..<bounds[index + 1]), "\(name)")
        }
    }

    /// `SHA-256 size` of each piece, as the ledger has recorded it.
    private static func records(_ lab: WorkerLab) throws -> [String] {
        let rows = try lab.sql(
            """
            select encode(f.digest, 'hex') || ' ' || f.size from \(lab.schema).finished f
            union all
            select o ->> 'digest' || ' ' || (o ->> 'bytes') from \(lab.schema).finished f,
                jsonb_array_elements(f.further) o
            """
        )
        return rows.split(separator: "\n").map(String.init)
    }

    private static func record(_ path: String) throws -> String {
        let sum = try Run.program("sha256sum", [path]).checked().outputText.prefix(64)
        return "\(sum) \(try Bytes.read(path).count)"
    }

    @Test func oneJobMakesAllPieces() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: Self.frames)
        let job = try await lab.submit([Self.recipe()])[0]
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        #expect(try await worker.stop() == .exited(0), "\(worker.text)")
        #expect(try lab.outputs() == Self.names)
        try Self.expectPieces(lab)
        #expect(try Self.records(lab) == Self.names.map { try Self.record(lab.path("out/\($0)")) })
        #expect(try FFmpeg.probe(lab.path("out/talk-3.flac")).tags["track"] == "3")
        let story = try #require(try await lab.ledger.story(of: job))
        let facts = try #require(story.attempts.first?.facts)
        #expect(facts.framesIn == 8_000 && facts.framesOut == 8_000 && facts.audio == .seconds(1))
        let reports = [try #require(facts.report)] + facts.further
        #expect(reports.map(\.plannedFrames) == [1_000, 1, 4_002, 2_997])
        #expect(reports.allSatisfy { $0.plannedFrames == $0.writtenFrames })
        #expect(story.needs.contains("recipe:3"), "\(story.needs)")
        let page = try Sluice.run(["job", "\(job)", "--database", lab.url, "--schema", lab.schema.text]).checked()
        #expect(page.outputText.contains("out:talk-3.flac   0:00.12 to 0:00.62   "), "\(page.outputText)")
    }

    @Test func asManyPiecesAsAllowed() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: Self.frames)
        try await lab.submit([Self.recipe((1..<200).map { $0 * 40 }, "wav")])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        let pieces = try (1...200).map { try WAVFile.read(path: lab.path("out/talk-\($0).wav")) }
        #expect(try PCM.joined(pieces) == WAVFile.read(path: lab.path("in/talk.wav")))
        #expect(try lab.outputs().count == 200)
        #expect(try await worker.stop() == .exited(0))
    }

    /// The last piece cannot be made, so the ones before it do not appear either.
    @Test func aSourceThatIsShorterThanItWasMakesNothing() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 5_000)
        try await lab.submit([Self.recipe()])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "failed")
        #expect(try lab.attempts() == ["failed range_outside_source": 1])
        #expect(try lab.outputs().isEmpty)
        let message = try lab.sql("select message from \(lab.schema).attempt")
        #expect(message.hasPrefix("out:talk-3.flac: the range "), "\(message)")
        #expect(try await worker.stop() == .exited(0))
    }

    @Test(arguments: [0, 2, 3]) func aDestinationThatIsTakenStopsAllUntilARetry(taken: Int) async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: Self.frames)
        let path = lab.path("out/\(Self.names[taken])")
        try Bytes.write([1, 2, 3], to: path)
        let jobs = try await lab.submit([Self.recipe()])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "failed")
        #expect(try lab.attempts() == ["failed destination_exists": 1])
        #expect(try lab.outputs() == [Self.names[taken]])
        try FileManager.default.removeItem(atPath: path)
        let words = ["retry", "\(jobs[0])", "--yes", "--database", lab.url, "--schema", lab.schema.text]
        _ = try Sluice.run(words).checked()
        try await lab.wait(for: 1, "completed")
        try Self.expectPieces(lab)
        #expect(try lab.outputs() == Self.names)
        #expect(try await worker.stop() == .exited(0))
    }

    @Test func piecesThatAreThereAreLeftAlone() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: Self.frames)
        try await lab.submit([Self.recipe()])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        let before = try Self.names.map { try Bytes.read(lab.path("out/\($0)")) }
        for name in [Self.names[0], Self.names[2]] {
            try FileManager.default.removeItem(atPath: lab.path("out/\(name)"))
        }
        try Bytes.write([1, 2, 3], to: lab.path("out/\(Self.names[3])"))
        try await lab.submit([Self.recipe(onConflict: .skip)])
        try await lab.wait(for: 2, "completed")
        let after = try Self.names.map { try Bytes.read(lab.path("out/\($0)")) }
        #expect(after.dropLast() == before.dropLast() && after[3] == [1, 2, 3])
        #expect(try await worker.stop() == .exited(0))
    }

    /// A failover that lost commits: the job finds the pieces that it has published, and makes the others again.
    @Test func ownPiecesAreAdopted() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: Self.frames)
        try await lab.submit([Self.recipe()])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        let records = try Self.records(lab)
        for gone in [[1], [0, 3], []] {
            for index in gone { try FileManager.default.removeItem(atPath: lab.path("out/\(Self.names[index])")) }
            try lab.forgetFinishedJobs()
            try await lab.wait(for: 1, "completed")
            #expect(try Self.records(lab) == records)
            try Self.expectPieces(lab)
        }
        #expect(try lab.sql("select placement from \(lab.schema).finished") == "adopted")
        #expect(try await worker.stop() == .exited(0))
    }

    /// A worker is killed in the middle of a publication, when `named` of its pieces have their names.
    @Test(.serialized, arguments: [0, 1, 3, 4]) func anotherWorkerFinishesThePublication(named: Int) async throws {
        let lab = try await WorkerLab(publishGrace: "1 s")
        try lab.addSource(frames: Self.frames)
        try await lab.submit([Self.recipe()])
        let first = try lab.worker()
        // The ledger has the publication, and the end of the job waits.
        try await lab.whilePublicationsWait {
            try await lab.wait("all pieces have their names") { try lab.outputs() == Self.names }
            try await lab.wait("the end waits") {
                try lab.sql("select count(*) from pg_stat_activity where \(Self.waits)") == "1"
            }
            first.kill()
            // Otherwise the server would carry out what the dead worker has asked for.
            try lab.sql("select pg_terminate_backend(pid) from pg_stat_activity where \(Self.waits)")
        }
        #expect(try lab.truth() == ["publishing": 1])
        // Names are given in the order of the outputs: take the later ones back.
        let attempt = try lab.sql("select attempt_name from \(lab.schema).publishing")
        try #require(attempt.contains(Self.names[0]))
        for name in Self.names.dropFirst(named) {
            let hidden = attempt.replacing(Self.names[0], with: name)
            try #require(rename(lab.path("out/\(name)"), lab.path("out/\(hidden)")) == 0)
        }
        // A worker asks for such publications when it starts, and then rarely.
        try await lab.wait("the publication is late") {
            try lab.sql("select handed_at < now() - interval '1 s' from \(lab.schema).publishing") == "t"
        }
        let next = try lab.worker()
        try await lab.wait(for: 1, "completed")
        #expect(try await next.stop() == .exited(0))
        #expect(try lab.outputs() == Self.names)
        try Self.expectPieces(lab)
        #expect(try Self.records(lab) == Self.names.map { try Self.record(lab.path("out/\($0)")) })
        #expect(try lab.attempts() == ["completed": 1])
    }

    private static let waits = "wait_event_type = 'Lock' and datname = current_database()"
}
