import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Jobs whose outputs show the sound.
struct WaveformJobTests {
    private static func recipe() -> Recipe {
        var sound = Recipe.Output(location: "out:a.flac")
        sound.loudness = LoudnessGoal(target: .level(.init(hundredths: -3_000)))
        let waveform = Recipe.Output(location: "out:waves/a.dat", waveform: .init(bits: 16))
        let spectrogram = Recipe.Output(location: "out:waves/a.png", waveform: .init(spectrogram: .mel))
        return Recipe(sources: [.init(location: "in:talk.wav")], outputs: [sound, waveform, spectrogram])
    }

    /// After a failover that lost commits, the sound is adopted, and the waveform still shows the sound at its new level.
    @Test(arguments: [["a.flac", "waves/a.dat"], ["waves/a.dat"], ["waves/a.dat", "waves/a.png"]])
    func waveformIsMadeOfSoundThatIsAdopted(missing: [String]) async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 96_000)
        let worker = try lab.worker()
        try await lab.submit([Self.recipe()])
        try await lab.wait(for: 1, "completed")
        let names = ["a.flac", "waves/a.dat", "waves/a.png"]
        let before = try names.map { try Bytes.read(lab.path("out/\($0)")) }
        for name in missing { try FileManager.default.removeItem(atPath: lab.path("out/\(name)")) }
        try lab.forgetFinishedJobs()
        try await lab.wait(for: 1, "completed")
        #expect(try names.map { try Bytes.read(lab.path("out/\($0)")) } == before)
        #expect(try lab.outputs() == ["a.flac", "waves", "waves/a.dat", "waves/a.png"])
        try await worker.stopsWell()
    }

    @Test func jobNeedsWorkersThatReadVersion4() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let jobs = try await lab.submit([Self.recipe()])
        let story = try #require(try await lab.ledger.story(of: jobs[0]))
        #expect(story.needs.contains("recipe:4"))
    }
}
