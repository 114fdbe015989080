import Foundation
import TestSupport
import Testing

/// `convert --recipe`: a recipe in a file is the whole conversion.
struct RecipeConversionTests {
    let material: Material
    private let talk = Material.talk
    private let jingle = Signal.noise(seed: 4, rate: 48_000, frames: 4_800, channels: 2).pcm(.s16)

    init() throws {
        material = try Material()
        try WAVFile.write(jingle, to: material.path("jingle.wav"))
    }

    private func sluice(_ words: String...) throws -> Run { try Sluice.run(words, in: material.folder) }
    private func samples(_ name: String) throws -> PCM { try WAVFile.read(path: material.path(name)) }
    private func write(_ recipe: String, _ name: String = "show.json") throws {
        try Bytes.write(Array(recipe.utf8), to: material.path(name))
    }

    /// The jingle, then the first fifth of `talk` backwards, twice.
    private func show(talk: String) -> String {
        #"""
        {"version": 2,
         "sources": [{"name": "jingle", "location": "jingle.wav"}, {"name": "talk", "location": "\#(talk)"}],
         "outputs": [{"location": "show.wav"}], "tags": {"title": "A show"},
         "timeline": {"tracks": [{"pieces": [{"source": "jingle"},
           {"source": "talk", "to": "0.1", "reverse": true, "repeat": 2}]}]}}
        """#
    }

    private func expected(_ talk: PCM) throws -> PCM {
        let part = try talk.cut(0..<4_800).signal
        let back = Signal(rate: 48_000, channels: part.channels.map { $0.reversed() }).pcm(.s16)
        return try PCM.joined([jingle, back, back])
    }

    @Test func recipeNamesSourcesAndOutput() throws {
        try write(show(talk: "talk.wav"))
        let run = try sluice("convert", "--recipe", "show.json")
        #expect(run.succeeded && run.outputText.hasPrefix("show.wav  "), "\(run.errorText)")
        #expect(try samples("show.wav") == expected(talk))
        // The output may be named, and options may add to the recipe.
        #expect(
            try sluice("convert", "other.flac", "--recipe", "show.json", "--tag", "artist=Ada", "--verify").succeeded
        )
        #expect(try FFmpeg.decode(material.path("other.flac"), to: .s16) == expected(talk))
        let tags = try FFmpeg.probe(material.path("other.flac")).tags
        #expect(tags.first { $0.key.lowercased() == "artist" }?.value == "Ada")
        #expect(tags.first { $0.key.lowercased() == "title" }?.value == "A show")
    }

    @Test func sourceInBracesIsIN() throws {
        try write(show(talk: "{source}"))
        let other = Signal.noise(seed: 9, rate: 48_000, frames: 9_600, channels: 2).pcm(.s16)
        try WAVFile.write(other, to: material.path("other.wav"))
        #expect(try sluice("convert", "talk.wav", "--recipe", "show.json").succeeded)
        #expect(try samples("show.wav") == expected(talk))
        #expect(try sluice("convert", "other.wav", "out.wav", "--recipe", "show.json").succeeded)
        #expect(try samples("out.wav") == expected(other))
    }

    @Test func versionOneIsReadAsWell() throws {
        try write(
            #"""
            {"version": 1, "sources": [{"location": "{source}", "ranges": [{"from": "0.1", "to": "0.2"}]}],
             "outputs": [{"location": "part.flac", "format": {"bitDepth": 24}}]}
            """#
        )
        #expect(try sluice("convert", "talk.wav", "--recipe", "show.json").succeeded)
        #expect(try FFmpeg.decode(material.path("part.flac"), to: .s16) == talk.cut(4_800..<9_600))
    }

    @Test func conflictsAreSettledByTheRecipeOrTheOption() throws {
        let recipe = #"""
            {"version": 1, "sources": [{"location": "talk.wav"}],
             "outputs": [{"location": "jingle.wav", "onConflict": "skip"}]}
            """#
        try write(recipe)
        #expect(try sluice("convert", "--recipe", "show.json").errorText.contains("already exists; skipped"))
        #expect(try samples("jingle.wav") == jingle)
        #expect(try sluice("convert", "--recipe", "show.json", "--on-conflict", "replace").succeeded)
        #expect(try samples("jingle.wav") == talk)
    }

    @Test func refusalsSayWhatIsWrong() throws {
        try write(show(talk: "talk.wav"))
        try write(show(talk: "{source}"), "template.json")
        try write(show(talk: "talk.wav").replacing("reverse", with: "revers"), "wrong.json")
        for (words, message) in [
            (["a.wav", "b.wav", "--recipe", "show.json"], "show.json has no source {source}, so no IN can be given"),
            (["--recipe", "template.json"], "IN is missing"),
            (["--recipe", "show.json", "--gain", "-3dB"], "--gain and --recipe exclude each other"),
            (["--recipe", "show.json", "--to", "1"], "--to and --recipe exclude each other"),
            (["--recipe", "wrong.json"], "wrong.json: recipe.timeline.tracks[0].pieces[1].revers"),
            (["talk.wav"], "OUT is missing"), ([], "IN is missing"),
        ] {
            let run = try Sluice.run(["convert"] + words, in: material.folder)
            #expect(run.status == .exited(2) && run.errorText.hasPrefix("error: \(message)"), "\(run.errorText)")
        }
    }
}
