import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A submission finds every obstacle before it submits anything.
struct SubmitRefusalTests {
    let bench: LedgerBench

    init() throws { bench = try LedgerBench() }

    @Test func twoSourcesWithOneDestinationAreRefused() async throws {
        try bench.files("in/ep/intro.wav", "in/ep/intro.flac", "in/ep/other.wav")
        let run = try bench.run(["submit", "-r", "in"] + LedgerBench.usual)
        #expect(run.status == .exited(1))
        #expect(run.errorText.hasPrefix("error: 1 destination has several sources; nothing was submitted\n"))
        #expect(run.errorText.contains("2 sources would become local:"))
        #expect(run.errorText.contains("in/ep/intro.flac, local:") && run.errorText.contains("in/ep/intro.wav\n"))
        #expect(try await bench.ledger.batches().isEmpty)
    }

    /// A job for a folder would fail.
    @Test func folderOfAnotherMachineIsRefused() async throws {
        let words = ["submit", "-r", "archive:2022", "--to", "out:{stem}.mp3"]
        let run = try bench.run(words)
        #expect(run.status == .exited(2), "\(run.outputText)")
        #expect(run.errorText.hasPrefix("error: the folder of the root archive is not known here, so its files"))
        #expect(try await bench.ledger.batches().isEmpty)
        _ = try bench.run("submit", "-r", "archive:2022/a.WAV", "--to", "out:{stem}.mp3").checked()
    }

    /// Here --to names the outputs; to `convert` it is the end of a range.
    @Test func endOfARangeIsPointedToUntil() throws {
        try bench.files("in/a.wav")
        let run = try bench.run(["submit", "in/a.wav", "--from", "10", "--to", "20"])
        #expect(run.status == .exited(2))
        #expect(run.errorText == "error: --to 20: --to names the outputs\nhint:  --until 20 is where the range ends\n")
    }

    @Test func sourceIsNeverADestination() async throws {
        try bench.files("in/a.wav", "in/b.wav")
        let run = try bench.submit("-r", "in", "--to", "in/{stem}.wav", "--preset", "wav")
        #expect(run.status == .exited(1))
        #expect(run.errorText.hasPrefix("error: outputs would overwrite 2 sources; nothing was submitted\n"))
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func destinationsThatExistAreRefusedReplacedOrLeft() async throws {
        try bench.files("in/a.wav", "in/b.wav", "out/a.mp3")
        let refused = try bench.run(["submit", "-r", "in"] + LedgerBench.usual)
        #expect(refused.status == .exited(1))
        #expect(refused.errorText.hasPrefix("error: 1 destination already exists; nothing was submitted\n"))
        #expect(refused.errorText.contains("out/a.mp3\n"))
        #expect(try await bench.ledger.batches().isEmpty)
        for policy in ["replace", "skip"] {
            _ = try bench.run(["submit", "-r", "in", "--again", "--on-conflict", policy] + LedgerBench.usual).checked()
        }
        #expect(try await bench.ledger.batches().map(\.jobs.total) == [2, 2])
    }

    @Test func manyDestinationsThatExistAreFoundInTheirFolder() throws {
        for number in 0..<40 { try bench.files("in/\(number).wav", "out/\(number).mp3") }
        let run = try bench.run(["submit", "-r", "in", "--dry-run"] + LedgerBench.usual)
        #expect(run.status == .exited(1))
        #expect(run.outputText.contains("  conflicts   40 destinations already exist: an error;"))
        #expect(run.outputText.contains("and 35 more\n"))
    }

    /// File systems take no longer names. A worker would find that out after the conversion.
    @Test func namesThatAreTooLongForAFileAreRefused() async throws {
        let long = String(repeating: "ü", count: 120)
        try bench.files("in/\(long).wav", "in/b.wav")
        for words in [["--to", "out/{stem}-{stem}.mp3"], ["--to", "out/{stem}{stem}/a.mp3"]] {
            for dry in [[], ["--dry-run"]] {
                let run = try bench.run(["submit", "-r", "in"] + words + dry)
                #expect(run.status == .exited(1), "\(words)")
                #expect((run.outputText + run.errorText).contains(" bytes, üüü"), "\(run.errorText)")
                #expect((run.outputText + run.errorText).contains("the limit is 255"), "\(run.errorText)")
            }
        }
        let fixed = try bench.run(["submit", "in/b.wav", "--to", "out/\(long)\(long)/{stem}.mp3"])
        #expect(fixed.status == .exited(2) && fixed.errorText.contains("a name of 480 bytes"), "\(fixed.errorText)")
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func namesOfQueuesThatCannotBeAreRefusedInWords() throws {
        try bench.files("a.wav")
        for dry in [[], ["--dry-run"]] {
            let run = try bench.run(["submit", "a.wav", "--queue", "a b"] + dry + LedgerBench.usual)
            #expect(run.status == .exited(2))
            let lines = run.errorText.split(separator: "\n")
            #expect(lines[0] == "error: --queue \"a b\": cannot be the name of a queue")
            #expect(lines[1] == "hint:  allowed: 1 to 63 letters, digits and . _ - beginning with a letter or a digit")
        }
        let tenant = try bench.run("tenants", "create", "a/b")
        #expect(tenant.status == .exited(2) && tenant.errorText.contains("a/b: cannot be the name of a tenant"))
        let token = try bench.run("tokens", "create", "--role", "viewer", "--name", "12")
        #expect(token.status == .exited(2) && token.errorText.contains("and not only digits"), "\(token.errorText)")
    }

    /// A million files take a while to be found.
    @Test func theLedgerIsAskedAboutNamesBeforeTheFilesAreLookedFor() async throws {
        let run = try bench.run(["submit", "gone.wav", "--notify", "unknown-hook"] + LedgerBench.usual)
        #expect(run.status == .exited(4) && run.errorText.contains("unknown-hook"), "\(run.errorText)")
        #expect(!run.errorText.contains("gone.wav"), "\(run.errorText)")
        // A dry run asks the same, also if no job is left to do.
        try bench.files("a.wav")
        let words = ["submit", "a.wav"] + LedgerBench.usual
        _ = try bench.run(words).checked()
        let wrong = words + ["--notify", "unknown-hook"]
        let (real, dry) = try (bench.run(wrong), bench.run(wrong + ["--dry-run"]))
        #expect(real.status == .exited(4) && dry.status == real.status && dry.errorText == real.errorText)
        #expect(try await bench.ledger.batches().count == 1)
    }

    /// Otherwise only the real run would say that it adds nothing.
    @Test func aDryRunKnowsTheKeysThatAreInUse() async throws {
        try bench.files("a.wav", "b.wav")
        let words = ["submit", "a.wav", "--key", "k"] + LedgerBench.usual
        _ = try bench.run(words).checked()
        let again = try bench.run(words + ["--dry-run"]).checked()
        #expect(again.outputText.contains("->  0 jobs in queue default"), "\(again.outputText)")
        #expect(again.outputText.contains("batch 1 with 1 job has the key k: nothing would be added\n"))
        let record = try #require(try bench.records(words + ["--dry-run"]).first)
        #expect(record["jobs"] as? Int == 0 && record["batch"] as? Int == 1)
        let other = ["submit", "b.wav", "--key", "k"] + LedgerBench.usual
        let (real, dry) = (try bench.run(other), try bench.run(other + ["--dry-run"]))
        #expect(real.status == .exited(1) && real.errorText.contains("the key k was used for a different submission"))
        #expect(dry.status == real.status && dry.errorText == real.errorText)
        #expect(try await bench.ledger.batches().count == 1)
    }

    @Test func whatIsNotThereIsNotFound() throws {
        try bench.files("in/a.wav", "in/notes.txt")
        let gone = try bench.run(["submit", "gone.wav"] + LedgerBench.usual)
        #expect((gone.status, gone.errorText) == (.exited(4), "error: gone.wav does not exist\n"))
        #expect(try bench.run(["submit", "--files-from", "gone.txt"] + LedgerBench.usual).status == .exited(4))
        let none = try bench.run(["submit", "-r", "in", "--include", "*.mp3"] + LedgerBench.usual)
        #expect((none.status, none.errorText) == (.exited(9), "error: nothing to submit\n"))
        let others = try bench.run(["submit", "-r", "in", "--exclude", "a.wav"] + LedgerBench.usual)
        #expect(others.errorText.hasPrefix("error: nothing to submit; 1 file without a known audio extension\n"))
    }

    @Test func wordsThatMakeNoSubmissionAreWrongUse() async throws {
        try bench.files("in/b.wav", "a.wav")
        let to = ["a.wav", "--to", "o/{stem}.mp3"]
        for words in [
            ["in", "--to", "o/{stem}.mp3"], ["a.wav"], ["--to", "o/{stem}.mp3"], ["a.wav", "--to", "o/{id}.mp3"],
            ["a.wav", "--to", "o/{stem}"], ["a.wav", "--to", "o/{stem}.{ext}"], to + ["-0"],
            ["a.wav", "--to", "o/{stem}.wav", "--preset", "podcast-mp3"], ["a.wav", "--to", "o/{preset}/{stem}.mp3"],
            to + ["--key", "k", "--again"], to + ["--priority", "101"], to + ["--from", "2", "--until", "1"],
        ] {
            let run = try bench.run(["submit"] + words)
            #expect(run.status == .exited(2), "\(words): \(run.errorText)")
        }
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func folderThatMayNotBeReadStopsTheWhole() throws {
        try bench.files("in/a.wav", "in/locked/b.wav")
        let locked = bench.folder.path("in/locked")
        try #require(chmod(locked, 0) == 0)
        defer { chmod(locked, 0o700) }
        // The cluster of root has the same place whatever HOME is, and this machine may have one.
        let home = ["env", "HOME=\(bench.folder.path)", "XDG_DATA_HOME=\(bench.folder.path("data"))"]
        let command = home + [Sluice.path, "submit", "-r", "in", "--dry-run"] + LedgerBench.usual
        let words = Sluice.withoutPrivilege + command
        let run = try Run.program(words[0], Array(words.dropFirst()), folder: bench.folder.path)
        #expect(run.status == .exited(6))
        #expect(run.errorText.hasPrefix("error: cannot read the folder \(locked): "))
    }
}
