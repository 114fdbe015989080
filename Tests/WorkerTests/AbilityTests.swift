import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A worker leaves the jobs that it cannot do to workers that can.
struct AbilityTests {
    private static func submitToMP3(_ lab: WorkerLab, needs: [String]) async throws -> Int64 {
        let request = JobRequest(WorkerLab.recipe(to: "out:talk.mp3"), needs: needs)
        return try await lab.ledger.submit(Submission(), [request]).firstJob
    }

    @Test func jobOfACodecThatNoWorkerWritesWaitsAndSaysWhy() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let job = try await Self.submitToMP3(lab, needs: ["codec:mp3", "root:in", "root:out"])
        let lacking = try lab.worker("--without-codec", "mp3")
        // The worker does other jobs, and has passed over the first.
        try await lab.submit(3)
        try await lab.wait(for: 3, "completed")
        #expect(try lab.truth() == ["waiting": 1, "completed": 3])
        let story = try #require(try await lab.ledger.story(of: job))
        #expect(story.waitingFor == .unable && story.missing == ["codec:mp3"])
        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let page = try Sluice.run(["job", "\(job)"] + address).checked().outputText
        let needed = "the job needs codec:mp3, root:in, root:out, and no running worker has codec:mp3"
        #expect(page.split(separator: "\n").contains { $0.hasPrefix("waits ") && $0.hasSuffix(needed) }, "\(page)")
        let list = try Sluice.run(["jobs"] + address).checked()
        let note = "note:  jobs in queue default wait, such as \(job): no running worker has codec:mp3\n"
        #expect(list.errorText == note)
        let able = try lab.worker()
        try await lab.wait(for: 4, "completed")
        try await lacking.stopsWell()
        try await able.stopsWell()
        #expect(lacking.lines("attempt").count == 3, "the worker was never given the job")
        #expect(try lab.attempts() == ["completed": 4])
        #expect(try lab.outputs().contains("talk.mp3"))
    }

    /// Older submitters, and those that use SQL directly, make such jobs.
    @Test func jobThatDoesNotSayWhatItNeedsIsHandedBackOnce() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let job = try await Self.submitToMP3(lab, needs: [])
        let lacking = try lab.worker("--without-codec", "mp3", "--without-codec", "opus")
        try await lacking.waits(for: "attempt")
        #expect(lacking.lines("attempt").first?.outcome == "released")
        #expect(lacking.lines("attempt").first?.reason == "codec:mp3")
        #expect(try await lab.ledger.story(of: job)?.missing == ["codec:mp3"])
        let able = try lab.worker()
        try await lab.wait(for: 1, "completed")
        try await lacking.stopsWell()
        try await able.stopsWell()
        #expect(try lab.attempts() == ["completed": 1, "released unable": 1])
    }

    /// Which format a source has shows only when it is opened.
    @Test func sourceInAFormatThatTheWorkerLeavesOutGoesToAnother() async throws {
        let lab = try await WorkerLab()
        let sound = Signal.tone(440, rate: 8_000, frames: 8_000).pcm(.s16)
        try FFmpeg.encode(sound, to: lab.path("in/song.flac"))
        // The container alone may be read.
        try FFmpeg.encode(sound, to: lab.path("in/film.mka"), ["-c:a", "flac"])
        // Several words permit its container, and the next worker has another one of them than the first in the list.
        try FFmpeg.encode(sound, to: lab.path("in/voice.ogg"), ["-c:a", "libopus"])
        func recipe(_ name: String) -> Recipe {
            Recipe(from: .init(location: "in:\(name)"), to: .init(location: "out:\(name).wav"))
        }
        let jobs = try await lab.submit([recipe("song.flac"), recipe("film.mka"), recipe("voice.ogg")])
        let narrow = try lab.worker("--formats", "wav, mp3 matroska")
        try await lab.wait("all are handed back") { try lab.attempts()["released unable"] == 3 }
        for (job, word) in zip(jobs, ["flac", "flac", "vorbis|opus|speex"]) {
            #expect(try await lab.ledger.story(of: job)?.missing == ["format:\(word)"])
        }
        // It does what it may.
        try lab.addSource()
        try await lab.submit([recipe("talk.wav")])
        try await lab.wait(for: 1, "completed")
        let able = try lab.worker("--formats", "flac,matroska,opus")
        try await lab.wait(for: 4, "completed")
        try await narrow.stopsWell()
        try await able.stopsWell()
        #expect(try lab.attempts() == ["completed": 4, "released unable": 3])
    }

    @Test func whatIsNoFormatIsRefused() throws {
        let run = try Sluice.run(["worker", "--formats", "wav,exe"])
        #expect(run.status == .exited(2) && run.errorText.contains("exe") && run.errorText.contains("musepack"))
    }

    @Test func workersSayWhatTheirLibrariesWrite() async throws {
        let lab = try await WorkerLab()
        let worker = try lab.worker("--without-codec", "aac")
        try await worker.waits(for: "started")
        let abilities = try #require(try await lab.ledger.workers().first?.abilities)
        let codecs = abilities.filter { $0.hasPrefix("codec:") }
        // All codecs that are written here. ffmpeg has the same libraries and lists them, too. `copy` is not a codec.
        let encoders = try Run.program("ffmpeg", ["-hide_banner", "-encoders"]).checked().outputText
        for name in ["libmp3lame", "libopus", "libvorbis", "flac", "alac", "wavpack", "pcm_s16le"] {
            try #require(encoders.contains(" \(name) "))
        }
        #expect(
            codecs == ["alac", "alaw", "flac", "mp3", "opus", "pcm", "ulaw", "vorbis", "wavpack"].map { "codec:\($0)" }
        )
        let roots: [String] = abilities.filter { $0.hasPrefix("root:") }
        #expect(roots == ["root:in", "root:out"])
        let formats: Set<String> = Set(abilities.filter { $0.hasPrefix("format:") })
        #expect(formats == Set(Set<SourceFormat>.all.words.map { "format:\($0)" }))
        try await worker.stopsWell()
    }
}
