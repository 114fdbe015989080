import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// From a submitted job to a file, with a worker process.
struct EndToEndTests {
    @Test func jobsBecomeFilesThatTheLedgerRecords() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 4_000)
        try await lab.submit(40)
        let worker = try lab.worker()
        try await lab.wait(for: 40, "completed")
        try await worker.stopsWell()
        #expect(try lab.outputs() == (0..<40).map { "a\($0).flac" }.sorted())
        // The ledger's records match the files, with every frame.
        let rows = try lab.sql(
            """
            select j.recipe -> 'outputs' -> 0 ->> 'location', encode(f.digest, 'hex'), f.size, a.frames_out, a.outcome
            from \(lab.schema).finished f join \(lab.schema).job j on j.id = f.job
            join \(lab.schema).attempt a on a.job = f.job order by 1
            """
        ).split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
        try #require(rows.count == 40)
        for row in rows {
            let path = lab.path("out/" + row[0].dropFirst("out:".count))
            let sum = try Run.program("sha256sum", [path]).checked().outputText.prefix(64)
            #expect(row[1] == sum)
            #expect(Int(row[2]) == (try Bytes.read(path)).count)
            #expect(row[3] == "4000" && row[4] == "completed")
        }
        let decoded = try FFmpeg.decode(lab.path("out/a7.flac"))
        #expect(decoded.frames == 4_000)
        let lines = worker.lines("attempt")
        #expect(lines.count == 40 && lines.allSatisfy { $0.outcome == "completed" })
        #expect(worker.lines.map(\.event).first == "started" && worker.lines.map(\.event).last == "stopped")
        #expect(worker.lines("stopped").first?.handed_back == 0)
    }

    @Test func workerNeedsThreeConnections() async throws {
        let lab = try await WorkerLab(on: .start())
        try lab.addSource()
        // The lab's own connection is open from here on, so it does not count.
        try await lab.submit(100)
        let count = "select count(*) from pg_stat_activity where backend_type = 'client backend'"
        let before = try #require(Int(try lab.sql(count)))
        let worker = try lab.worker("--slots", "8")
        try await lab.wait(for: 100, "completed")
        #expect(try #require(Int(try lab.sql(count))) - before <= 3, "one to work, one for heartbeats, one to listen")
        try await worker.stopsWell()
    }

    @Test func aJobMixesSeveralSources() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("voice.wav", frames: 4_000)
        try lab.addSource("music.wav", frames: 6_000, seed: 8)
        let half = try #require(Gain(decibels: -6))
        let recipe = Recipe(
            sources: [.init(location: "in:voice.wav", name: "voice"), .init(location: "in:music.wav", name: "music")],
            outputs: [.init(location: "out:mix.wav")],
            timeline: Timeline(tracks: [
                .init(start: MediaTime(value: 1, timescale: 8), pieces: [Piece(.source("voice"))]),
                .init(pieces: [Piece(.source("music"), repeats: .times(2), gain: half)]),
            ])
        )
        try await lab.submit([recipe])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        try await worker.stopsWell()
        let (voice, music) = (
            try WAVFile.read(path: lab.path("in/voice.wav")).samples(channel: 0),
            try WAVFile.read(path: lab.path("in/music.wav")).samples(channel: 0)
        )
        let mixed = try WAVFile.read(path: lab.path("out/mix.wav")).samples(channel: 0)
        #expect(mixed.count == 12_000)
        for frame in stride(from: 0, to: 12_000, by: 7) {
            let spoken = (1_000..<5_000).contains(frame) ? voice[frame - 1_000] : 0
            let expected = max(-1, min(1, spoken + music[frame % 6_000] * half.amplitude))
            #expect(abs(mixed[frame] - expected) <= 2.5 / 32_768, "frame \(frame)")
        }
    }

    @Test func aJobLeavesOutSilence() async throws {
        let lab = try await WorkerLab()
        let silence = Signal.silence(rate: 8_000, frames: 3_000).pcm(.s16)
        let sound = try Signal.tone(440, rate: 8_000, frames: 4_000, amplitude: 0.5).pcm(.s16).cut(1..<4_000)
        try WAVFile.write(PCM.joined([silence, sound, silence]), to: lab.path("in/talk.wav"))
        let trim = try SilenceTrim(parsing: "-60dB/0.25s")
        let recipe = Recipe(
            sources: [.init(location: "in:talk.wav", name: "talk")],
            outputs: [.init(location: "out:talk.wav")],
            timeline: Timeline(tracks: [.init(pieces: [Piece(.source("talk"), trimSilence: trim)])])
        )
        try await lab.submit([recipe])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        try await worker.stopsWell()
        #expect(try WAVFile.read(path: lab.path("out/talk.wav")) == sound)
    }

    @Test func aJobOfTwoSourcesNeedsBothRoots() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("voice.wav")
        let recipe = Recipe(
            sources: [.init(location: "in:voice.wav", name: "voice"), .init(location: "elsewhere:b.wav", name: "b")],
            outputs: [.init(location: "out:mix.wav")],
            timeline: Timeline(tracks: [.init(pieces: [Piece(.source("voice")), Piece(.source("b"))])])
        )
        let jobs = try await lab.submit([recipe])
        let worker = try lab.worker()
        // The worker lacks a root: it hands the job back for others, and spends no attempt.
        try await lab.wait("the job is handed back") { try lab.attempts() == ["released unable": 1] }
        let story = try #require(try await lab.ledger.story(of: jobs[0]))
        #expect(story.missing == ["root:elsewhere"])
        #expect(try lab.sql("select count(*) from \(lab.schema).finished") == "0")
        _ = try await worker.stop()
    }
}
