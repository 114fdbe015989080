import Foundation
import TestSupport
import Testing

/// Measuring and setting loudness on the command line.
struct LoudnessTests {
    let material: Material

    init() throws {
        material = try Material()
        let tone = Signal.tone(1_000, rate: 48_000, frames: 240_000, channels: 2, amplitude: 0.1)
        try WAVFile.write(tone.pcm(.s16), to: material.path("tone.wav"))
    }

    private func run(_ words: String...) throws -> Run { try Sluice.run(words, in: material.folder) }

    @Test func probeSaysHowLoudAFileIs() throws {
        let run = try run("probe", "--loudness", "tone.wav")
        #expect(run.succeeded)
        let lines = run.outputText.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.contains("loudness    integrated -20.0 LUFS, range 0.0 LU"))
        #expect(lines.contains("momentary at most -20.0 LUFS, short-term at most -20.0 LUFS"))
        #expect(lines.contains("true peak -20.0 dBTP, sample peak -20.0 dBFS"))
        #expect(lines.contains { $0.hasSuffix("240,000 frames decoded, no damage") })
    }

    @Test func silenceIsSaidToBeTooQuiet() throws {
        try WAVFile.write(Signal.silence(rate: 8_000, frames: 8_000).pcm(.s16), to: material.path("silent.wav"))
        let run = try run("probe", "--loudness", "silent.wav")
        #expect(run.outputText.contains("  loudness    too quiet or too short for an integrated loudness\n"))
        let converted = try self.run("convert", "silent.wav", "out.flac", "--loudness", "podcast")
        #expect(converted.succeeded && converted.outputText.contains("loudness not measured"))
        #expect(converted.errorText.contains("too quiet or too short"))
    }

    @Test func outputGetsTheLoudness() throws {
        for (words, wanted) in [(["-26LUFS"], -26.0), (["broadcast"], -23), (["-18", "--true-peak", "-3dBTP"], -18)] {
            let base = ["convert", "tone.wav", "out.flac", "--on-conflict", "replace", "--loudness"]
            let run = try Sluice.run(base + words, in: material.folder)
            #expect(run.succeeded, "\(run.errorText)")
            #expect(run.outputText.contains(", \(Int(wanted)).0 LUFS"), "\(run.outputText)")
            let output = try FFmpeg.decode(material.path("out.flac"), to: .f64)
            let channels = [output.samples(channel: 0), output.samples(channel: 1)]
            #expect(abs(try ReferenceLoudness(Signal(rate: 48_000, channels: channels)).integrated - wanted) <= 0.1)
        }
    }

    @Test func wrongLevelsAreUsageErrors() throws {
        for (words, text) in [
            (
                ["--loudness", "loud"],
                "--loudness loud: is not allowed; allowed: a loudness from -50LUFS to -5LUFS, or "
            ),
            (["--loudness", "-16", "--true-peak", "2"], "a true peak from -20dBTP to 0dBTP"),
            (["--true-peak", "-1"], "--true-peak needs --loudness"),
            (["--loudness", "-16", "--codec", "copy"], "--loudness: passthrough copies packets"),
        ] {
            let run = try Sluice.run(["convert", "tone.wav", "out.mka"] + words, in: material.folder)
            #expect(run.status == .exited(2))
            #expect(run.errorText.contains(text), "\(run.errorText)")
        }
        #expect(try !material.folder.names().contains("out.mka"))
    }

    @Test func pipesAreRefusedWithACode() throws {
        let run = try Sluice.shell(
            "cat tone.wav | \"$SLUICE\" convert - out.flac --loudness podcast",
            in: material.folder,
            environment: ["SLUICE": Sluice.path]
        )
        #expect(run.errorText.contains("code source_not_seekable"), "\(run.errorText)")
    }

    @Test func shapedDitherAndQualitiesAreOptions() throws {
        #expect(try run("convert", "tone.wav", "a.wav", "--bits", "8", "--dither", "shaped").succeeded)
        let refused = try run("convert", "tone.wav", "b.wav", "--rate", "32k", "--dither", "shaped")
        #expect(
            refused.errorText.hasPrefix(
                "error: --dither shaped: noise is shaped only at 44.1 and 48 kHz, and the output has 32000 Hz"
            )
        )
        for quality in ["fast", "default", "best"] {
            #expect(
                try run("convert", "tone.wav", "\(quality).wav", "--rate", "44.1k", "--resample", quality).succeeded
            )
        }
        let bytes = try ["fast", "default", "best"].map { try Bytes.read(material.path("\($0).wav")) }
        #expect(Set(bytes).count == 3)
        #expect(try run("convert", "tone.wav", "plain.wav", "--rate", "44.1k").succeeded)
        #expect(try Bytes.read(material.path("plain.wav")) == bytes[1])
    }
}
