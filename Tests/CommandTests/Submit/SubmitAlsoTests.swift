import API
import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice submit --also`: jobs with several outputs. The files are real, and so is the worker.
struct SubmitAlsoTests {
    let bench: LedgerBench
    private static let words = [
        "submit", "-r", "in", "--to", "out/{stem}.flac", "--also", "web/{stem}.{ext}:opus-voice-24", "--also",
        "web/{stem}.wav",
    ]
    private static let outputs = ["out/a.flac", "web/a.opus", "web/a.wav", "out/b.flac", "web/b.opus", "web/b.wav"]

    init() throws {
        bench = try LedgerBench()
        try bench.sound("in/a.wav")
        try bench.sound("in/b.wav", hertz: 660)
    }

    private func submit(_ more: String...) throws -> Run { try bench.run(Self.words + more) }

    private func made() throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for name in Self.outputs where FileManager.default.fileExists(atPath: bench.folder.path(name)) {
            found[name] = try Bytes.read(bench.folder.path(name))
        }
        return found
    }

    @Test func eachFileBecomesAllOutputs() async throws {
        let worker = try bench.startWorker()
        #expect(try submit("--wait").checked().outputText == "batch 1  2 jobs\nbatch 1  2 completed\n")
        #expect(try made().count == 6)
        let voice = try FFmpeg.decode(bench.folder.path("web/a.opus"))
        #expect(voice.signal.channels.count == 1)
        #expect(
            try WAVFile.read(path: bench.folder.path("web/b.wav"))
                == WAVFile.read(path: bench.folder.path("in/b.wav"))
        )
        let story = try #require(try await bench.ledger.story(of: 1))
        #expect(story.needs.sorted() == ["codec:flac", "codec:opus", "codec:pcm", "recipe:2", "root:local"])
        let record = try bench.run(["job", "1", "--json"]).checked().outputText
        #expect(record.contains("\"furtherOutputs\":[{\"bytes\":"), "\(record)")
        withExtendedLifetime(worker) {}
    }

    /// Outputs that are newer than the source stay, whichever they are, and older ones are replaced.
    @Test(arguments: [["out/a.flac"], ["web/a.wav"], ["out/a.flac", "web/a.opus"], []])
    func newerReplacesOlderOutputsOnly(stay: [String]) throws {
        try FileManager.default.removeItem(atPath: bench.folder.path("in/b.wav"))
        func write(_ name: String, secondsAfterSource: Double) throws {
            let path = bench.folder.path(name)
            let date = Date(timeIntervalSince1970: 1_000_000_000 + secondsAfterSource)
            if secondsAfterSource != 0 {
                let folder = (path as NSString).deletingLastPathComponent
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try Bytes.write(Array("before".utf8), to: path)
            }
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }
        try write("in/a.wav", secondsAfterSource: 0)
        let outputs = Self.outputs.prefix(3)
        for name in outputs { try write(name, secondsAfterSource: stay.contains(name) ? 3_600 : -3_600) }
        let worker = try bench.startWorker()
        _ = try submit("--on-conflict", "newer", "--wait").checked()
        for name in outputs {
            let isKept = try Bytes.read(bench.folder.path(name)) == Array("before".utf8)
            #expect(isKept == stay.contains(name), "\(name)")
        }
        withExtendedLifetime(worker) {}
    }

    @Test func refusalNamesTheOutputThatExists() throws {
        try bench.sound("web/b.wav")
        let refusal = try submit()
        #expect(refusal.errorText.contains("web/b.wav"), "\(refusal.errorText)")
        #expect(!refusal.errorText.contains("out/b.flac"), "\(refusal.errorText)")
    }

    @Test func onlyWhatIsMissingIsMadeAgain() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        let before = try made()
        let second = try submit("--wait").checked().outputText
        #expect(second == "batch 1  2 jobs\nnothing to submit: 2 unchanged\n", "\(second)")
        try FileManager.default.removeItem(atPath: bench.folder.path("web/a.opus"))
        #expect(
            try submit("--wait").checked().outputText
                == "batch 2  1 job: 1 missing again\nnot submitted: 1 unchanged\nbatch 2  1 completed\n"
        )
        #expect(try made() == before)
        // The record of the second job holds for the file that it made, and for none that it left alone.
        let third = try submit("--wait").checked().outputText
        #expect(third == "nothing to submit: 2 unchanged\n", "\(third)")
        for name in Self.outputs.prefix(3) { try FileManager.default.removeItem(atPath: bench.folder.path(name)) }
        #expect(try submit("--wait").checked().outputText.hasPrefix("batch 3  1 job: 1 missing again\n"))
        #expect(try made() == before)
        withExtendedLifetime(worker) {}
    }

    @Test func anOutputThatChangedIsLeftAloneUnlessItIsToBeReplaced() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        let good = try made()
        try Bytes.write([1, 2, 3], to: bench.folder.path("web/a.wav"))
        let run = try submit().checked()
        #expect(run.errorText.contains("1 output has changed since it was written"), "\(run.errorText)")
        #expect(try submit("--on-altered", "fail").status == .exited(1))
        _ = try submit("--on-conflict", "replace", "--wait").checked()
        #expect(try made() == good)
        // Only the digest tells.
        var bytes = try #require(good["web/a.opus"])
        bytes[bytes.count - 1] ^= 1
        try Bytes.write(bytes, to: bench.folder.path("web/a.opus"))
        #expect(try submit("--dry-run").checked().outputText.contains("unchanged   2 done before"))
        #expect(try submit("--check").checked().errorText.contains("left alone"))
        withExtendedLifetime(worker) {}
    }

    @Test func aFileAtAnyDestinationPreventsTheSubmission() throws {
        try FileManager.default.createDirectory(atPath: bench.folder.path("web"), withIntermediateDirectories: true)
        try Bytes.write([1], to: bench.folder.path("web/b.opus"))
        let run = try submit()
        #expect(run.status == .exited(1))
        #expect(run.errorText.contains("1 destination already exists"), "\(run.errorText)")
        let worker = try bench.startWorker()
        _ = try submit("--on-conflict", "missing", "--wait").checked()
        let files = try made()
        #expect(files.count == 6 && files["web/b.opus"] == [1])
        withExtendedLifetime(worker) {}
    }

    @Test func mistakesAreRefused() throws {
        for (words, message) in [
            (["--also", "out/{stem}.flac"], "two outputs of a job would be local:"),
            (["--also", "out/same.wav"], "2 sources would become local:"),
            (["--also", "in/{stem}.wav"], "is a source and would be overwritten"),
            (["--also", "web/{stem}.{ext}"], "--also web/{stem}.{ext}: the value of {ext} is unknown"),
            (["--also", "web/{stem}.mp3:podcst-mp3"], "not a preset; did you mean \"podcast-mp3\"?"),
            (["--also", "web/{stem}.xyz"], "web/name.xyz: unknown extension"),
            (["--also", "web/{preset}.mp3"], "--also local:"),
            (["--also", "web/{id}.mp3"], "--also web/{id}.mp3: {id} is unknown until a job is submitted"),
        ] {
            let run = try bench.run(["submit", "-r", "in", "--to", "out/{stem}.flac"] + words)
            #expect(!run.succeeded && run.errorText.contains(message), "\(run.errorText)")
        }
    }
}
