import Conversion
import Foundation
import TestSupport
import Testing

/// `--also`: several files from one read.
@Suite struct AlsoTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder.create()
        let signal = Signal.noise(seed: 4, rate: 44_100, frames: 44_100, channels: 2, amplitude: 0.4)
        try WAVFile.write(signal.pcm(.s24), to: folder.path("talk.wav"))
    }

    private func names() throws -> [String] { try folder.names().filter { $0 != "talk.wav" } }

    @Test func eachFileIsAsIfItWereTheOnlyOne() throws {
        let run = try Sluice.run(
            "convert",
            "talk.wav",
            "a.flac",
            "--also",
            "b.mp3:podcast-mp3",
            "--also",
            "c.opus",
            "--verify",
            in: folder
        )
        #expect(run.succeeded, "\(run.errorText)")
        let lines = run.outputText.split(separator: "\n").map { $0.split(separator: " ")[0] }
        #expect(lines == ["a.flac", "b.mp3", "c.opus"])
        try Sluice.run("convert", "talk.wav", "1.flac", in: folder).checked()
        try Sluice.run("convert", "talk.wav", "2.mp3", "--preset", "podcast-mp3", in: folder).checked()
        try Sluice.run("convert", "talk.wav", "3.opus", in: folder).checked()
        for (together, alone) in [("a.flac", "1.flac"), ("b.mp3", "2.mp3"), ("c.opus", "3.opus")] {
            #expect(try Bytes.read(folder.path(together)) == Bytes.read(folder.path(alone)), "\(together)")
        }
    }

    @Test func rateAndChannelsHoldForAllButPresets() throws {
        let run = try Sluice.run(
            "convert",
            "talk.wav",
            "a.flac",
            "--also",
            "b.wav",
            "--also",
            "c.flac:archive-flac",
            "--rate",
            "48k",
            "--channels",
            "1",
            "--bits",
            "16",
            "--json",
            in: folder
        )
        #expect(run.succeeded, "\(run.errorText)")
        let formats = try run.outputText.split(separator: "\n").map { line in
            let record = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(record["state"] as? String == "completed")
            let format = try #require((record["conversion"] as? [String: Any])?["format"] as? [String: Any])
            return "\(record["destination"] ?? "") \(format["sampleRateHz"] ?? 0) \(format["channelCount"] ?? 0) "
                + "\(format["bitDepth"] ?? 0)"
        }
        #expect(formats == ["a.flac 48000 1 16", "b.wav 48000 1 24", "c.flac 44100 2 24"])
    }

    @Test func nothingIsWrittenIfOneNameIsTaken() throws {
        try Bytes.write(Array("old".utf8), to: folder.path("b.mp3"))
        let run = try Sluice.run("convert", "talk.wav", "a.flac", "--also", "b.mp3", in: folder)
        #expect(
            !run.succeeded && run.errorText.contains("cannot write to b.mp3: it already exists"),
            "\(run.errorText)"
        )
        #expect(try names() == ["b.mp3"])
    }

    @Test func whatExistsIsSkippedAndTheRestWritten() throws {
        try Bytes.write(Array("old".utf8), to: folder.path("a.flac"))
        let words = ["convert", "talk.wav", "a.flac", "--also", "b.mp3", "--on-conflict", "skip"]
        let run = try Sluice.run(words, in: folder)
        #expect(run.succeeded)
        #expect(run.errorText.contains("a.flac already exists; skipped"))
        #expect(run.outputText.hasPrefix("b.mp3  "))
        #expect(try Bytes.read(folder.path("a.flac")) == Array("old".utf8))
        let again = try Sluice.run(words + ["--json"], in: folder)
        #expect(again.succeeded)
        #expect(again.outputText.components(separatedBy: "\"state\":\"skipped\"").count == 3)
    }

    @Test(arguments: [
        (["a.flac", "--also", "a.flac"], "is also recipe.outputs[0].location"),
        (["a.flac", "--also", "b.xyz"], "b.xyz: unknown extension"),
        (["a.flac", "--also", "b.mp3:podcast"], "is not a preset"),
        (["a.flac", "--also", "-"], "which can only be the only output"),
        (["-", "--container", "wav", "--also", "b.mp3"], "standard output can only be the only output"),
        (["a.flac", "--also", "b.wav", "--codec", "copy"], "passthrough decodes nothing"),
    ])
    func whatCannotBeDoneIsRefused(words: [String], why: String) throws {
        let run = try Sluice.run(["convert", "talk.wav"] + words, in: folder)
        #expect(run.status == .exited(2), "\(run.errorText)")
        #expect(run.errorText.contains(why), "\(run.errorText)")
        #expect(try names() == [])
    }

    @Test func theSourceIsNeverAnOutput() throws {
        let before = try Bytes.read(folder.path("talk.wav"))
        let run = try Sluice.run(
            "convert",
            "talk.wav",
            "a.flac",
            "--also",
            "talk.wav",
            "--on-conflict",
            "replace",
            in: folder
        )
        #expect(!run.succeeded && run.errorText.contains("destination_is_source"), "\(run.errorText)")
        #expect(try Bytes.read(folder.path("talk.wav")) == before)
        #expect(try names() == [])
    }

    @Test func aColonMayBePartOfAName() throws {
        try Sluice.run("convert", "talk.wav", "a.flac", "--also", "1:2.wav", in: folder).checked()
        #expect(try names() == ["1:2.wav", "a.flac"])
    }

    @Test func joinAndMixWriteSeveralFilesToo() throws {
        for command in [["join", "talk.wav", "talk.wav"], ["mix", "talk.wav", "talk.wav@-6dB"]] {
            let run = try Sluice.run(command + ["\(command[0]).flac", "--also", "\(command[0]).mp3"], in: folder)
            #expect(run.succeeded, "\(run.errorText)")
        }
        #expect(try names() == ["join.flac", "join.mp3", "mix.flac", "mix.mp3"])
    }

    @Test func aRecipeMayHaveSeveralOutputs() throws {
        let recipe = """
            {"version": 2, "sources": [{"location": "talk.wav"}],
             "outputs": [{"location": "a.flac"}, {"location": "b.opus", "preset": "opus-96"}]}
            """
        try Bytes.write(Array(recipe.utf8), to: folder.path("two.json"))
        try Sluice.run("convert", "--recipe", "two.json", in: folder).checked()
        #expect(try names() == ["a.flac", "b.opus", "two.json"])
    }
}
