import Foundation
import Ledger
import TestSupport
import Testing

/// `submit --dry-run --probe` shows the total length, as pump rooms find it.
struct SubmitProbeTests {
    @Test func lengthsAreAddedUpExactly() async throws {
        let bench = try LedgerBench()
        for number in 0..<7 {
            let tone = Signal.tone(440, rate: 8_000, frames: 10_000 + number)
            try WAVFile.write(tone.pcm(.s16), to: bench.folder.path("\(number).wav"))
        }
        try bench.files("empty.wav")
        try Bytes.write(Array("no sound at all".utf8), to: bench.folder.path("text.mp3"))
        let plan = ["submit", "-r", ".", "--to", "out/{stem}.flac", "--dry-run", "--probe"]
        let lines = try bench.run(plan).checked().outputText.split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("9 files, ") && lines[0].contains("  ->  9 jobs in queue default, priority 0"))
        #expect(lines[1] == "  length      8.8 s of sound")
        #expect(lines[2] == "  unreadable  2 files would probably fail")
        #expect(lines[3].contains("/empty.wav: empty_input, ") && lines[4].contains("/text.mp3: "))
        #expect(lines.last == "nothing was submitted (--dry-run)")
        let record = try #require(
            try JSONSerialization.jsonObject(with: bench.run(plan + ["--json"]).checked().stdout) as? [String: Any]
        )
        let seconds: Double = 70_021 / 8_000
        #expect(record["audioSeconds"] as? Double == seconds)
        #expect(record["estimates"] as? Int == 0 && record["unknownLengths"] as? Int == 0)
        #expect((record["unreadable"] as? [String: Any])?["count"] as? Int == 2)
        #expect(try await bench.ledger.batches().isEmpty)
    }

    /// Terminals obey some characters that a location may hold. Here they are in the names of a film without sound
    /// and of a text file.
    @Test func namesOfStrangersAreTextAndNothingElse() throws {
        let bench = try LedgerBench()
        let poison = "red\u{202E}x\u{2066}error: two\u{200B}"
        let film = bench.folder.path("film.mp4")
        try FFmpeg.run(["-f", "lavfi", "-i", "testsrc=d=0.2:s=32x32", "-c:v", "mpeg4", film])
        try FileManager.default.moveItem(atPath: film, toPath: bench.folder.path("\(poison) film.mp4"))
        try Bytes.write(Array("no sound at all".utf8), to: bench.folder.path("\(poison) text.mp3"))
        for words in [[], ["--json"]] {
            let plan = ["submit", "-r", ".", "--to", "out/{stem}.flac", "--dry-run", "--probe"] + words
            let text = try bench.run(plan).checked().outputText
            #expect(words == ["--json"] || text.contains("  unreadable  2 files would probably fail\n"))
            #expect(text.contains(" film.mp4: ") && text.contains(" text.mp3: "), "\(text.debugDescription)")
            let scalars = text.unicodeScalars.filter { $0 != "\n" }
            let hidden = scalars.filter { [.control, .format].contains($0.properties.generalCategory) }
            #expect(hidden.isEmpty)
        }
    }

    @Test func listedPipesAreRefusedAndNotWaitedFor() throws {
        let bench = try LedgerBench()
        try #require(mkfifo(bench.folder.path("pipe.wav"), 0o600) == 0)
        try Bytes.write(Array("pipe.wav\n".utf8), to: bench.folder.path("list"))
        let words = ["submit", "--files-from", "list", "--to", "out/{stem}.flac", "--dry-run", "--probe"]
        // The FIFO has no writer: a command that opened it would block, and the test's time limit would kill it.
        let run = try bench.run(words)
        #expect(run.status == .exited(1))
        #expect(run.errorText == "error: pipe.wav is a pipe, not a file or a folder\n")
    }

    @Test func placesThatAreElsewhereAreCounted() throws {
        let bench = try LedgerBench()
        let run = try bench.run("submit", "far:a.wav", "--to", "far:out/{stem}.flac", "--dry-run", "--probe").checked()
        #expect(run.outputText.contains("  length      0.00 s of sound, without 1 file not on this machine\n"))
    }

    @Test func onlyAPlanProbes() throws {
        let bench = try LedgerBench()
        try bench.files("a.wav")
        let run = try bench.run("submit", "a.wav", "--to", "{stem}.flac", "--probe")
        #expect(run.status == .exited(2) && run.errorText.contains("--dry-run"))
    }
}
