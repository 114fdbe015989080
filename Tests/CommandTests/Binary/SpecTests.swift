import Conversion
import Foundation
import TestSupport
import Testing

/// `sluice probe --spec`: whether a publisher accepts a file, for people and for programs.
struct SpecTests {
    let material: Material

    /// `chapter.mp3`: room tone of 0.7 s, ten seconds of a tone of -20.1 dBFS RMS, and room tone of two seconds.
    init() throws {
        material = try Material()
        try Self.write(Self.chapter(toneAtEnd: 2), to: material.path("chapter.mp3"), ["-b:a", "192k"])
    }

    private static func chapter(toneAtEnd seconds: Int, amplitude: Double = 0.14, noise: Double = 0.0005) -> Signal {
        let rate = 44_100
        return .noise(seed: 1, rate: rate, frames: 30_870, amplitude: noise)
            .followed(by: .tone(440, rate: rate, frames: 10 * rate, amplitude: amplitude))
            .followed(by: .noise(seed: 2, rate: rate, frames: seconds * rate, amplitude: noise))
    }

    private static func write(_ signal: Signal, to path: String, _ arguments: [String] = []) throws {
        try FFmpeg.encode(signal.pcm(.s16), to: path, arguments)
    }

    private func run(_ words: String...) throws -> Run { try Sluice.run(words, in: material.folder) }

    /// The names of the rules that a file breaks, and the exit code.
    private func broken(_ name: String, _ spec: String = "acx") throws -> (rules: [String], status: Run.Status) {
        let run = try run("probe", "--spec", spec, "--json", name)
        let record = try #require(try JSONSerialization.jsonObject(with: run.stdout) as? [String: Any])
        let verdict = try #require(record["verdict"] as? [String: Any])
        let rules = try #require(verdict["rules"] as? [[String: Any]])
        let failed = rules.filter { $0["passes"] as? Bool == false }.compactMap { $0["rule"] as? String }
        #expect(verdict["passes"] as? Bool == failed.isEmpty && verdict["spec"] as? String == spec)
        return (failed, run.status)
    }

    @Test func aChapterThatKeepsAllLimitsPasses() throws {
        let run = try run("probe", "--spec", "acx", "chapter.mp3")
        #expect(run.status == .exited(0), "\(run.errorText)")
        let lines = run.outputText.split(separator: "\n").map { line in
            line.split(separator: " ").joined(separator: " ")
        }
        #expect(lines.last == "acx: pass, all limits are kept")
        #expect(lines.contains("LIMIT MEASURED ALLOWED RESULT WHERE"))
        #expect(lines.contains("bit rate mode constant constant pass"))
        #expect(lines.contains("room tone at start 0.70 s 0.5 to 1 s pass 0:00.7 (first sound)"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("RMS -21.") && $0.contains(" dBFS -23 to -18 dBFS pass 0:0") })
    }

    @Test func whatIsNotKeptIsNamedAndIsExitCode3() throws {
        for (name, signal, arguments, rules) in [
            ("soft.mp3", Self.chapter(toneAtEnd: 2, amplitude: 0.05), ["-b:a", "192k"], ["rms"]),
            ("loud.mp3", Self.chapter(toneAtEnd: 2, amplitude: 0.8), ["-b:a", "192k"], ["rms", "sample_peak"]),
            ("cut.mp3", Self.chapter(toneAtEnd: 0), ["-b:a", "192k"], ["tone_at_end"]),
            ("noisy.mp3", Self.chapter(toneAtEnd: 2, noise: 0.0025), ["-b:a", "192k"], ["noise_floor"]),
            ("small.mp3", Self.chapter(toneAtEnd: 2), ["-b:a", "128k"], ["bit_rate"]),
            ("rate.mp3", Self.chapter(toneAtEnd: 2), ["-b:a", "192k", "-ar", "48000"], ["sample_rate"]),
            ("master.wav", Self.chapter(toneAtEnd: 2), [], ["container", "codec", "bit_rate_mode"]),
        ] as [(String, Signal, [String], [String])] {
            try Self.write(signal, to: material.path(name), arguments)
            let found = try broken(name)
            #expect(found.rules == rules && found.status == .exited(3), "\(name): \(found.rules)")
        }
        try Self.write(Self.chapter(toneAtEnd: 2), to: material.path("vbr.mp3"), ["-q:a", "2"])
        #expect(try broken("vbr.mp3").rules.contains("bit_rate_mode"))
        let page = try run("probe", "--spec", "acx", "cut.mp3", "chapter.mp3")
        #expect(page.status == .exited(3))
        #expect(page.outputText.contains("acx: FAIL, 1 limit of 12 is broken\n"))
        #expect(page.outputText.hasSuffix("acx: pass, all limits are kept\n"))
    }

    @Test func filesThatChangeInTheMiddleBreakTheirLimits() throws {
        let sound = Self.chapter(toneAtEnd: 2)
        try Self.write(sound, to: material.path("fast.mp3"), ["-b:a", "192k", "-ar", "48000"])
        let stereo = Signal.stacked([sound, sound])
        try Self.write(stereo, to: material.path("wide.mp3"), ["-b:a", "192k"])
        for (second, spec, rule) in [("fast.mp3", "acx", "sample_rate"), ("wide.mp3", "librivox", "channels")] {
            let bytes = try Bytes.read(material.path("chapter.mp3")) + Bytes.read(material.path(second))
            try Bytes.write(bytes, to: material.path("mixed.mp3"))
            #expect(try broken("mixed.mp3", spec).rules.contains(rule), "\(second)")
        }
    }

    /// Silence in place of the damage keeps all limits.
    @Test func aDamagedFileNeverPasses() throws {
        var bytes = try Bytes.read(material.path("chapter.mp3"))
        let middle = bytes.count / 2
        bytes.replaceSubrange(middle..<middle + 2_000, with: [UInt8](repeating: 0, count: 2_000))
        try Bytes.write(bytes, to: material.path("damaged.mp3"))
        let page = try run("probe", "--spec", "acx", "damaged.mp3")
        #expect(page.status == .exited(3))
        #expect(page.outputText.hasSuffix("acx: FAIL, the file is damaged\n"), "\(page.outputText)")
    }

    @Test func loudnessSpecsUseTheMeasuredLoudness() throws {
        func tone(_ lufs: Double, _ name: String) throws -> String {
            let amplitude = pow(10, lufs / 20)
            let tone = Signal.tone(1_000, rate: 48_000, frames: 240_000, channels: 2, amplitude: amplitude)
            try WAVFile.write(tone.pcm(.s16), to: material.path(name))
            return name
        }
        #expect(try broken(try tone(-23, "a.wav"), "ebu-r128").rules.isEmpty)
        #expect(try broken("a.wav", "apple-podcast").rules == ["loudness"])
        #expect(try broken(try tone(-16, "b.wav"), "apple-podcast").rules.isEmpty)
        #expect(try broken("b.wav", "ebu-r128").rules == ["loudness"])
        #expect(try broken(try tone(-14, "c.wav"), "spotify").rules.isEmpty)
        try Self.write(Self.chapter(toneAtEnd: 0, amplitude: 0.2), to: material.path("d.mp3"), ["-b:a", "128k"])
        #expect(try broken("d.mp3", "librivox").rules.isEmpty)
    }

    @Test(arguments: ["acx", "librivox"]) func aPresetMakesAFileThatItsSpecAccepts(name: String) throws {
        let isACX = name == "acx"
        let sound = Self.chapter(toneAtEnd: 2, amplitude: isACX ? 0.14 : 0.2)
        try WAVFile.write(Signal.stacked([sound, sound]).pcm(.s16), to: material.path("chapter.wav"))
        _ = try run("convert", "chapter.wav", "made.mp3", "--preset", name).checked()
        #expect(try broken("made.mp3", name).rules.isEmpty)
    }

    @Test func aConversionFailsWhoseOutputBreaksALimit() throws {
        try WAVFile.write(Self.chapter(toneAtEnd: 2).pcm(.s16), to: material.path("chapter.wav"))
        let words = ["convert", "chapter.wav", "made.mp3", "--preset", "acx", "--spec"]
        let refused = try Sluice.run(words + ["ebu-r128", "--verify"], in: material.folder)
        #expect(refused.status == .exited(1))
        let text = refused.errorText
        #expect(text.contains("breaks 1 limit of ebu-r128: loudness -21."), "\(text)")
        #expect(text.contains("code \(FailureCode.specBroken.rawValue), stage finish"), "\(text)")
        #expect(try !material.folder.names().contains("made.mp3"))
        let made = try Sluice.run(words + ["acx", "--json"], in: material.folder).checked().stdout
        #expect(try broken("made.mp3").rules.isEmpty)
        let record = try #require(try JSONSerialization.jsonObject(with: made) as? [String: Any])
        let spec = try #require((record["conversion"] as? [String: Any])?["spec"] as? [String: Any])
        #expect(spec["spec"] as? String == "acx" && spec["passes"] as? Bool == true)
        let measured = try #require(spec["measured"] as? [[String: Any]])
        #expect(measured.count == AudioSpec.acx.rules.count && measured[0]["word"] as? String == "mp3")
        // Of several outputs, the failure names the one that breaks it.
        let small = ["small.mp3", "--bit-rate", "128k", "--also", "a.flac", "--spec", "acx"]
        let both = try Sluice.run(["convert", "chapter.wav"] + small, in: material.folder).errorText
        #expect(both.contains("small.mp3") && both.contains("bit rate 128k (allowed: at least 192k)"), "\(both)")
        let stream = ["-", "--container", "wav", "--spec", "acx"]
        let piped = try Sluice.run(["convert", "chapter.wav"] + stream, in: material.folder).errorText
        #expect(piped.contains("code \(FailureCode.destinationNotSeekable.rawValue)"), "\(piped)")
    }

    @Test func wrongCombinationsAreUsageErrors() throws {
        for (words, text) in [
            (["--spec", "audible"], "allowed: acx, librivox, ebu-r128, apple-podcast, spotify"),
            (
                ["--spec", "acx", "--points", "--points-format", "csv"],
                "--spec and --points-format csv exclude each other"
            ),
        ] {
            let run = try Sluice.run(["probe", "chapter.mp3"] + words, in: material.folder)
            #expect(run.status == .exited(2))
            #expect(run.errorText.contains(text), "\(run.errorText)")
        }
    }
}
