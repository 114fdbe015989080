import Foundation
import Synchronization
import TestSupport
import Testing

/// `sluice convert` on real files.
struct ConvertTests {
    let material: Material

    init() throws { material = try Material() }

    private func convert(_ words: String..., input: Run.Input = .nothing) throws -> Run {
        try Sluice.run(["convert"] + words, in: material.folder, input: input)
    }

    private func samples(_ name: String) throws -> PCM { try FFmpeg.decode(material.path(name)) }

    // MARK: - Source and destination

    @Test(
        arguments: ["talk.wav", "./talk.wav", "link.wav", "hard.wav", "folder/../talk.wav"],
        ["fail", "replace", "skip"]
    )
    func sourceIsNeverWrittenTo(destination: String, policy: String) throws {
        try #require(symlink("talk.wav", material.path("link.wav")) == 0)
        try #require(link(material.path("talk.wav"), material.path("hard.wav")) == 0)
        try #require(mkdir(material.path("folder"), 0o755) == 0)
        let before = try Bytes.read(material.path("talk.wav"))
        let run = try convert("talk.wav", destination, "--on-conflict", policy)
        #expect(run.status == .exited(1))
        #expect(run.errorText.hasPrefix("error: cannot write to \(destination): it is the source\n"))
        #expect(run.errorText.contains("code destination_is_source"))
        #expect(try Bytes.read(material.path("talk.wav")) == before)
    }

    /// What was read of it is no state of the file.
    @Test func aSourceThatIsWrittenMeanwhileIsNotConverted() throws {
        let long = material.path("long.wav")
        try WAVFile.write(Signal.noise(seed: 3, rate: 48_000, frames: 3_000_000).pcm(.s16), to: long)
        let isOver = Atomic(false)
        // At once: a task might wait for a thread until the conversion is over.
        Thread.detachNewThread {
            var seconds = 1_000_000
            while !isOver.load(ordering: .relaxed) {
                seconds += 1
                _ = utimensat(AT_FDCWD, long, [timespec(), timespec(tv_sec: seconds, tv_nsec: 0)], 0)
                // As often as a program writes that copies a file.
                usleep(1_000)
            }
        }
        let run = try convert("long.wav", "out.flac")
        isOver.store(true, ordering: .relaxed)
        #expect(run.status != .exited(0))
        #expect(run.errorText.contains("changed while it was read"), "\(run.errorText)")
        #expect(!FileManager.default.fileExists(atPath: material.path("out.flac")))
    }

    @Test func conflictIsMetAsAskedFor() throws {
        try Bytes.write(Array("old".utf8), to: material.path("out.wav"))
        let failed = try convert("talk.wav", "out.wav")
        #expect(failed.status == .exited(1))
        #expect(failed.errorText.contains("code destination_exists"))
        let skipped = try convert("talk.wav", "out.wav", "--on-conflict", "skip")
        #expect(skipped.succeeded && skipped.stdout.isEmpty)
        #expect(skipped.errorText == "note:  out.wav already exists; skipped\n")
        #expect(try Bytes.read(material.path("out.wav")) == Array("old".utf8))
        #expect(try convert("talk.wav", "out.wav", "--on-conflict", "replace").succeeded)
        #expect(try samples("out.wav") == Material.talk)
        #expect(try material.folder.names() == ["out.wav", "talk.wav"])
    }

    @Test func variableSaysWhatTheOptionWouldSay() throws {
        try Bytes.write(Array("old".utf8), to: material.path("out.wav"))
        let words = ["convert", "talk.wav", "out.wav"]
        let environment = ["SLUICE_ON_CONFLICT": "replace"]
        #expect(
            try Sluice.run(words + ["--on-conflict", "fail"], in: material.folder, environment: environment).status
                == .exited(1)
        )
        #expect(try Sluice.run(words, in: material.folder, environment: environment).succeeded)
    }

    @Test func missingFolderIsNamed() throws {
        let run = try convert("talk.wav", "no/out.wav")
        #expect(run.errorText.hasPrefix("error: cannot open the folder no: no such file or directory [ENOENT]\n"))
        #expect(run.errorText.hasSuffix("hint:  create the folder first\n"))
    }

    @Test func shortNamesAreNotTakenForPartsOfWords() throws {
        try Bytes.write(Array("not a sound\n".utf8), to: material.path("a"))
        #expect(try convert("a", "out.wav").errorText.hasPrefix("error: a: no known audio format was recognised\n"))
    }

    // MARK: - Standard streams

    @Test(arguments: ["wav", "raw"])
    func soundGoesToStandardOutput(container: String) throws {
        let piped = try convert("talk.wav", "-", "--container", container)
        #expect(piped.succeeded)
        #expect(piped.errorText.hasPrefix("standard output  0:00.5  pcm s16 48 kHz stereo  "))
        #expect(try convert("talk.wav", "out.\(container)").succeeded)
        let file = try Bytes.read(material.path("out.\(container)"))
        let sound = Array(piped.stdout)
        let bytes = Material.talk.bytes
        #expect(Array(sound.suffix(bytes.count)) == bytes)
        if container == "raw" {
            #expect(sound == file)
            #expect(sound == bytes)
        } else {
            // Only the header differs: in a pipe the header cannot state the length.
            #expect(try WAVFile.header(of: file).dataSize == bytes.count)
            let data = try WAVFile.header(of: file).dataOffset
            let content: [UInt8] = Array(file[data..<data + bytes.count])
            #expect(content == bytes)
            let decoded = try FFmpeg.run(["-i", "-", "-f", "s16le", "-"], input: .data(piped.stdout))
            #expect(Array(decoded.stdout) == bytes)
        }
    }

    @Test(arguments: ["flac", "m4a", "ogg", "mp3", "aiff"])
    func whatNeedsAFileIsRefusedOnStandardOutput(container: String) throws {
        let run = try convert("talk.wav", "-", "--container", container)
        #expect(run.status == .exited(2))
        #expect(run.stdout.isEmpty)
        #expect(
            run.errorText.contains(
                "cannot be written to standard output: its header is completed at the end, which needs a file\n"
            )
        )
    }

    @Test func standardOutputWantsAKindAndNothingElse() throws {
        #expect(
            try convert("talk.wav", "-").errorText
                == "error: no container given for standard output\n"
                + "hint:  use --container wav or --container raw\n"
        )
        #expect(try convert("talk.wav", "-", "--container", "wav", "--json").status == .exited(2))
        #expect(try convert("talk.wav", "-", "--container", "wav", "--verify").status == .exited(2))
        #expect(try convert("talk.wav", "-", "--preset", "speech-16k").succeeded)
    }

    @Test func soundComesFromStandardInput() throws {
        let bytes = try Bytes.read(material.path("talk.wav"))
        #expect(try convert("-", "out.flac", input: .data(Data(bytes))).succeeded)
        #expect(try samples("out.flac") == Material.talk)
        let raw = try convert(
            "-",
            "raw.wav",
            "--raw-input",
            "s16le:48000:2",
            input: .data(Data(Material.talk.bytes))
        )
        #expect(raw.succeeded)
        #expect(try samples("raw.wav") == Material.talk)
        let empty = try convert("-", "empty.wav", input: .data(Data()))
        #expect(empty.status == .exited(1))
        #expect(empty.errorText.hasPrefix("error: standard input: "))
    }

    // MARK: - Parts, tracks and tags

    @Test func partIsExactToTheFrame() throws {
        #expect(try convert("talk.wav", "part.wav", "--from", "1001/48000", "--to", "0.25").succeeded)
        #expect(try samples("part.wav") == Material.talk.cut(1001..<12_000))
        #expect(try convert("talk.wav", "tail.wav", "--from", "23999/48000").succeeded)
        #expect(try samples("tail.wav") == Material.talk.cut(23_999..<24_000))
        #expect(try convert("talk.wav", "head.flac", "--to", "1/48000").succeeded)
        #expect(try samples("head.flac") == Material.talk.cut(0..<1))
    }

    @Test func partOutsideTheSourceIsRefused() throws {
        let run = try convert("talk.wav", "part.wav", "--from", "5")
        #expect(run.errorText.contains("code range_outside_source"))
        #expect(try material.folder.names() == ["talk.wav"])
    }

    @Test func trackIsChosenByItsNumber() throws {
        try material.addTwoTracks()
        for (number, name) in [(0, "first.wav"), (1, "second.wav")] {
            #expect(try convert("two.mka", "\(number).wav", "--track", "\(number)").succeeded)
            #expect(try samples("\(number).wav") == FFmpeg.decode(material.path(name)))
        }
        let run = try convert("two.mka", "2.wav", "--track", "2")
        #expect(run.status == .exited(4))
        #expect(run.errorText.hasSuffix("hint:  audio tracks: 0, 1\n"))
    }

    @Test func chaptersComeFromAFile() throws {
        try Bytes.write(Array("0 One\n0.1 Two words\n".utf8), to: material.path("chapters.txt"))
        let run = try convert("talk.wav", "book.m4b", "--chapters", "chapters.txt")
        #expect(run.succeeded, "\(run.errorText)")
        let found = try FFmpeg.probe(material.path("book.m4b")).chapters
        #expect(found.map { $0.tags["title"] } == ["One", "Two words"] && found.map(\.start) == [0, 0.1])
        try Bytes.write(Array("0 One\nsoon Two\n".utf8), to: material.path("wrong.txt"))
        let refused = try convert("talk.wav", "no.m4b", "--chapters", "wrong.txt")
        #expect(refused.status == .exited(2))
        #expect(refused.errorText.hasPrefix("error: wrong.txt: line 2: "), "\(refused.errorText)")
        #expect(try !material.folder.names().contains("no.m4b"))
    }

    /// The file takes a tag away, and `--tag` wins over it, whatever the letters.
    @Test func tagsComeFromAFile() throws {
        let lines = "# A book\nTITLE=\nARTIST=Ada\nALBUM=One\nTRACK=1\n"
        try Bytes.write(Array(lines.utf8), to: material.path("tags.txt"))
        let wishes = ["--tag-file", "tags.txt", "--tag", "album=Two", "--tag", "tracknumber=2"]
        let run = try Sluice.run(["convert", "talk.wav", "listed.flac"] + wishes, in: material.folder)
        #expect(run.succeeded, "\(run.errorText)")
        let written = try Run.program("metaflac", ["--export-tags-to=-", material.path("listed.flac")]).checked()
        let found = Set(written.outputText.split(separator: "\n").map { $0.uppercased() })
        #expect(found.isSuperset(of: ["ARTIST=ADA", "ALBUM=TWO", "TRACKNUMBER=2"]), "\(found)")
        #expect(!found.contains { $0.hasPrefix("TITLE=") || $0 == "ALBUM=ONE" || $0 == "TRACKNUMBER=1" }, "\(found)")
        try Bytes.write(Array("ARTIST=Ada\nTITLE\n".utf8), to: material.path("wrong.txt"))
        let refused = try convert("talk.wav", "no.flac", "--tag-file", "wrong.txt")
        #expect(refused.status == .exited(2))
        #expect(refused.errorText.hasPrefix("error: wrong.txt: line 2: must be NAME=VALUE"), "\(refused.errorText)")
        let missing = try convert("talk.wav", "no.flac", "--tag-file", "nowhere.txt")
        #expect(!missing.succeeded && missing.errorText.contains("nowhere.txt"), "\(missing.errorText)")
        #expect(try !material.folder.names().contains("no.flac"))
    }

    @Test func tagsGetSeveralValues() throws {
        try Bytes.write(Array("ARTIST=None\nGENRE=a\nGENRE=b\n".utf8), to: material.path("tags.txt"))
        let wishes = ["--tag-file", "tags.txt", "--tag", "artist=Ada", "--tag", "Artist=Bob"]
        try Sluice.run(["convert", "talk.wav", "several.flac"] + wishes, in: material.folder).checked()
        let written = try Run.program("metaflac", ["--export-tags-to=-", material.path("several.flac")]).checked()
        let found = written.outputText.uppercased().split(separator: "\n").map(String.init)
        #expect(found.filter { $0.hasPrefix("ARTIST=") } == ["ARTIST=ADA", "ARTIST=BOB"], "\(found)")
        #expect(found.filter { $0.hasPrefix("GENRE=") } == ["GENRE=A", "GENRE=B"], "\(found)")
    }

    @Test func tagsAreSetAndTakenAway() throws {
        #expect(try convert("talk.wav", "kept.flac").succeeded)
        #expect(try FFmpeg.probe(material.path("kept.flac")).tags["title"] == "A talk")
        let run = try convert("talk.wav", "tagged.flac", "--tag", "title=", "--tag", "artist=Ä = B", "--tag=album=C")
        #expect(run.succeeded)
        let tags = try FFmpeg.probe(material.path("tagged.flac")).tags
        #expect(tags["title"] == nil)
        #expect(tags["artist"] == "Ä = B")
        #expect(tags["album"] == "C")
        let bare = try convert("talk.wav", "bare.flac", "--no-tags", "--tag", "album=C", "--strict-loss")
        #expect(bare.succeeded, "\(bare.errorText)")
        let left = try FFmpeg.probe(material.path("bare.flac")).tags.keys.filter { $0.lowercased() != "encoder" }
        #expect(left.map { $0.lowercased() } == ["album"])
    }

    // MARK: - Formats

    @Test func optionsSayTheFormat() throws {
        let run = try convert("talk.wav", "out.caf", "--rate", "44.1k", "--channels", "1", "--bits", "24")
        #expect(run.outputText.hasPrefix("out.caf  0:00.5  pcm s24 44.1 kHz mono  "))
        let stream = try #require(try FFmpeg.probe(material.path("out.caf")).audio.first)
        #expect(stream.rate == 44_100 && stream.channels == 1)
        #expect(try convert("talk.wav", "any.bin", "--container", "flac").succeeded)
        #expect(try FFmpeg.probe(material.path("any.bin")).formatName == "flac")
    }

    @Test func lostBitsAreDitheredUnlessToldOtherwise() throws {
        let noise = Signal.noise(seed: 5, rate: 48_000, frames: 4_800).pcm(.s24)
        try WAVFile.write(noise, to: material.path("deep.wav"))
        var bytes: Set<[UInt8]> = []
        for words in [[], ["--dither", "tpdf"], ["--dither", "none"]] {
            let base = ["convert", "deep.wav", "out.wav", "--bits", "16", "--on-conflict", "replace"]
            let run = try Sluice.run(base + words, in: material.folder)
            #expect(run.succeeded, "\(run.errorText)")
            bytes.insert(try WAVFile.read(path: material.path("out.wav")).bytes)
        }
        #expect(bytes.count == 2)
        // With rounding alone, no sample is off by more than half a step.
        let rounded = try WAVFile.read(path: material.path("out.wav")).samples(channel: 0)
        #expect(zip(rounded, noise.samples(channel: 0)).allSatisfy { abs($0 - $1) <= 0.5 / 32_768 })
        let refused = try convert("deep.wav", "out.mp3", "--dither", "none")
        #expect(refused.errorText.hasPrefix("error: --dither none: MP3 stores no samples; allowed: none\n"))
    }

    @Test func refusedFieldIsNamedByItsOption() throws {
        let endian = try convert("talk.wav", "out.aiff", "--endian", "little")
        #expect(endian.errorText.hasPrefix("error: --endian little: AIFF is big-endian; allowed: big\n"))
        #expect(endian.errorText.contains("code format_refused"))
        let float = try convert("talk.wav", "out.flac", "--float")
        #expect(float.errorText.hasPrefix("error: --float: "))
    }

    @Test func presetThatContradictsTheExtensionIsRefused() throws {
        let run = try convert("talk.wav", "out.flac", "--preset", "mp3-v0")
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains("the extension .flac means FLAC"))
    }

    @Test func presetThatDoesNotFitSaysWhy() throws {
        try material.addTwelveChannels()
        let why = "channels 2: the layout of the source's 12 channels is unknown, so they cannot be mixed"
        let run = try Sluice.run("presets", "--for", "twelve.wav", in: material.folder)
        #expect(run.succeeded)
        let line = try #require(run.outputText.split(separator: "\n").first { $0.hasPrefix("mp3-v0 ") })
        #expect(line.contains("  no  ") && line.contains(why))
        let refused = try convert("twelve.wav", "out.mp3", "--preset", "mp3-v0")
        #expect(refused.status == .exited(1))
        #expect(refused.errorText.hasPrefix("error: \(why)"))
        #expect(try material.folder.names() == ["talk.wav", "twelve.wav"])
    }

    @Test func verifiedOutputIsCalledSo() throws {
        let run = try convert("talk.wav", "out.flac", "--verify")
        #expect(run.outputText.hasSuffix("24,000 frames, complete, verified\n"))
    }

    // MARK: - Damage

    @Test func damageIsMetAsAskedFor() throws {
        try material.addDamaged()
        let strict = try convert("damaged.flac", "strict.wav")
        #expect(strict.status == .exited(1))
        #expect(strict.errorText.hasPrefix("error: damaged.flac is damaged at 0:00."))
        #expect(strict.errorText.contains("code corrupt_stream, stage decode"))
        #expect(strict.errorText.contains("--on-damage conceal keeps the length"))
        #expect(try !material.folder.names().contains("strict.wav"))

        let concealed = try convert("damaged.flac", "concealed.wav", "--on-damage", "conceal")
        #expect(concealed.succeeded)
        #expect(concealed.errorText.hasPrefix("note:  damaged.flac is damaged in 1 place: "))
        #expect(concealed.errorText.contains("frames filled with silence"))
        #expect(try samples("concealed.wav").frames == 48_000)

        let skipped = try convert("damaged.flac", "skipped.wav", "--on-damage", "skip", "--json")
        #expect(skipped.succeeded)
        let frames = try samples("skipped.wav").frames
        #expect(frames < 48_000 && frames > 30_000)
        #expect(skipped.errorText.contains("\(48_000 - frames)".count > 3 ? "frames left out" : "frame left out"))
    }

    /// The command that is printed takes all the sound.
    @Test func aRefusalIsExplainedAndCanBeOverruled() throws {
        let sound = Signal.sweep(rate: 48_000, frames: 144_000).pcm(.s16)
        let bytes = try WAVFile.bytes(sound, options: .init(claimedDataSize: 144_000))
        try Bytes.write(bytes, to: material.path("half of it.wav"))
        let refused = try convert("--on-damage=strict", "half of it.wav", "out.wav", "--explain")
        #expect(refused.status == .exited(1))
        let command = "sluice convert 'half of it.wav' out.wav --on-damage trust-packets"
        for line in [
            "rule: counted_bytes, the header counts all the sound", "promised: 0:01.5 of sound by the header",
            "found: 0:03 of sound: 144000 bytes follow that are neither chunks nor tags",
            "to take the sound as it is: \(command)",
        ] {
            #expect(refused.errorText.contains("\n       \(line)\n"), "\(line)")
        }
        let taken = try convert("half of it.wav", "out.wav", "--on-damage", "trust-packets")
        #expect(taken.succeeded)
        #expect(try samples("out.wav").frames == 144_000)
    }

    private func addHalfCounted() throws -> [UInt8] {
        let sound = Signal.sweep(rate: 48_000, frames: 144_000).pcm(.s16)
        let bytes = try WAVFile.bytes(sound, options: .init(claimedDataSize: 144_000))
        try Bytes.write(bytes, to: material.path("half.wav"))
        return bytes
    }

    /// Regression: the command that was printed had the edits, and was refused for them.
    @Test func soundIsTakenAsItIsBeforeItIsEdited() throws {
        _ = try addHalfCounted()
        let refused = try convert("half.wav", "out.wav", "--fade-out", "1s", "--explain")
        let command = "sluice convert --on-damage trust-packets half.wav sound.wav"
        #expect(refused.errorText.contains("\n       to take the sound as it is, and then edit it: \(command)\n"))
        #expect(try convert("--on-damage", "trust-packets", "half.wav", "sound.wav").succeeded)
        #expect(try convert("sound.wav", "out.wav", "--fade-out", "1s").succeeded)
    }

    /// Regression: the command that was printed contradicted `--recipe`.
    @Test func aRecipeIsChangedToTakeTheSoundAsItIs() throws {
        _ = try addHalfCounted()
        func recipe(_ start: String) -> [UInt8] {
            Array((start + #","sources":[{"location":"half.wav"}],"outputs":[{"location":"out.wav"}]}"#).utf8)
        }
        try Bytes.write(recipe(#"{"version":1"#), to: material.path("show.json"))
        let refused = try convert("--recipe", "show.json", "--explain")
        let change = #""version": 4 and "damage": "trust-packets" in show.json"#
        #expect(refused.errorText.contains("\n       to take the sound as it is: \(change)\n"))
        try Bytes.write(recipe(#"{"version":4,"damage":"trust-packets""#), to: material.path("show.json"))
        #expect(try convert("--recipe", "show.json").succeeded)
        #expect(try samples("out.wav").frames == 144_000)
    }

    /// No command can take what a pipe has let pass.
    @Test func aPipeIsWrittenToAFileFirst() throws {
        let bytes = try addHalfCounted()
        let refused = try convert("-", "out.wav", "--explain", input: .data(Data(bytes)))
        #expect(refused.errorText.contains("\n       rule: counted_bytes, "))
        #expect(!refused.errorText.contains("as it is: "))
        #expect(refused.errorText.contains("hint:  write it to a file and convert that with --on-damage trust-packets"))
        let trusted = try convert("-", "out.wav", "--on-damage", "trust-packets", input: .data(Data(bytes)))
        #expect(trusted.status == .exited(1))
    }

    /// Without a rule about sources, it is the catalogue that explains.
    @Test func otherFailuresAreExplainedByTheirCode() throws {
        try material.addText()
        let run = try convert("text.wav", "out.wav", "--explain")
        #expect(run.errorText.contains("\n       meaning: ") && run.errorText.contains("\n       usual cause: "))
        #expect(!run.errorText.contains("trust-packets"))
    }

    @Test func debugShowsTheWholeRecord() throws {
        try material.addDamaged()
        let run = try convert("damaged.flac", "out.wav", "--debug")
        for fact in ["class permanent", "position ", "source damaged.flac", "destination out.wav", "libav "] {
            #expect(run.errorText.contains("\n       \(fact)"), "\(fact)")
        }
    }

    // MARK: - Names

    @Test(arguments: [
        "two\nlines.wav", "\u{1B}[2J\u{1B}[31mred.wav", "bell\u{7}.wav", "gpj\u{202E}.wav", "講演 🎵.wav", " .wav",
        "%s%n.wav", "'\"$(x)`y`.wav", "a\\b.wav", "--preset.wav", "-.wav",
    ])
    func strangeNamesAreNamesAndNothingElse(name: String) throws {
        let run = try Sluice.run(["convert", "--", "talk.wav", name], in: material.folder)
        #expect(run.succeeded)
        #expect(run.outputText.split(separator: "\n").count == 1)
        #expect(!run.outputText.unicodeScalars.dropLast().contains { $0.value < 0x20 || $0.value == 0x202E })
        #expect(try samples(name) == Material.talk)
        let again = try Sluice.run(["convert", "--", name, name], in: material.folder)
        #expect(again.status == .exited(1))
        #expect(!again.errorText.contains("\u{1B}") && !again.errorText.contains("\u{202E}"))
        let json = try Sluice.run(["probe", "--json", "--", name], in: material.folder)
        let record = try JSONSerialization.jsonObject(with: json.stdout) as? [String: Any]
        #expect(record?["source"] as? String == name)
    }

    @Test func longestNameIsTakenAndALongerOneRefused() throws {
        let longest = String(repeating: "n", count: 251) + ".wav"
        #expect(try convert("talk.wav", longest).succeeded)
        #expect(try convert("talk.wav", longest, "--on-conflict", "replace").succeeded)
        #expect(try samples(longest) == Material.talk)
        let run = try convert("talk.wav", "n" + longest)
        #expect(run.status == .exited(1))
        #expect(run.errorText.contains("code invalid_path"))
        #expect(try material.folder.names() == [longest, "talk.wav"])
    }

    @Test func probeShowsEachValueAndEachPicture() throws {
        #expect(try convert("talk.wav", "whole.flac").succeeded)
        let (path, picture) = (material.path("whole.flac"), material.path("a.png"))
        try FFmpeg.run(["-y", "-f", "lavfi", "-i", "testsrc=size=60x40", "-frames:v", "1", picture])
        let pictures = ["3||||", "4||||"].map { "--import-picture-from=" + $0 + picture }
        try Run.program("metaflac", ["--set-tag=ARTIST=One", "--set-tag=ARTIST=Two"] + pictures + [path]).checked()
        let page = try Sluice.run("probe", "whole.flac", in: material.folder).outputText.lowercased()
        let lines = page.split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(lines.contains { $0.hasSuffix("artist: one") } && lines.contains("artist: two"), "\(page)")
        #expect(lines.contains { $0.hasPrefix("cover       png of 60 x 40, ") }, "\(page)")
        #expect(lines.contains { $0.hasPrefix("pictures    cover (back): png of 60 x 40, ") }, "\(page)")
        let json = try Sluice.run("probe", "--json", "whole.flac", in: material.folder)
        let record = try #require(try JSONSerialization.jsonObject(with: json.stdout) as? [String: Any])
        let description = try #require(record["description"] as? [String: Any])
        let tags = try #require(description["tags"] as? [[String: Any]])
        let artist = try #require(tags.first { ($0["name"] as? String)?.lowercased() == "artist" })
        #expect(artist["values"] as? [String] == ["One", "Two"] && artist["value"] as? String == "One;Two")
        let title = try #require(tags.first { ($0["name"] as? String)?.lowercased() == "title" })
        #expect(title["values"] == nil)
        let shown = try #require(description["pictures"] as? [[String: Any]]).map { $0["shows"] as? String }
        #expect(shown == ["Cover (front)", "Cover (back)"])
    }

    @Test func controlCharactersInTagsAreEscaped() throws {
        #expect(try convert("talk.wav", "evil.flac", "--tag", "artist=\u{1B}]0;owned\u{7}\nline").succeeded)
        let run = try Sluice.run("probe", "evil.flac", in: material.folder)
        #expect(run.outputText.contains("\\u{1b}]0;owned\\u{7}\\u{a}line"))
        #expect(!run.outputText.contains("\u{1B}"))
    }
}
