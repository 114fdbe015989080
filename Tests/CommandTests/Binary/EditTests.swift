import Foundation
import TestSupport
import Testing

/// The options and commands that change what is heard, as users call them. The samples are compared with arrays.
struct EditTests {
    let material: Material
    private let talk = Material.talk

    init() throws { material = try Material() }

    private func sluice(_ words: String...) throws -> Run { try Sluice.run(words, in: material.folder) }
    private func samples(_ name: String) throws -> PCM { try WAVFile.read(path: material.path(name)) }

    @Test func loopsAndReversalKeepEveryBit() throws {
        #expect(try sluice("convert", "talk.wav", "three.wav", "--loop", "3").succeeded)
        #expect(try samples("three.wav") == PCM.joined([talk, talk, talk]))
        #expect(try sluice("convert", "talk.wav", "back.wav", "--reverse").succeeded)
        #expect(try samples("back.wav") == reversed(talk))
        #expect(try sluice("convert", "talk.wav", "long.wav", "--loop-until", "1.25", "--reverse").succeeded)
        let back = try PCM.joined([reversed(talk), reversed(talk), reversed(talk)])
        #expect(try samples("long.wav") == back.cut(0..<60_000))
    }

    @Test func partsOfATalkAreCutPaddedAndPicked() throws {
        let words = ["convert", "talk.wav", "part.wav", "--from", "0.1", "--to", "0.2", "--pad-to", "0.15"]
        #expect(try Sluice.run(words + ["--channel-map", "right"], in: material.folder).succeeded)
        let right = Signal(rate: 48_000, channels: [talk.signal.channels[1]]).pcm(.s16)
        let silence = Signal.silence(rate: 48_000, frames: 2_400).pcm(.s16)
        #expect(try samples("part.wav") == right.cut(4_800..<9_600).followed(by: silence))
    }

    @Test func fadesAndRampsChangeTheLevel() throws {
        let run = try sluice(
            "convert",
            "talk.wav",
            "out.wav",
            "--float",
            "--bits",
            "32",
            "--gain",
            "-6dB",
            "--fade-in",
            "0.1",
            "--fade-out",
            "0.2",
            "--ramp",
            "0.2-0.25=0dB..-20dB"
        )
        #expect(run.succeeded, "\(run.errorText)")
        let (found, given) = (try samples("out.wav").signal.channels[0], talk.signal.channels[0])
        #expect(found.count == 24_000)
        let half = pow(10, -6.0 / 20)
        for (frame, level) in [(0, 0.5 / 4_800), (2_400, 2_400.5 / 4_800), (8_000, 1), (14_000, 0.1)] {
            #expect(abs(found[frame] - given[frame] * half * level) < 1e-6, "frame \(frame)")
        }
        #expect(abs(found[23_999] - given[23_999] * half * 0.1 * 0.5 / 9_600) < 1e-6)
    }

    @Test func introAndOutroOverlapTheTalk() throws {
        try WAVFile.write(
            Signal.silence(rate: 48_000, frames: 4_800, channels: 2).pcm(.s16),
            to: material.path("jingle.wav")
        )
        let run = try sluice(
            "convert",
            "talk.wav",
            "show.wav",
            "--intro",
            "jingle.wav",
            "--outro",
            "jingle.wav",
            "--crossfade",
            "0.05"
        )
        #expect(run.succeeded, "\(run.errorText)")
        #expect(try samples("show.wav").frames == 4_800 + 24_000 + 4_800 - 2 * 2_400)
    }

    @Test func joinedFilesFollowEachOtherBitByBit() throws {
        let other = Signal.noise(seed: 3, rate: 48_000, frames: 1_000, channels: 2).pcm(.s16)
        try WAVFile.write(other, to: material.path("other.wav"))
        try FFmpeg.encode(other, to: material.path("other.flac"))
        #expect(try sluice("join", "talk.wav", "other.flac", "other.wav", "all.wav", "--gap", "0.01").succeeded)
        let gap = Signal.silence(rate: 48_000, frames: 480, channels: 2).pcm(.s16)
        #expect(try samples("all.wav") == PCM.joined([talk, gap, other, gap, other]))
    }

    @Test func filesOfABookBecomeChapters() throws {
        let other = Signal.noise(seed: 3, rate: 48_000, frames: 4_800, channels: 2).pcm(.s16)
        try WAVFile.write(other, to: material.path("02 The harbour.wav"))
        let run = try sluice("join", "talk.wav", "02 The harbour.wav", "book.m4b", "--mark-files", "--gap", "0.1")
        #expect(run.succeeded, "\(run.errorText)")
        let found = try FFmpeg.probe(material.path("book.m4b")).chapters
        #expect(found.map { $0.tags["title"] } == ["A talk", "02 The harbour"])
        #expect(found.map(\.start) == [0, 0.6])
    }

    /// A book with a list of chapters is not called as its first file, either.
    @Test func booksWithAListOfChaptersHaveTheTagsOfBooks() throws {
        let own = ["-metadata", "album=The harbour", "-metadata"]
        try FFmpeg.encode(talk, to: material.path("1.flac"), own + ["title=One"])
        try FFmpeg.encode(talk, to: material.path("2.flac"), own + ["title=Two"])
        try Bytes.write(Array("0 Dawn\n0.3 Noon\n0.7 Dusk\n".utf8), to: material.path("times.txt"))
        let run = try sluice("join", "1.flac", "2.flac", "book.m4b", "--mark-files", "--chapters", "times.txt")
        #expect(run.succeeded, "\(run.errorText)")
        let found = try FFmpeg.probe(material.path("book.m4b"))
        #expect(found.chapters.map { $0.tags["title"] } == ["Dawn", "Noon", "Dusk"])
        #expect(found.tags["album"] == "The harbour" && found.tags["title"] == nil, "\(found.tags)")
    }

    /// Of all discs, where 2 comes before 10.
    @Test func aFolderBecomesABook() throws {
        var sounds: [PCM] = []
        let names = ["CD 1/2 two.wav", "CD 1/10 ten.wav", "CD 2/1 one.wav", "CD 10/1 last.wav"]
        for (index, name) in names.enumerated() {
            let folder = material.path("book/" + (name.split(separator: "/").first.map(String.init) ?? ""))
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let sound = Signal.noise(seed: UInt64(index), rate: 48_000, frames: 4_800, channels: 2).pcm(.s16)
            try WAVFile.write(sound, to: material.path("book/" + name))
            sounds.append(sound)
        }
        try Bytes.write(Array("no sound".utf8), to: material.path("book/CD 1/cover.jpg"))
        // An output in the folder is none of its files, however it is named.
        let inside = "book/book.wav"
        let outputs = [("book.wav", "book.wav"), (inside, inside), (inside, inside), ("./" + inside, inside)]
        for (output, place) in outputs + [(material.path(inside), inside)] {
            let run = try sluice("join", "book/", output, "--mark-files", "--on-conflict", "replace")
            #expect(run.succeeded, "\(run.errorText)")
            #expect(try samples(place) == PCM.joined(sounds))
            #expect(run.errorText.contains("book/CD 1: no file has a number from 3 to 9\n"), "\(run.errorText)")
        }
        // A link to one of the files is no output of an earlier run.
        let (link, target) = (material.path("book/link.wav"), material.path("book/CD 2/1 one.wav"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let refused = try sluice("join", "book", link, "--on-conflict", "replace")
        #expect(refused.errorText.contains("it is one of the sources"), "\(refused.errorText)")
        let titles = try FFmpeg.probe(material.path("book.wav")).chapters.map { $0.tags["title"] }
        #expect(titles == ["2 two", "10 ten", "1 one", "1 last"])
    }

    @Test func aFolderWithoutSoundIsRefused() throws {
        try FileManager.default.createDirectory(atPath: material.path("none"), withIntermediateDirectories: true)
        let run = try sluice("join", "none", "out.wav")
        #expect(run.errorText.hasPrefix("error: none has no audio files\n") && run.status == .exited(1))
    }

    @Test func mixedFilesAreAdded() throws {
        let other = Signal.noise(seed: 3, rate: 48_000, frames: 1_000, channels: 2, amplitude: 0.1).pcm(.f32)
        try WAVFile.write(other, to: material.path("noise@home.wav"))
        let words = ["mix", "talk.wav", "noise@home.wav@-12dB+0.25", "mix.wav", "--float", "--bits", "32"]
        let run = try Sluice.run(words, in: material.folder)
        #expect(run.succeeded, "\(run.errorText)")
        let (found, given) = (try samples("mix.wav").signal, talk.signal)
        #expect(found.channels[0].count == 24_000)
        let gain = pow(10, -12.0 / 20)
        for frame in [0, 11_999, 12_000, 12_999, 13_000] {
            let added = (12_000..<13_000).contains(frame) ? other.signal.channels[1][frame - 12_000] * gain : 0
            #expect(abs(found.channels[1][frame] - given.channels[1][frame] - added) < 1e-6, "frame \(frame)")
        }
    }

    @Test func peaksAreLimitedInEveryCommand() throws {
        // Clipping would give a true peak of 0 dB and more.
        let commands = [
            ["convert", "talk.wav", "out.wav", "--gain", "+12dB"], ["join", "talk.wav", "talk.wav", "out.wav"],
            ["mix", "talk.wav@+6dB", "talk.wav@+6dB", "out.wav"],
        ]
        for command in commands {
            let run = try Sluice.run(command + ["--limit", "-9dBTP", "--on-conflict", "replace"], in: material.folder)
            #expect(run.succeeded && run.outputText.contains("peaks limited"), "\(run.outputText)\(run.errorText)")
            #expect(run.errorText.contains("true peaks were limited to -9dBTP, by at most "), "\(run.errorText)")
            let peak = try ReferenceLoudness(samples("out.wav").signal).truePeak
            // Dither of 16 bits adds a little.
            #expect(abs(20 * log10(peak) + 9) < 0.1, "\(command)")
        }
    }

    @Test func silenceAtTheEndsIsLeftOut() throws {
        let silence = Signal.silence(rate: 48_000, frames: 7_200, channels: 2).pcm(.s16)
        let noise = Signal.noise(seed: 8, rate: 48_000, frames: 4_800, channels: 2).pcm(.s16)
        try WAVFile.write(PCM.joined([silence, noise, silence]), to: material.path("quiet.wav"))
        let run = try sluice("convert", "quiet.wav", "out.wav", "--trim-silence", "-60dB/0.1s", "--loop", "2")
        #expect(run.succeeded && run.outputText.contains("silence trimmed"), "\(run.errorText)")
        #expect(run.errorText == "note:  silence was left out: 0:00.15 at the start, 0:00.15 at the end\n")
        // Noise may begin or end with samples as soft as silence, which then belong to it.
        let loud = noise.signal.channels[0].indices.filter { frame in
            noise.signal.channels.contains { abs($0[frame]) > 0.001 }
        }
        #expect(loud.first == 0 && loud.last == 4_799)
        #expect(try samples("out.wav") == PCM.joined([noise, noise]))
        #expect(try sluice("convert", "quiet.wav", "end.wav", "--trim-silence", "-60dB/0.1s/end").succeeded)
        #expect(try samples("end.wav") == PCM.joined([silence, noise]))
        try WAVFile.write(silence, to: material.path("silent.wav"))
        let refused = try sluice("convert", "silent.wav", "none.wav", "--trim-silence", "-60dB/0.1s")
        #expect(refused.errorText.contains("code empty_output"), "\(refused.errorText)")
        #expect(try !material.folder.names().contains("none.wav"))
    }

    @Test func tagsAboutTheOldLoudnessAreDropped() throws {
        let tags = ["-metadata", "REPLAYGAIN_TRACK_GAIN=-3.00 dB", "-metadata", "title=A talk"]
        try FFmpeg.encode(talk, to: material.path("tagged.flac"), tags)
        func names(_ words: String...) throws -> Set<String> {
            let run = try Sluice.run(
                ["convert", "tagged.flac", "out.flac", "--on-conflict", "replace"] + words,
                in: material.folder
            )
            #expect(run.succeeded, "\(run.errorText)")
            return Set(try FFmpeg.probe(material.path("out.flac")).tags.keys.map { $0.lowercased() })
        }
        #expect(try names("--gain", "-6dB").isDisjoint(with: ["replaygain_track_gain"]))
        #expect(try names("--gain", "-6dB").contains("title"))
        #expect(try names("--to", "0.2").contains("replaygain_track_gain"))
    }

    @Test func joinedAndMixedFilesGetTheLoudness() throws {
        for (name, seed, level) in [("loud.wav", UInt64(5), 0.8), ("soft.wav", 6, 0.02)] {
            let noise = Signal.noise(seed: seed, rate: 48_000, frames: 144_000, channels: 2, amplitude: level)
            try WAVFile.write(noise.pcm(.s24), to: material.path(name))
        }
        for command in [["join", "soft.wav", "loud.wav"], ["mix", "soft.wav", "loud.wav@+0.5"]] {
            let words = command + ["out.wav", "--loudness", "-24LUFS", "--true-peak", "-12dBTP"]
            let run = try Sluice.run(words + ["--on-conflict", "replace"], in: material.folder)
            #expect(run.succeeded && run.outputText.contains(", -24.0 LUFS"), "\(run.outputText)\(run.errorText)")
            let loudness = try ReferenceLoudness(samples("out.wav").signal)
            #expect(abs(loudness.integrated + 24) <= 0.1, "\(command)")
            #expect(20 * log10(loudness.truePeak) <= -11.95, "\(command)")
        }
    }

    @Test(arguments: [
        (["--gain", "3"], "error: --gain 3: is not a gain; allowed: -3dB, 0dB, +2.5dB, -inf for silence\n"),
        (["--ramp", "1-2"], "error: --ramp 1-2: must be FROM-TO=GAIN..GAIN\n"),
        (["--loop", "2", "--loop-until", "3"], "error: --loop and --loop-until exclude each other\n"),
        (["--crossfade", "1"], "error: --crossfade needs --intro or --outro\n"),
        (["--trim-silence", "-60dB"], "error: --trim-silence -60dB: is not a silence; allowed: a level and a time"),
        (["--limit", "1"], "error: --limit 1: is not a true peak; allowed: -144dBTP to 0dBTP\n"),
        (["--limit", "-1", "--loudness", "-16"], "error: --limit and --loudness exclude each other\n"),
        (["--fade-in", "1"], "error: recipe.timeline"),
    ])
    func refusalsNameTheOption(words: [String], message: String) throws {
        let run = try Sluice.run(["convert", "talk.wav", "out.wav"] + words, in: material.folder)
        #expect(!run.succeeded)
        if !message.contains("recipe.timeline") {
            #expect(run.errorText.hasPrefix(message), "\(run.errorText)")
            #expect(run.status == .exited(2))
        } else {
            // The length of the source is known only when it is open.
            #expect(run.errorText.contains("fadeIn"), "\(run.errorText)")
            #expect(run.errorText.contains("code recipe_refused"), "\(run.errorText)")
        }
        #expect(try material.folder.names() == ["talk.wav"])
    }

    private func reversed(_ pcm: PCM) -> PCM {
        Signal(rate: pcm.rate, channels: pcm.signal.channels.map { $0.reversed() }).pcm(pcm.format)
    }
}
