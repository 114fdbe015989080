import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Batches that are albums: all jobs measure, and then all convert with one gain.
struct AlbumTests {
    private static let names = ["loud", "soft", "middle"]
    private static let amplitudes = [0.5, 0.03, 0.15]

    private static func track(_ index: Int) -> Signal {
        .noise(seed: UInt64(index + 1), rate: 16_000, frames: 48_000 + index * 7_001, amplitude: amplitudes[index])
    }

    private static func addSources(_ lab: WorkerLab) throws {
        for (index, name) in names.enumerated() {
            try WAVFile.write(track(index).pcm(.s16), to: lab.path("in/\(name).wav"))
        }
    }

    private static func recipe(_ name: String, ext: String = "wav", tags: Bool = false) -> Recipe {
        let goal = LoudnessGoal(target: .level(.init(hundredths: -2_500)), scope: .album)
        return Recipe(
            from: .init(location: "in:\(name).wav"),
            to: .init(
                location: "out:\(name).\(ext)",
                loudness: tags ? nil : goal,
                replayGain: tags ? .album : nil
            )
        )
    }

    /// Checks that all outputs have the album's gain.
    private static func check(_ lab: WorkerLab, _ indices: [Int] = [0, 1, 2]) throws {
        let loudness = try ReferenceLoudness.integrated(of: indices.map(track))
        let factor = pow(10, (-25 - loudness) / 20)
        for index in indices {
            let made = try WAVFile.read(path: lab.path("out/\(names[index]).wav")).samples(channel: 0)
            let given = track(index).channels[0]
            #expect(made.count == given.count)
            let sum = zip(given, made).reduce(0) { $0 + $1.0 * $1.1 } / given.reduce(0) { $0 + $1 * $1 }
            #expect(abs(20 * log10(sum / factor)) < 0.06, "\(names[index]): \(sum) of \(factor)")
        }
    }

    @Test func allJobsGetTheGainOfAllTracks() async throws {
        let lab = try await WorkerLab()
        try Self.addSources(lab)
        let jobs = try await lab.submit(Self.names.map { Self.recipe($0) })
        let worker = try lab.worker("--slots", "1")
        try await lab.wait(for: 3, "completed")
        try Self.check(lab)
        #expect(try lab.attempts()["completed"] == 3)
        let waits = try lab.attempts()["released album_waits"] ?? 0
        #expect((2...3).contains(waits), "the last job to measure may or may not hand itself back")
        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let page = try Sluice.run(["job", "\(jobs[0])"] + address).checked().outputText
        #expect(page.contains("its loudness is measured"), "\(page)")
        try await lab.wait("no job waits for the album") {
            try lab.sql("select is_awaited from \(lab.schema).album") == "f"
        }
        try await worker.stopsWell()
    }

    @Test func tagsStateTheLoudnessOfTheAlbum() async throws {
        let lab = try await WorkerLab()
        try Self.addSources(lab)
        try await lab.submit(Self.names.map { Self.recipe($0, ext: "flac", tags: true) })
        let worker = try lab.worker()
        try await lab.wait(for: 3, "completed")
        try await worker.stopsWell()
        let tracks = Self.names.indices.map(Self.track)
        let loudness = try ReferenceLoudness.integrated(of: tracks)
        let peak = try tracks.map { try ReferenceLoudness($0).truePeak }.max() ?? 0
        for (index, name) in Self.names.enumerated() {
            let probe = try FFmpeg.probe(lab.path("out/\(name).flac"))
            let tags = Dictionary(
                [probe.tags, probe.audio.first?.tags ?? [:]].flatMap(\.self).map { ($0.key.uppercased(), $0.value) }
            ) { first, _ in first }
            func gain(_ scope: String) throws -> Double {
                try #require(Double((tags["REPLAYGAIN_\(scope)_GAIN"] ?? "").replacing(" dB", with: "")))
            }
            #expect(abs(try gain("ALBUM") - (-18 - loudness)) < 0.06)
            #expect(abs(try gain("TRACK") - (-18 - ReferenceLoudness(tracks[index]).integrated)) < 0.03)
            #expect(abs(try #require(Double(tags["REPLAYGAIN_ALBUM_PEAK"] ?? "")) - peak) < 0.01)
        }
    }

    /// A track that cannot be measured takes no part, and the others do not wait for it.
    @Test func aJobThatFailsHoldsNobodyUp() async throws {
        let lab = try await WorkerLab()
        try Self.addSources(lab)
        let broken = Array("RIFF".utf8) + [UInt8](repeating: 7, count: 4_000)
        try Bytes.write(broken, to: lab.path("in/soft.wav"))
        try await lab.submit(Self.names.map { Self.recipe($0) })
        let worker = try lab.worker()
        try await lab.wait(for: 2, "completed")
        #expect(try lab.truth() == ["completed": 2, "failed": 1])
        try Self.check(lab, [0, 2])
        // When it is retried, it gets the gain of the others.
        try WAVFile.write(Self.track(1).pcm(.s16), to: lab.path("in/soft.wav"))
        try await lab.ledger.apply(.retry, to: JobFilter(states: [.failed]))
        try await lab.wait(for: 3, "completed")
        let factor = pow(10, (-25 - (try ReferenceLoudness.integrated(of: [Self.track(0), Self.track(2)]))) / 20)
        let made = try WAVFile.read(path: lab.path("out/soft.wav")).samples(channel: 0)
        let given = Self.track(1).channels[0]
        let ratio = zip(given, made).reduce(0) { $0 + $1.0 * $1.1 } / given.reduce(0) { $0 + $1 * $1 }
        #expect(abs(20 * log10(ratio / factor)) < 0.06)
        try await worker.stopsWell()
    }

    @Test func aJobThatIsCancelledHoldsNobodyUp() async throws {
        let lab = try await WorkerLab()
        try Self.addSources(lab)
        // No worker has its root, so it waits and is not measured.
        var elsewhere = Self.recipe("soft")
        elsewhere.sources[0].location = "nowhere:soft.wav"
        let jobs = try await lab.submit([Self.recipe("loud"), Self.recipe("middle"), elsewhere])
        let worker = try lab.worker()
        try await lab.wait("two jobs have measured") {
            try lab.sql("select count(*) from \(lab.schema).delayed where code = 'album_waits'") == "2"
        }
        let story = try #require(try await lab.ledger.story(of: jobs[0]))
        #expect(story.waitingFor == .album)
        try await lab.ledger.apply(.cancel, to: JobFilter(ids: [jobs[2]]))
        try await lab.wait(for: 2, "completed")
        try Self.check(lab, [0, 2])
        try await worker.stopsWell()
    }

    /// A failover loses the end of the jobs and what they measured. Two outputs are still there, and the third gets the
    /// gain of all three again.
    @Test func outputsThatExistAreMeasuredForTheOthers() async throws {
        let lab = try await WorkerLab()
        try Self.addSources(lab)
        let worker = try lab.worker()
        try await lab.submit(Self.names.map { Self.recipe($0) })
        try await lab.wait(for: 3, "completed")
        try await lab.wait("no job waits for the album") {
            try lab.sql("select is_awaited from \(lab.schema).album") == "f"
        }
        let before = try Bytes.read(lab.path("out/soft.wav"))
        try FileManager.default.removeItem(atPath: lab.path("out/soft.wav"))
        try lab.sql("delete from \(lab.schema).album; delete from \(lab.schema).album_track")
        try lab.forgetFinishedJobs()
        try await lab.wait(for: 3, "completed")
        #expect(try Bytes.read(lab.path("out/soft.wav")) == before)
        let placements = "select count(*) from \(lab.schema).finished where placement = 'adopted'"
        #expect(try lab.sql(placements) == "2")
        try Self.check(lab)
        try await worker.stopsWell()
    }

    /// What was measured outlives the worker.
    @Test func anotherWorkerGoesOnWithWhatTheFirstMeasured() async throws {
        let lab = try await WorkerLab(lease: "3 s")
        try Self.addSources(lab)
        var elsewhere = Self.recipe("soft")
        elsewhere.sources[0].location = "late:soft.wav"
        try await lab.submit([Self.recipe("loud"), Self.recipe("middle"), elsewhere])
        let first = try lab.worker()
        try await lab.wait("two jobs have measured") {
            try lab.sql("select count(*) from \(lab.schema).delayed where code = 'album_waits'") == "2"
        }
        first.signal(SIGKILL)
        _ = try await first.end()
        try FileManager.default.createDirectory(atPath: lab.path("late"), withIntermediateDirectories: true)
        try WAVFile.write(Self.track(1).pcm(.s16), to: lab.path("late/soft.wav"))
        let second = try lab.worker(roots: ["in", "out", "late"])
        try await lab.wait(for: 3, "completed")
        try Self.check(lab)
        #expect(try lab.sql("select count(*) from \(lab.schema).album_track") == "3")
        try await second.stopsWell()
    }
}
