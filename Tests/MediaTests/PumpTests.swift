import Conversion
import Foundation
import Media
import TestSupport
import Testing

@Suite struct PumpTests {
    @Test(arguments: ["wav", "archive-flac", "mp3-128", "speech-16k"])
    func pumpAllocatesNothingPerBlock(preset: String) throws {
        let folder = try TemporaryFolder.create()
        let source = folder.path("source.wav")
        try WAVFile.write(Signal.noise(seed: 1, rate: 44_100, frames: 44_100 * 20, channels: 2).pcm(.s16), to: source)
        // A release build, as shipped: without optimisation, Swift allocates for every closure.
        let program = BuiltProgram.releasePath("media-program")
        let `extension` = try Preset.named(preset).format(forExtension: nil).container.fileExtensions[0]
        let words = ["allocations", source, folder.path("out.\(`extension`)"), preset, `extension`]
        let run = try Run.program(program, words).checked()
        let said = run.outputText.split(separator: " ")
        #expect(said.first == "0", "\(run.outputText)")
        #expect(try #require(Int(said[3])) > 20)
        #expect(run.outputText.contains("control 1"))
    }

    @Test func progressGrowsToTheWholeLength() throws {
        let clip = try Clip(Signal.tone(440, rate: 8_000, frames: 80_000, channels: 1, amplitude: 0.5))
        var reports: [Pump.Progress] = []
        _ = try clip.convert(AudioFormat(container: .flac)) { reports.append($0) }
        #expect(reports.count >= 3)
        #expect(reports.map(\.position) == reports.map(\.position).sorted())
        #expect(reports.allSatisfy { $0.totalFrames == 80_000 && $0.frames <= 80_000 })
    }

    @Test func raisedSignalEndsThePumpAtTheNextBlock() throws {
        let clip = try Clip(Signal.tone(440, rate: 8_000, frames: 800_000, channels: 1, amplitude: 0.5))
        let stop = StopSignal()
        var last: Int64 = 0
        let error = #expect(throws: MediaError.self) {
            try clip.convert(AudioFormat(container: .flac), stop: stop) { progress in
                last = progress.frames
                stop.stop()
            }
        }
        #expect(error?.code == .cancelled)
        // The pump stops after one block, not at the end of the file. A block is far less than 50 ms of work.
        #expect(last < 100_000)
    }
}
