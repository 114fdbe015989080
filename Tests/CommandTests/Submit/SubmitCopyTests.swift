import Foundation
import TestSupport
import Testing

/// `sluice submit --copy-files`: what lies beside the sources comes to the outputs.
struct SubmitCopyTests {
    private let bench: LedgerBench

    init() throws {
        bench = try LedgerBench()
        try bench.sound("in/x/a.wav", "in/y/b.wav")
        for name in ["in/x/cover.jpg", "in/x/notes.txt", "in/x/Booklet.PDF", "in/y/cover.jpg", "in/z.pdf"] {
            try Bytes.write(Array("in \(name)".utf8), to: bench.folder.path(name))
        }
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try Bytes.read(bench.folder.path(name)), as: UTF8.self)
    }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: bench.folder.path(folder)).sorted()
    }

    @Test func filesBesideTheSourcesAreCopied() throws {
        let words = ["submit", "-r", "in", "--to", "out/{dir}/{stem}.flac", "--copy-files", "cover.jpg,*.pdf"]
        let planned = try bench.run(words + ["--wait", "--dry-run"]).checked()
        #expect(planned.outputText.contains("\n  copies      3 other files\n"), "\(planned.outputText)")
        #expect(!FileManager.default.fileExists(atPath: bench.folder.path("out")))
        let worker = try bench.startWorker()
        let run = try bench.run(words + ["--wait"]).checked()
        #expect(run.outputText.hasSuffix("\n3 other files copied\n"), "\(run.outputText)")
        #expect(try names("out/x") == ["Booklet.PDF", "a.flac", "cover.jpg"])
        #expect(try names("out/y") == ["b.flac", "cover.jpg"])
        #expect(try text("out/y/cover.jpg") == "in in/y/cover.jpg")
        // Files that are there stay, and others are added.
        try Bytes.write(Array("mine".utf8), to: bench.folder.path("out/x/cover.jpg"))
        try FileManager.default.removeItem(atPath: bench.folder.path("out/y/cover.jpg"))
        let again = try bench.run(words + ["--wait"]).checked()
        #expect(again.outputText.hasSuffix("1 other file copied, 2 already there\n"), "\(again.outputText)")
        #expect(try text("out/x/cover.jpg") == "mine")
        let replaced = try bench.run(words + ["--wait", "--again", "--on-conflict", "replace"]).checked()
        #expect(replaced.outputText.hasSuffix("3 other files copied\n"), "\(replaced.outputText)")
        #expect(try text("out/x/cover.jpg") == "in in/x/cover.jpg")
        withExtendedLifetime(worker) {}
    }

    @Test func filesThatWouldBecomeOneAreRefused() throws {
        let words = ["submit", "-r", "in", "--to", "out/{stem}.flac", "--copy-files", "cover.jpg", "--wait"]
        let run = try bench.run(words)
        #expect(!run.succeeded && run.errorText.contains("would both become"), "\(run.errorText)")
        // An older output beside the sources is none of their companions.
        try Bytes.write(Array("old".utf8), to: bench.folder.path("in/x/a.flac"))
        let all = ["submit", "-r", "in", "--include", "*.wav", "--to", "out/{dir}/{stem}.flac", "--copy-files", "*"]
        let taken = try bench.run(all + ["--wait", "--dry-run"])
        #expect(!taken.succeeded && taken.errorText.contains("an output and "), "\(taken.errorText)")
        let early = try bench.run("submit", "in/x/a.wav", "--to", "out/{stem}.flac", "--copy-files", "cover.jpg")
        #expect(early.status == .exited(2) && early.errorText.contains("--copy-files needs --wait"))
        let elsewhere = ["submit", "in/x/a.wav", "--to", "away:{stem}.flac", "--copy-files", "cover.jpg", "--wait"]
        let refused = try bench.run(elsewhere)
        #expect(!refused.succeeded && refused.errorText.contains("is not on this machine"), "\(refused.errorText)")
    }

    /// `in/x/b.wav` is not submitted, and the source `in/y/b.wav` stays what it is, also under another name.
    @Test func copiesReplaceNoSource() throws {
        try Bytes.write(Array("other".utf8), to: bench.folder.path("in/x/b.wav"))
        try FileManager.default.createSymbolicLink(
            atPath: bench.folder.path("link"),
            withDestinationPath: bench.folder.path("in/y")
        )
        let words = ["submit", "in/x/a.wav", "in/y/b.wav", "--copy-files", "b.wav", "--wait", "--dry-run"]
        for folder in ["in/y", "link"] {
            let run = try bench.run(words + ["--to", folder + "/{stem}.flac", "--on-conflict", "replace"])
            #expect(!run.succeeded && run.errorText.contains("would replace"), "\(run.errorText)")
            // Without a wish to replace, the file is there already.
            _ = try bench.run(words + ["--to", folder + "/{stem}.flac"]).checked()
        }
    }

    /// Files of /proc state no length, as one that grows while it is copied states too little.
    @Test func filesThatChangeMeanwhileAreNotCopied() throws {
        let place = bench.folder.path("in/x/version.txt")
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: "/proc/version")
        let worker = try bench.startWorker()
        let words = ["submit", "in/x/a.wav", "--to", "out/{stem}.flac", "--copy-files", "*.txt", "--wait"]
        let run = try bench.run(words)
        #expect(!run.succeeded && run.errorText.contains("was changed while it was copied"), "\(run.errorText)")
        #expect(run.outputText.hasSuffix("1 other file copied\n"), "\(run.outputText)")
        #expect(try names("out") == ["a.flac", "notes.txt"])
        withExtendedLifetime(worker) {}
    }
}
