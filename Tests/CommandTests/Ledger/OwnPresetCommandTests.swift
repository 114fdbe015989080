import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// Presets in files and in the ledger, as commands use them.
struct OwnPresetCommandTests {
    let bench: LedgerBench

    init() throws {
        bench = try LedgerBench()
        for folder in ["user/sluice/presets.d", "machine/presets.d"] {
            try FileManager.default.createDirectory(
                atPath: bench.folder.path(folder),
                withIntermediateDirectories: true
            )
        }
        try Bytes.write([], to: bench.folder.path("machine/sluice.conf"))
    }

    private var files: [String: String] {
        [
            "XDG_CONFIG_HOME": bench.folder.path("user"), "SLUICE_CONFIG": bench.folder.path("machine/sluice.conf"),
        ]
    }

    private func run(_ words: String..., environment more: [String: String] = [:]) throws -> Run {
        try bench.run(words, environment: files.merging(more) { $1 })
    }

    private static let user = "user/sluice/presets.d"
    private static let machine = "machine/presets.d"

    private func write(_ name: String, in folder: String, bitRate: Int, _ more: String = "") throws {
        let text = """
            {"version": 1, "sources": [{"location": "{source}"}],
             "outputs": [{"location": "{stem}.{ext}", "format": {"container": "mp3", "bitRate": \(bitRate)\(more)}}]}
            """
        try Bytes.write(Array(text.utf8), to: bench.folder.path("\(folder)/\(name).json"))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644],
            ofItemAtPath: bench.folder.path("\(folder)/\(name).json")
        )
    }

    // MARK: - Files

    @Test func theUsersFileComesFirst() throws {
        _ = try run("presets", "add", "house", "--container", "mp3", "--bit-rate", "32k").checked()
        #expect(try run("presets", "show", "house").checked().outputText.contains("the ledger, for all, version 1"))
        try write("house", in: Self.machine, bitRate: 48_000)
        #expect(try run("presets", "show", "house").checked().outputText.contains("\(Self.machine)/house.json"))
        try write("house", in: Self.user, bitRate: 64_000)
        let shown = try run("presets", "show", "house").checked().outputText
        #expect(shown.contains("\(Self.user)/house.json") && shown.contains("64000"))
        // A version is in the ledger.
        #expect(try run("presets", "show", "house@1").checked().outputText.contains("32000"))
        let lines = try run("presets").checked().outputText.split(separator: "\n").filter { $0.hasPrefix("house ") }
        #expect(lines.count == 2 && lines[1].contains("ledger @1"))
        // What is shown is what a file holds.
        let recipe = try run("presets", "show", "house", "--json").checked().outputText
        try Bytes.write(Array(recipe.utf8), to: bench.folder.path("\(Self.user)/copy.json"))
        #expect(try run("presets", "diff", "house", "copy").checked().errorText == "no differences\n")
    }

    @Test func aFileThatOthersCanChangeIsRefused() throws {
        try write("house", in: Self.user, bitRate: 64_000)
        let path = bench.folder.path("\(Self.user)/house.json")
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        let refused = try run("convert", "a.wav", "a.mp3", "--preset", "house")
        #expect(refused.status == .exited(7), "\(refused.errorText)")
        #expect(refused.errorText.contains("house.json") && refused.errorText.contains("other users can change it"))
        // The list has all others.
        let list = try run("presets")
        #expect(list.status == .exited(7) && list.outputText.contains("podcast-mp3"))
    }

    @Test func aMistakeIsNamedWithItsFileAndPosition() throws {
        try write("house", in: Self.user, bitRate: 64_000, #", "rate": 5"#)
        let run = try run("convert", "a.wav", "a.mp3", "--preset", "house")
        #expect(run.status == .exited(7))
        #expect(run.errorText.contains("house.json: recipe.outputs[0].format.rate: unknown field"))
        try write("opus-96", in: Self.machine, bitRate: 64_000)
        let taken = try self.run("convert", "a.wav", "a.opus", "--preset", "opus-96")
        #expect(taken.status == .exited(7) && taken.errorText.contains("is the name of a built-in preset"))
    }

    @Test func convertDoesWhatTheFileSays() throws {
        try bench.sound("a.wav")
        try write("house", in: Self.user, bitRate: 64_000)
        _ = try run("convert", "a.wav", "one.mp3", "--preset", "house").checked()
        _ = try run("convert", "a.wav", "two.mp3", "--bit-rate", "64k").checked()
        _ = try run("convert", "a.wav", "three.flac", "--also", "four.mp3:house").checked()
        // Options change what the preset says.
        _ = try run("convert", "a.wav", "five.mp3", "--preset", "house", "--bit-rate", "48k").checked()
        let one = try Bytes.read(bench.folder.path("one.mp3"))
        for name in ["two.mp3", "four.mp3"] { #expect(try Bytes.read(bench.folder.path(name)) == one, "\(name)") }
        #expect(try Bytes.read(bench.folder.path("five.mp3")) != one)
    }

    @Test func recipesMayNamePresets() throws {
        try bench.sound("a.wav")
        try write("house", in: Self.user, bitRate: 64_000)
        let text = """
            {"version": 1, "sources": [{"location": "a.wav"}], "outputs": [{"location": "b.mp3", "preset": "house"}]}
            """
        try Bytes.write(Array(text.utf8), to: bench.folder.path("show.json"))
        #expect(try run("recipe", "check", "show.json").checked().outputText.contains("valid, version 3"))
        #expect(try run("recipe", "show", "show.json").checked().outputText.contains("b.mp3, preset house"))
        _ = try run("convert", "--recipe", "show.json").checked()
        _ = try run("convert", "a.wav", "c.mp3", "--bit-rate", "64k").checked()
        #expect(try Bytes.read(bench.folder.path("b.mp3")) == Bytes.read(bench.folder.path("c.mp3")))
        let unknown = try run(
            "recipe",
            "check",
            "show.json",
            environment: ["XDG_CONFIG_HOME": bench.folder.path("none")]
        )
        #expect(unknown.status == .exited(2) && unknown.errorText.contains("recipe.outputs[0].preset"))
    }

    @Test func namesInFilesAreOffered() throws {
        try write("house", in: Self.user, bitRate: 64_000)
        try write("home", in: Self.machine, bitRate: 64_000)
        try Bytes.write([], to: bench.folder.path("\(Self.machine)/no name.json"))
        let offered = PresetFileNames().candidates(typed: "ho", words: [], environment: files)
        #expect(offered.map(\.word) == ["house", "home"])
        #expect(offered[0].summary == "mp3 64k in mp3")
        let completed = try run("complete-words", "--", "convert", "--preset", "h").checked().outputText
        #expect(completed.contains("house\t") && !completed.contains("no name"))
        let builtIn = try run("complete-words", "--", "convert", "--preset", "podcast").checked().outputText
        #expect(builtIn.contains("podcast-mp3\t"))
    }

    // MARK: - The ledger

    @Test func convertAsksTheLedgerOnlyForWhatIsNowhereElse() throws {
        try bench.sound("a.wav")
        let away = ["SLUICE_DATABASE_URL": "postgresql://127.0.0.1:1/none"]
        _ = try run("convert", "a.wav", "a.mp3", "--preset", "podcast-mp3", environment: away).checked()
        try write("house", in: Self.user, bitRate: 64_000)
        _ = try run("convert", "a.wav", "b.mp3", "--preset", "house", environment: away).checked()
        let unknown = try run("convert", "a.wav", "c.mp3", "--preset", "studio", environment: away)
        #expect(unknown.status == .exited(5) && unknown.errorText.contains("the preset studio is not built in"))
        // Without a ledger, none is started.
        let none = ["SLUICE_DATABASE_URL": "", "XDG_DATA_HOME": bench.folder.path("data")]
        let missing = try run("convert", "a.wav", "c.mp3", "--preset", "podcast", environment: none)
        #expect(missing.status == .exited(2), "\(missing.errorText)")
        #expect(missing.errorText.contains("--preset podcast: is not a preset; did you mean \"podcast-mp3\"?"))
        _ = try run("presets", "add", "studio", "--container", "mp3", "--bit-rate", "64k").checked()
        _ = try run("convert", "a.wav", "c.mp3", "--preset", "studio").checked()
        #expect(
            try Bytes.read(bench.folder.path("c.mp3")) == Bytes.read(bench.folder.path("b.mp3"))
        )
    }

    @Test func jobsKeepTheirVersion() async throws {
        try bench.files("a.wav", "b.wav")
        let words = ["submit", "a.wav", "b.wav", "--to", "out/{preset}/{stem}.{ext}", "--preset", "house"]
        _ = try run("presets", "add", "house", "--from", "podcast-mp3", "--bit-rate", "96k", "--tag", "artist=Us")
            .checked()
        let run = try bench.run(words, environment: files)
        #expect(run.status == .exited(0), "\(run.errorText)")
        _ = try self.run("presets", "add", "house", "--from", "house", "--bit-rate", "64k").checked()
        _ = try self.run("presets", "remove", "house").checked()
        let record = try bench.output("job", "1", "--json")
        #expect(record.contains(#""ownPreset":{"name":"house","version":1}"#) && record.contains(#""bitRate":96000"#))
        #expect(record.contains(#""artist":"Us""#) && record.contains("out/house/a.mp3"))
        #expect(try bench.output("job", "1").contains("house@1"))
        let gone = try bench.run(words, environment: files)
        #expect(gone.status == .exited(2) && gone.errorText.contains("--preset house: is not a preset"))
    }

    @Test func presetsAreComparedByField() throws {
        _ = try run("presets", "add", "house", "--from", "podcast-mp3", "--bit-rate", "96k").checked()
        let second = try run("presets", "add", "house", "--from", "house", "--channels", "1", "--loudness", "podcast")
        #expect(try second.checked().outputText.hasPrefix("house@2  mp3 96k 44.1 kHz mono in mp3, loudness podcast"))
        let lines = try run("presets", "diff", "house@1", "house").checked().outputText.split(separator: "\n")
        let fields = lines.dropFirst().map { $0.split(separator: " ").map(String.init) }
        #expect(
            fields == [
                ["format.channelCount", "-", "1"], ["loudness.target", "-", "\"podcast\""],
                ["loudness.truePeak", "-", "\"-1dBTP\""],
            ]
        )
        let json = try run("presets", "diff", "podcast-mp3", "house@1", "--json").checked().outputText
        #expect(json == "{\"field\":\"format.bitRate\",\"first\":128000,\"second\":96000}\n")
        let missing = try run("presets", "diff", "house@1", "house@9")
        #expect(missing.status == .exited(4))
        #expect(missing.errorText.contains("house@9: is not a version of a preset in the ledger"))
    }

    @Test func whatCannotBeAPresetIsRefused() throws {
        for words in [
            ["podcast-mp3", "--container", "mp3"], ["House", "--container", "mp3"], ["house"],
            ["house", "--from", "nothing"], ["house", "--container", "mp3", "--replaygain", "album"],
            ["house", "--container", "mp3", "--tag", "title={stem}"],
        ] {
            let run = try bench.run(["presets", "add"] + words, environment: files)
            #expect(run.status == .exited(2), "\(words): \(run.errorText)")
        }
        #expect(try run("presets", "remove", "house").status == .exited(4))
        #expect(try run("presets", "add", "house", "--container", "mp3", "--tenant", "radio").status == .exited(4))
    }

    @Test func aTenantHasItsOwn() throws {
        _ = try run("tenants", "create", "radio").checked()
        _ = try run("presets", "add", "house", "--container", "flac").checked()
        _ = try run("presets", "add", "house", "--container", "mp3", "--tenant", "radio").checked()
        #expect(try run("presets", "show", "house").checked().outputText.contains("flac in flac"))
        let own = try run("presets", "show", "house", "--tenant", "radio").checked().outputText
        #expect(own.contains("mp3 in mp3") && own.contains("the ledger, for tenant radio, version 1"))
        #expect(try run("presets", "--tenant", "radio").checked().outputText.contains("tenant radio @1"))
        let audit = try run("audit", "--json").checked().outputText
        #expect(audit.contains("put_preset") && audit.contains("radio"))
        // It is made from its own, and not from the one for all.
        let words = ["presets", "add", "house", "--from", "house", "--bit-rate", "64k", "--tenant", "radio"]
        let next = try bench.run(words, environment: files).checked().outputText
        #expect(next.hasPrefix("house@2  mp3 64k in mp3"))
        let other = ["presets", "add", "voice", "--from", "podcast-mp3", "--tenant", "radio"]
        #expect(try bench.run(other, environment: files).checked().outputText.hasPrefix("voice@1  mp3 128k"))
    }

    /// Of a preset after `--also`, the output and its tags count. Options come before them.
    @Test func optionsReplaceWhatThePresetOfAFurtherOutputSays() throws {
        try bench.files("a.wav")
        let house = ["--loudness", "podcast", "--tag", "artist=Us", "--tag", "album=One"]
        _ = try bench.run(["presets", "add", "house", "--container", "mp3"] + house, environment: files).checked()
        let also = ["submit", "a.wav", "--to", "out/{stem}.flac", "--also", "out/{stem}.mp3:house"]
        _ = try bench.run(also + ["--tag", "artist=Me", "--loudness", "-20LUFS"], environment: files).checked()
        let record = try bench.output("job", "1", "--json")
        #expect(record.contains(#""artist":"Me""#) && record.contains(#""album":"One""#))
        #expect(!record.contains(#""artist":"Us""#))
        #expect(record.contains("-20LUFS") && !record.contains("podcast"), "\(record)")
        // All outputs have the loudness of the first one's preset.
        let first = ["submit", "a.wav", "--to", "two/{stem}.mp3", "--preset", "house", "--also", "two/{stem}.flac"]
        _ = try bench.run(first, environment: files).checked()
        let second = try bench.output("job", "2", "--json")
        #expect(second.components(separatedBy: "\"loudness\"").count == 3, "\(second)")
    }

    // MARK: - Over HTTP

    @Test func presetsWorkOverHTTP() throws {
        let remote = RemoteBench(bench)
        let url = try remote.serve("--open-role", "operator", at: "socket")
        let words = ["presets", "add", "house", "--from", "podcast-mp3", "--bit-rate", "96k"]
        let added = try remote.run(words, at: url)
        #expect(try added.checked().outputText == "house@1  mp3 96k 44.1 kHz in mp3\n")
        for words in [
            ["presets"], ["presets", "--json"], ["presets", "show", "house"], ["presets", "show", "house@1", "--json"],
            ["presets", "diff", "house", "podcast-mp3"], ["presets", "show", "house@2"], ["presets", "remove", "none"],
        ] {
            try remote.compare(words, at: url)
        }
        try bench.files("a.wav")
        let submit = ["submit", "a.wav", "--to", "out/{stem}.{ext}", "--preset", "house"]
        let submitting = try remote.serve("--open-role", "submitter", at: "submitting")
        #expect(try remote.run(submit, at: submitting).checked().outputText == "batch 1  1 job\n")
        #expect(try bench.output("job", "1", "--json").contains(#""ownPreset":{"name":"house","version":1}"#))
        _ = try remote.run(["presets", "remove", "house"], at: url).checked()
        #expect(try bench.run("presets", "show", "house").status == .exited(4))
    }
}
