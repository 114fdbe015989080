import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice submit` with edits: jobs of several sources, and recipes as templates.
struct SubmitEditTests {
    let bench: LedgerBench
    private let jingle = Signal.noise(seed: 4, rate: 16_000, frames: 1_600).pcm(.s16)

    init() throws {
        bench = try LedgerBench()
        try bench.sound("in/a.wav")
        try bench.sound("in/b.wav", hertz: 660)
        try WAVFile.write(jingle, to: bench.folder.path("jingle.wav"))
    }

    private func samples(_ name: String) throws -> PCM { try WAVFile.read(path: bench.folder.path(name)) }

    private func recipe(of job: Int64) async throws -> Recipe {
        try Recipe(json: try #require(try await bench.ledger.story(of: job)).recipe)
    }

    @Test func introAndOutroSurroundEachFile() async throws {
        let worker = try bench.startWorker()
        _ = try bench.run([
            "submit", "-r", "in", "--to", "out/{stem}.wav", "--intro", "jingle.wav", "--outro", "jingle.wav", "--wait",
        ]).checked()
        for name in ["a", "b"] {
            let all = try PCM.joined([jingle, samples("in/\(name).wav"), jingle])
            #expect(try samples("out/\(name).wav") == all)
        }
        _ = try bench.run([
            "submit", "in/a.wav", "--to", "short/{stem}.wav", "--intro", "jingle.wav", "--crossfade", "0.05", "--wait",
        ]).checked()
        #expect(try samples("short/a.wav").frames == 1_600 + 8_000 - 800)
        let job = try #require(try await bench.ledger.jobs(ofBatch: 2).first)
        let crossfaded = try await recipe(of: job)
        #expect(crossfaded.sources.map(\.name) == ["source", "intro"])
        #expect(crossfaded.timeline?.tracks[0].pieces[1].crossfade?.curve == .equalPower)
        withExtendedLifetime(worker) {}
    }

    @Test func commonFilesAreRefusedLikeOthers() throws {
        for (words, message) in [
            (["--intro", "nowhere.wav"], "error: nowhere.wav does not exist\n"),
            (["--intro", "in"], "error: in is a folder\n"), (["--crossfade", "1"], "error: --crossfade needs"),
            (["--outro", "out/a.wav"], "error: out/a.wav does not exist\n"),
        ] {
            let run = try bench.run(["submit", "in/a.wav", "--to", "out/{stem}.wav"] + words)
            #expect(!run.succeeded && run.errorText.hasPrefix(message), "\(run.errorText)")
        }
        let run = try bench.run(["submit", "in/a.wav", "--to", "jingle.wav", "--intro", "jingle.wav"])
        #expect(!run.succeeded && run.errorText.contains("jingle.wav is a source and would be overwritten"))
    }

    @Test func commonFilesOfOtherRootsAreNeeds() async throws {
        let words = ["--intro", "jingles:short.wav", "--to", "local:out/{stem}.wav", "--limit", "-2"]
        _ = try bench.run(["submit", "in/a.wav"] + words).checked()
        let story = try #require(try await bench.ledger.story(of: 1))
        #expect(story.needs.sorted() == ["codec:pcm", "recipe:2", "root:jingles", "root:local"])
        let recipe = try Recipe(json: story.recipe)
        #expect(recipe.sources[1].location == "jingles:short.wav")
        #expect(recipe.timeline?.limit == Gain(decibels: -2))
    }

    /// A cover is a source of each job, which may have edits as well.
    @Test func coverIsOfAllJobs() async throws {
        let picture = bench.folder.path("front.png")
        try FFmpeg.run(["-y", "-f", "lavfi", "-i", "color=red:size=60x40", "-frames:v", "1", picture])
        let worker = try bench.startWorker()
        let words = ["--to", "out/{stem}.flac", "--cover", "front.png", "--wait"]
        _ = try bench.run(["submit", "-r", "in", "--intro", "jingle.wav"] + words).checked()
        for name in ["a", "b"] {
            let streams = try FFmpeg.probe(bench.folder.path("out/\(name).flac")).streams
            #expect(streams.contains { $0.width == 60 && $0.height == 40 }, "\(name)")
        }
        let made = try await recipe(of: 1)
        #expect(made.sources.map(\.use) == [.sound, .sound, .cover] && made.version == 4)
        let missing = try bench.run(["submit", "in/a.wav", "--to", "x.flac", "--cover", "gone.png"])
        #expect(!missing.succeeded && missing.errorText.contains("gone.png"), "\(missing.errorText)")
        withExtendedLifetime(worker) {}
    }

    @Test func recipeIsATemplateForEachFile() async throws {
        // The file is in two sources, and not the first of the list.
        let template = #"""
            {"version": 2,
             "sources": [{"name": "jingle", "location": "jingle.wav"}, {"name": "talk", "location": "{source}"},
                         {"name": "again", "location": "{source}"}],
             "outputs": [{"location": "out/{stem}.wav"}], "tags": {"title": "A show"},
             "timeline": {"tracks": [{"pieces": [{"source": "jingle"}, {"source": "talk"},
               {"source": "again", "to": "0.1", "reverse": true}]}]}}
            """#
        try Bytes.write(Array(template.utf8), to: bench.folder.path("show.json"))
        let worker = try bench.startWorker()
        _ = try bench.run(["submit", "-r", "in", "--recipe", "show.json", "--wait"]).checked()
        _ = try bench.run(["submit", "in/b.wav", "--recipe", "show.json", "--to", "more/{stem}.{ext}", "--wait"])
            .checked()
        for (source, output) in [("a", "out/a"), ("b", "out/b"), ("b", "more/b")] {
            let talk = try samples("in/\(source).wav")
            let part = try talk.cut(0..<1_600)
            let back = Signal(rate: part.rate, channels: part.signal.channels.map { $0.reversed() }).pcm(.s16)
            #expect(try samples("\(output).wav") == PCM.joined([jingle, talk, back]), "\(output)")
        }
        #expect(
            try await bench.ways() == ["in/a.wav > out/a.wav", "in/b.wav > out/b.wav"]
        )
        let made = try await recipe(of: 1)
        #expect(made.sources.map(\.name) == ["talk", "again", "jingle"])
        #expect(made.tags == ["title": "A show"])
        withExtendedLifetime(worker) {}
    }

    @Test func aRecipeMayHaveSeveralOutputs() async throws {
        let two = #"""
            {"version": 2, "sources": [{"location": "{source}"}],
             "outputs": [{"location": "out/{stem}.wav"}, {"location": "web/{stem}.{ext}", "preset": "opus-voice-24"}]}
            """#
        try Bytes.write(Array(two.utf8), to: bench.folder.path("two.json"))
        let worker = try bench.startWorker()
        _ = try bench.run(["submit", "in/a.wav", "--recipe", "two.json", "--wait"]).checked()
        #expect(try samples("out/a.wav") == samples("in/a.wav"))
        #expect(try FFmpeg.decode(bench.folder.path("web/a.opus")).frames > 0)
        withExtendedLifetime(worker) {}
    }

    @Test func aBatchMayBeAnAlbum() async throws {
        let worker = try bench.startWorker()
        _ = try bench.run(["submit", "-r", "in", "--to", "out/{stem}.flac", "--replaygain", "album", "--wait"])
            .checked()
        #expect(try await recipe(of: 1).outputs[0].replayGain == .album)
        let words = ["submit", "-r", "in", "--to", "even/{stem}.flac", "--loudness", "-30", "--album", "--wait"]
        _ = try bench.run(words).checked()
        let job = try #require(try await bench.ledger.jobs(ofBatch: 2).first)
        #expect(try await recipe(of: job).outputs[0].loudness?.scope == .album)
        let report = try #require(try await bench.ledger.story(of: job)?.attempts.last?.facts.report?.loudness)
        #expect(report.albumLUFS != nil)
        withExtendedLifetime(worker) {}
        for (words, message) in [
            (["submit", "in/a.wav", "--to", "x/{stem}.flac", "--album"], "error: --album needs --loudness\n"),
            (
                ["submit", "in/a.wav", "--to", "x/{stem}.flac", "--loudness", "-20", "--replaygain", "album"],
                "error: --replaygain: album; every output gets the same loudness"
            ),
            (
                ["convert", "in/a.wav", "x.flac", "--replaygain", "album"],
                "error: --replaygain album: one output is no album\n"
            ),
        ] {
            let run = try bench.run(words)
            #expect(run.status == .exited(2) && run.errorText.hasPrefix(message), "\(run.errorText)")
        }
    }

    @Test func templatesWithoutAPlaceAreRefused() throws {
        let fixed = #"{"version":1,"sources":[{"location":"jingle.wav"}],"outputs":[{"location":"x.wav"}]}"#
        try Bytes.write(Array(fixed.utf8), to: bench.folder.path("fixed.json"))
        for (words, message) in [
            (["--recipe", "fixed.json"], "error: fixed.json has no source {source}\n"),
            (["--recipe", "fixed.json", "--rate", "8k"], "error: --rate and --recipe exclude each other\n"),
            (["--recipe", "fixed.json", "--until", "8"], "error: --until and --recipe exclude each other\n"),
        ] {
            let run = try bench.run(["submit", "in/a.wav", "--to", "out/{stem}.wav"] + words)
            #expect(run.status == .exited(2) && run.errorText.hasPrefix(message), "\(run.errorText)")
        }
    }
}
