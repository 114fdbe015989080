import Foundation
import TestSupport
import Testing

/// What goes to standard output and to standard error, and what happens when these streams are full, closed or
/// hung up.
struct StreamTests {
    let material: Material

    init() throws { material = try Material() }

    @Test func resultIsDataAndNothingIsSaid() throws {
        for words in [
            ["convert", "talk.wav", "a.flac"], ["convert", "talk.wav", "b.flac", "--json"], ["probe", "talk.wav"],
            ["probe", "--scan", "--json", "talk.wav"], ["formats"], ["presets"], ["presets", "--for", "talk.wav"],
            ["--version"], ["help"], ["help", "--man", "convert"], ["completion", "bash"],
        ] {
            let run = try Sluice.run(words, in: material.folder)
            #expect(run.succeeded && !run.stdout.isEmpty, "\(words)")
            #expect(run.errorText.isEmpty, "\(words)")
            #expect(run.outputText.hasSuffix("\n") && !run.outputText.hasSuffix("\n\n"), "\(words)")
        }
    }

    @Test func failureIsTalk() throws {
        for words in [
            ["convert", "missing.wav", "a.flac"], ["covnert"], ["formats", "opsu"], ["probe", "missing.wav"],
        ] {
            let run = try Sluice.run(words, in: material.folder)
            #expect(run.stdout.isEmpty, "\(words)")
            #expect(run.errorText.hasPrefix("error: "), "\(words)")
        }
    }

    /// Swift reads the command line from /proc, so the command would answer as if it had been called without a word.
    @Test func withoutProcNothingIsDone() throws {
        let hide = "mount -t tmpfs none /proc; exec \"$@\""
        let asRoot = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        for command in [["convert", "talk.wav", "a.flac"], ["--version"]] {
            let words = ["--mount"] + asRoot + ["sh", "-ec", hide, "sh", Sluice.path] + command
            let run = try Run.program("unshare", words, folder: material.folder.path)
            #expect(run.status == .exited(1) && run.stdout.isEmpty)
            #expect(run.errorText.hasPrefix("error: cannot read the command line: /proc is not there\n"))
        }
        #expect(try material.folder.names().contains("a.flac") == false)
    }

    @Test func remarksAreTalk() throws {
        let run = try Sluice.run("convert", "talk.wav", "a.w64", "--tag", "mood=calm", in: material.folder)
        #expect(run.outputText.hasPrefix("a.w64  "))
        #expect(run.outputText.hasSuffix("complete; 2 tags lost\n"))
        #expect(run.errorText == "note:  W64 cannot store: title, mood\n")
        let words = ["convert", "talk.wav", "b.w64", "--tag", "mood=calm", "--strict-loss"]
        let strict = try Sluice.run(words, in: material.folder)
        #expect(strict.status == .exited(1) && strict.stdout.isEmpty)
        #expect(strict.errorText.contains("W64 cannot store: title, mood\n       code loss_refused, stage open\n"))
        #expect(try !material.folder.names().contains("b.w64"))
    }

    /// A recorder died after it had counted half of three seconds.
    @Test(arguments: ["half.wav", "-"]) func soundThatTheHeaderDoesNotCountIsSaid(source: String) throws {
        let sound = Signal.sweep(rate: 48_000, frames: 144_000).pcm(.s16)
        try WAVFile.write(sound, to: material.path("half.wav"), options: .init(claimedDataSize: 144_000))
        let feed = source == "-" ? "cat half.wav | " : ""
        let strict = try Sluice.shell("\(feed)$SLUICE convert \(source) a.flac", in: material.folder)
        #expect(strict.status == .exited(1) && strict.stdout.isEmpty)
        let told = "the header counts 0:01.5 of sound, and the source holds 0:03: 144000 bytes follow"
        #expect(strict.errorText.contains(told) && strict.errorText.contains("code uncounted_sound, stage decode"))
        let skipped = try Sluice.shell("\(feed)$SLUICE convert \(source) a.flac --on-damage skip", in: material.folder)
        #expect(skipped.succeeded)
        #expect(try FFmpeg.decode(material.path("a.flac")).frames == 72_000)
    }

    @Test func jsonIsOneLineForEachResult() throws {
        let run = try Sluice.run("probe", "--json", "talk.wav", "missing.wav", "talk.wav", in: material.folder)
        let lines = run.outputText.split(separator: "\n")
        #expect(lines.count == 3)
        for line in lines {
            let record = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(record?["source"] is String)
        }
    }

    // MARK: - Streams that fail

    @Test(arguments: ["formats", "probe talk.wav", "convert talk.wav out.flac", "--version", "help convert"])
    func fullOutputIsAFailure(words: String) throws {
        let run = try Sluice.shell("$SLUICE \(words) >/dev/full", in: material.folder)
        #expect(run.status == .exited(1))
        #expect(run.errorText == "error: cannot write to standard output: No space left on device\n")
    }

    @Test func fullErrorStreamStopsNoWork() throws {
        let run = try Sluice.shell("$SLUICE convert talk.wav a.w64 --tag mood=calm 2>/dev/full", in: material.folder)
        #expect(run.succeeded)
        #expect(try material.folder.names() == ["a.w64", "talk.wav"])
    }

    @Test func readerWhoHasSeenEnoughEndsItQuietly() throws {
        // The reader hangs up before there is anything to read.
        let running = try RunningSluice(["probe", "--json", "-"], in: material.folder)
        running.hangUp()
        try running.feed(Bytes.read(material.path("talk.wav")))
        running.endFeed()
        try running.ends(with: .signalled(SIGPIPE))
        #expect(running.errorText.isEmpty)
    }

    @Test func listenerWhoHasHeardEnoughEndsItQuietly() throws {
        let running = try RunningSluice(["convert", "-", "-", "--container", "wav"], in: material.folder)
        running.hangUp()
        let sound = try HalvedWAV()
        try running.feed(sound.first)
        running.endFeed()
        try running.ends(with: .signalled(SIGPIPE))
        #expect(running.errorText.isEmpty)
    }

    @Test func closedOutputIsAFailure() throws {
        let run = try Sluice.shell("$SLUICE formats >&-", in: material.folder)
        #expect(run.status == .exited(1))
        #expect(run.errorText == "error: cannot write to standard output: Bad file descriptor\n")
    }

    @Test func closedInputCannotBeRead() throws {
        let run = try Sluice.shell("$SLUICE convert - a.flac <&-", in: material.folder)
        #expect(run.status == .exited(1))
        #expect(run.errorText.contains("code io_source"))
        #expect(try material.folder.names() == ["talk.wav"])
    }

    /// An opened file gets the lowest free descriptor: without precautions, progress would be written into the output.
    @Test func noFileTakesThePlaceOfAClosedStream() throws {
        try #require(mkfifo(material.path("pipe"), 0o600) == 0)
        let sound = try HalvedWAV()
        let running = try RunningSluice(
            ["-c", "exec \(Sluice.path) convert pipe out.flac --progress plain <&- >&- 2>&-"],
            in: material.folder,
            program: "bash"
        )
        // Opened for reading and writing, which never blocks.
        let pipe = try OpenFile.changing(material.path("pipe"))
        let isHeld = Data(sound.first).withUnsafeBytes { write(pipe.descriptor, $0.baseAddress!, 60_000) } == 60_000
        try #require(isHeld)
        func places() -> [String] {
            // A descriptor that is not open has no link.
            (0..<16).map {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(running.id)/fd/\($0)")) ?? ""
            }
        }
        try running.wait(until: { places().contains { $0.hasSuffix("(deleted)") } }, for: "opening its output")
        #expect(places()[..<3] == ["/dev/null", "/dev/null", "/dev/null"])
        running.signal(SIGTERM)
        try running.ends(with: .signalled(SIGTERM))
    }

    // MARK: - Arguments

    @Test func wordsThatAreNoUTF8AreRefused() throws {
        let run = try Sluice.shell("$SLUICE convert $'caf\\xe9.wav' out.wav", in: material.folder)
        #expect(run.status == .exited(2))
        #expect(run.errorText.hasPrefix("error: argument 2 is not valid UTF-8\nhint:  "))
    }

    // MARK: - Colour

    @Test func nothingIsColouredWithoutATerminal() throws {
        for words in [["formats"], ["probe", "talk.wav"], ["help"], ["convert", "missing.wav", "x.wav"]] {
            let run = try Sluice.run(words, in: material.folder)
            #expect(!(run.outputText + run.errorText).contains("\u{1B}"), "\(words)")
        }
    }

    @Test(arguments: [
        (["--color", "always"], [:], true), (["--color=always"], ["NO_COLOR": "1"], true),
        ([], ["FORCE_COLOR": "1"], true), ([], ["FORCE_COLOR": "1", "NO_COLOR": "1"], false),
        (["--color", "never"], ["FORCE_COLOR": "1"], false), ([], ["NO_COLOR": ""], false),
    ])
    func colourIsAsAskedFor(words: [String], environment: [String: String], isColoured: Bool) throws {
        for command in [["formats"], ["help", "convert"], ["convert", "--help"]] {
            let run = try Sluice.run(words + command, environment: environment)
            #expect(run.succeeded)
            #expect(run.outputText.contains("\u{1B}[") == isColoured, "\(words + command)")
        }
        for command in [["convert", "missing.wav", "x.wav"], ["covnert"]] {
            let run = try Sluice.run(words + command, in: material.folder, environment: environment)
            #expect(run.errorText.hasPrefix("\u{1B}[31merror:\u{1B}[0m ") == isColoured, "\(words + command)")
        }
    }

    @Test func jsonIsNeverColoured() throws {
        let run = try Sluice.run(["probe", "--json", "talk.wav", "--color", "always"], in: material.folder)
        #expect(!run.outputText.contains("\u{1B}"))
    }
}
