import Foundation
import TestSupport
import Testing

/// `sluice waveform`, and `--waveform` of `convert`.
@Suite struct WaveformTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder.create()
        let signal = Signal.noise(seed: 4, rate: 44_100, frames: 44_100, channels: 2, amplitude: 0.4)
        try WAVFile.write(signal.pcm(.s16), to: folder.path("talk.wav"))
    }

    private func sluice(_ words: String...) throws -> Run { try Sluice.run(words, in: folder) }
    private func names() throws -> [String] { try folder.names().filter { $0 != "talk.wav" } }

    @Test func dataAndPictureOfAFileAreWritten() throws {
        let run = try sluice("waveform", "talk.wav", "talk.dat")
        #expect(run.succeeded, "\(run.errorText)")
        #expect(run.outputText.contains("talk.dat  0:01  173 peaks of 256 frames, 8 bits  370 B"), "\(run.outputText)")
        #expect(run.outputText.contains("44,100 frames, complete"))
        // 44,100 frames are 172.3 windows.
        let bytes = try Bytes.read(folder.path("talk.dat"))
        #expect(bytes.count == 370)
        let header: [UInt8] = [
            2, 0, 0, 0, 1, 0, 0, 0, 0x44, 0xAC, 0, 0, 0, 1, 0, 0, 173, 0, 0, 0, 1, 0, 0, 0,
        ]
        #expect(Array(bytes.prefix(24)) == header)
        #expect(try sluice("waveform", "talk.wav", "talk.svg", "--picture-size", "400x80").succeeded)
        let picture = String(decoding: try Bytes.read(folder.path("talk.svg")), as: UTF8.self)
        #expect(picture.contains(#"width="400" height="80""#))
        #expect(try names() == ["talk.dat", "talk.svg"])
    }

    @Test func optionsSayWhichData() throws {
        let words = ["waveform", "talk.wav", "talk.json", "--zoom", "4410", "--peak-bits", "16", "--split-channels"]
        let run = try Sluice.run(words + ["--json"], in: folder)
        #expect(run.succeeded, "\(run.errorText)")
        let file = try JSONSerialization.jsonObject(with: Data(try Bytes.read(folder.path("talk.json"))))
        let object = try #require(file as? [String: Any])
        #expect(object["samples_per_pixel"] as? Int == 4_410 && object["bits"] as? Int == 16)
        #expect(object["channels"] as? Int == 2 && object["length"] as? Int == 10)
        #expect((object["data"] as? [Int])?.count == 40)
        let line = try JSONSerialization.jsonObject(with: Data(run.outputText.utf8)) as? [String: Any]
        let report = (line?["conversion"] as? [String: Any])?["waveform"] as? [String: Int]
        #expect(report == ["bits": 16, "channelCount": 2, "length": 10, "samplesPerPixel": 4_410])
    }

    @Test func spectrogramsAreWritten() throws {
        let alone = try sluice("waveform", "talk.wav", "--spectrogram", "{stem}.png", "--theme", "dark")
        #expect(alone.succeeded, "\(alone.errorText)")
        #expect(alone.outputText.contains("talk.png  0:01  spectrogram of 1,200 x 400 pixels"), "\(alone.outputText)")
        let wishes = ["--spectrogram", "both.png", "--theme", "dark", "--frequencies", "mel"]
        try Sluice.run(["waveform", "talk.wav", "talk.dat"] + wishes, in: folder).checked()
        try Sluice.run(["convert", "talk.wav", "a.flac"] + wishes + ["--on-conflict", "replace"], in: folder).checked()
        #expect(try Bytes.read(folder.path("both.png")) == Bytes.read(folder.path("talk.png")))
        #expect(try names() == ["a.flac", "both.png", "talk.dat", "talk.png"])
    }

    @Test func conversionWritesThemInTheSamePass() throws {
        let wishes = ["--waveform", "{stem}.dat", "--waveform", "wave-{source-ext}.svg"]
        let words = ["convert", "talk.wav", "talk.flac"] + wishes + ["--zoom", "512", "--theme", "dark"]
        let run = try Sluice.run(words, in: folder)
        #expect(run.succeeded, "\(run.errorText)")
        #expect(try names() == ["talk.dat", "talk.flac", "wave-wav.svg"])
        try sluice("waveform", "talk.wav", "alone.dat", "--zoom", "512").checked()
        #expect(try Bytes.read(folder.path("alone.dat")) == Bytes.read(folder.path("talk.dat")))
        try sluice("convert", "talk.wav", "alone.flac").checked()
        #expect(try Bytes.read(folder.path("alone.flac")) == Bytes.read(folder.path("talk.flac")))
    }

    @Test func existingFilesAreTreatedAsAnyOutput() throws {
        try sluice("waveform", "talk.wav", "talk.dat").checked()
        let refused = try sluice("convert", "talk.wav", "talk.flac", "--waveform", "talk.dat")
        #expect(!refused.succeeded && refused.errorText.contains("talk.dat: it already exists"))
        #expect(try names() == ["talk.dat"])
        let words = ["convert", "talk.wav", "talk.flac", "--waveform", "talk.dat", "--on-conflict"]
        try Sluice.run(words + ["skip"], in: folder).checked()
        #expect(try names() == ["talk.dat", "talk.flac"])
        try Bytes.write([1], to: folder.path("talk.dat"))
        try Sluice.run(words + ["replace"], in: folder).checked()
        #expect(try Bytes.size(of: folder.path("talk.dat")) == 370)
    }

    /// The sound is left alone, and its waveform is that of the edited sound all the same.
    @Test func waveformOfAnOutputThatExistsShowsItsSound() throws {
        let words = ["convert", "talk.wav", "quiet.flac", "--gain", "-12dB", "--waveform", "quiet.dat"]
        try Sluice.run(words, in: folder).checked()
        let (sound, wave) = (try Bytes.read(folder.path("quiet.flac")), try Bytes.read(folder.path("quiet.dat")))
        try FileManager.default.removeItem(atPath: folder.path("quiet.dat"))
        try Sluice.run(words + ["--on-conflict", "skip"], in: folder).checked()
        #expect(try Bytes.read(folder.path("quiet.dat")) == wave)
        #expect(try Bytes.read(folder.path("quiet.flac")) == sound)
    }

    @Test func joinedAndMixedSoundHasAWaveform() throws {
        try sluice("join", "talk.wav", "talk.wav", "twice.wav", "--waveform", "twice.dat").checked()
        try sluice("waveform", "twice.wav", "alone.dat").checked()
        #expect(try Bytes.read(folder.path("twice.dat")) == Bytes.read(folder.path("alone.dat")))
        #expect(try Bytes.size(of: folder.path("twice.dat")) == 24 + 2 * 345)
        let mix = try sluice("mix", "talk.wav", "talk.wav@-6dB+0.5", "mixed.wav", "--waveform", "mixed.svg")
        #expect(mix.succeeded, "\(mix.errorText)")
        #expect(try names().contains("mixed.svg"))
        let refused = try sluice("join", "talk.wav", "talk.wav", "more.wav", "--waveform", "{stem}.dat")
        #expect(!refused.succeeded && refused.errorText.contains("write the name without fields"))
    }

    @Test func failedConversionLeavesNoWaveform() throws {
        try sluice("convert", "talk.wav", "talk.mka", "--codec", "flac").checked()
        try Bytes.truncate(folder.path("talk.mka"), toFraction: 0.6)
        let run = try sluice("convert", "talk.mka", "again.wav", "--waveform", "again.dat")
        #expect(!run.succeeded)
        let alone = try sluice("waveform", "talk.mka", "alone.svg")
        #expect(!alone.succeeded)
        #expect(try names() == ["talk.mka"])
    }

    @Test func misuseIsRefused() throws {
        let refusals: [(words: [String], message: String)] = [
            (["waveform", "talk.wav", "talk.gif"], "talk.gif does not have the extension of a waveform"),
            (["waveform", "talk.wav", "talk.dat", "--theme", "dark"], "--theme is for pictures"),
            (["waveform", "talk.wav", "talk.svg", "--zoom", "512"], "--zoom is for .dat and .json"),
            (["waveform", "talk.wav", "talk.svg", "--picture-size", "8x8"], "must be a width and a height"),
            (["waveform", "talk.wav"], "OUT is missing"),
            (["waveform", "talk.wav", "talk.dat", "-z", "512"], "--zoom N sets the frames of each pair of peaks"),
            (
                ["split", "talk.wav", "--at", "0.5", "--to", "{n}.wav", "--waveform", "{n}.dat"],
                "\"sluice waveform\" makes them of the pieces"
            ),
            (["waveform", "talk.wav", "--spectrogram", "talk.svg"], "is not a PNG"),
            (["waveform", "talk.wav", "talk.png", "--frequencies", "mel"], "--frequencies is for spectrograms"),
            (
                ["waveform", "talk.wav", "--spectrogram", "a.png", "--picture-size", "8000x4000"],
                "--picture-size: 8000 by 4000; a spectrogram has at most"
            ),
            (["convert", "talk.wav", "a.flac", "--waveform", "a.flac"], "is not a waveform"),
            (["convert", "talk.wav", "a.flac", "--zoom", "512"], "--zoom is for .dat and .json"),
            (["convert", "talk.wav", "a.flac", "--waveform", "{dir}.dat"], "unknown field {dir}"),
            (["convert", "-", "a.flac", "--waveform", "{stem}.dat"], "its fields are those of a file"),
            (["convert", "talk.wav", "-", "--container", "wav", "--waveform", "a.dat"], "can only be the only output"),
        ]
        for refusal in refusals {
            let run = try Sluice.run(refusal.words, in: folder)
            #expect(!run.succeeded && run.errorText.contains(refusal.message), "\(refusal.words): \(run.errorText)")
        }
        #expect(try names().isEmpty)
    }
}
