import API
import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice submit --waveform`: jobs that show the sound of their outputs. The files are real, and so is the worker.
struct SubmitWaveformTests {
    let bench: LedgerBench
    private static let words = [
        "submit", "-r", "in", "--to", "out/{stem}.flac", "--waveform", "waves/{dir}/{stem}.dat", "--waveform",
        "waves/{stem}.svg", "--zoom", "512",
    ]

    init() throws {
        bench = try LedgerBench()
        try bench.sound("in/a.wav")
    }

    private func submit(_ more: String...) throws -> Run { try bench.run(Self.words + more) }
    private func file(_ name: String) throws -> [UInt8] { try Bytes.read(bench.folder.path(name)) }

    @Test func jobWritesTheWaveformOfItsSound() async throws {
        let worker = try bench.startWorker()
        #expect(try submit("--wait").checked().outputText == "batch 1  1 job\nbatch 1  1 completed\n")
        _ = try bench.run(["waveform", "in/a.wav", "alone.dat", "--zoom", "512"]).checked()
        #expect(try file("waves/a.dat") == file("alone.dat"))
        #expect(String(decoding: try file("waves/a.svg"), as: UTF8.self).hasPrefix("<svg"))
        let story = try #require(try await bench.ledger.story(of: 1))
        #expect(story.needs.sorted() == ["codec:flac", "recipe:4", "root:local"])
        #expect(story.attempts.last?.facts.further.map { $0.waveform?.samplesPerPixel } == [512, nil])
        let page = try bench.run(["job", "1"]).checked().outputText
        #expect(page.contains("waveform, 512 frames for each peak"), "\(page)")
        let again = try submit("--wait").checked().outputText
        #expect(again == "batch 1  1 job\nnothing to submit: 1 unchanged\n", "\(again)")
        withExtendedLifetime(worker) {}
    }

    /// The sound stays, and the waveform still shows what it holds: the louder output, and not the source.
    @Test(arguments: [["--loudness", "-30"], ["--fade-in", "0.2"], []])
    func waveformThatIsGoneIsMadeAgain(wishes: [String]) throws {
        let worker = try bench.startWorker()
        _ = try bench.run(Self.words + wishes + ["--wait"]).checked()
        let (sound, wave) = (try file("out/a.flac"), try file("waves/a.dat"))
        _ = try bench.run(["waveform", "out/a.flac", "alone.dat", "--zoom", "512"]).checked()
        let isOfTheOutput = try wave == file("alone.dat")
        #expect(isOfTheOutput || !wishes.isEmpty)
        try FileManager.default.removeItem(atPath: bench.folder.path("waves/a.dat"))
        let again = try bench.run(Self.words + wishes + ["--wait"]).checked().outputText
        #expect(again.hasPrefix("batch 2  1 job: 1 missing again\n"), "\(again)")
        #expect(try file("waves/a.dat") == wave)
        #expect(try file("out/a.flac") == sound)
        // The attempt reports on a waveform only, and the samples that it shows are not the format of the sound.
        let page = try bench.run(["job", "2"]).checked().outputText
        #expect(page.contains("out/a.flac") && !page.contains("pcm s16"), "\(page)")
        withExtendedLifetime(worker) {}
    }

    @Test func recipeMayHaveWaveformsAndNothingElse() throws {
        let worker = try bench.startWorker()
        let shown = #"""
            {"version":4,"sources":[{"location":"{source}"}],
            "outputs":[{"location":"waves/{stem}.json","waveform":{"bits":16}}]}
            """#
        try Bytes.write(Array(shown.utf8), to: bench.folder.path("shown.json"))
        let words = ["submit", "in/a.wav", "--recipe", "shown.json", "--waveform", "waves/{stem}.dat"]
        _ = try bench.run(words + ["--spectrogram", "waves/{stem}.png", "--wait"]).checked()
        _ = try bench.run(["waveform", "in/a.wav", "--spectrogram", "alone.png"]).checked()
        #expect(try file("waves/a.png") == file("alone.png"))
        _ = try bench.run(["waveform", "in/a.wav", "alone.json", "--peak-bits", "16"]).checked()
        #expect(try file("waves/a.json") == file("alone.json"))
        #expect(try file("waves/a.dat").count > 24)
        withExtendedLifetime(worker) {}
    }

    @Test func recipeOfThePageIsValid() throws {
        let page = String(decoding: try Bytes.read(Documentation.path("pictures.md")), as: UTF8.self)
        let recipe = try Recipe(json: try #require(Documentation.blocks("json", in: page).first))
        try recipe.validate()
        #expect(recipe.outputs.count == 4 && recipe.soundOutputs.count == 1)
    }

    @Test func mistakesAreRefused() throws {
        try bench.sound("in/b.wav")
        for (words, message) in [
            (["--waveform", "w/{stem}.gif"], "--waveform w/{stem}.gif: is not a waveform"),
            (["--waveform", "{ext}/{stem}.dat"], "--waveform {ext}/{stem}.dat: the value of {ext} is unknown"),
            (["--waveform", "w/{stem}.dat", "--theme", "dark"], "--theme is for pictures"),
            (["--waveform", "w/same.dat"], "2 sources would become local:"),
            (["--waveform", "w/{stem}.dat", "--waveform", "w/{stem}.dat"], "two outputs of a job would be local:"),
            (["--waveform", "w/{n}.dat", "--split-at", "1"], "--waveform and --split-at exclude each other"),
            (["--waveform", "w/{stem}.dat", "--codec", "copy"], "passthrough decodes nothing"),
            (["--zoom", "512"], "--zoom is for .dat and .json"),
        ] {
            let run = try bench.run(["submit", "-r", "in", "--to", "out/{stem}.flac"] + words)
            #expect(!run.succeeded && run.errorText.contains(message), "\(run.errorText)")
        }
    }
}
