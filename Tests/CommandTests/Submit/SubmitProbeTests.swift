import Foundation
import Ledger
import TestSupport
import Testing

/// `submit --dry-run --probe`: how long all of it is, as pump rooms find.
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
        #expect(lines[2] == "  unreadable  2 would fail, by the look of them")
        #expect(lines[3].contains("/empty.wav: empty_input, ") && lines[4].contains("/text.mp3: "))
        #expect(lines.last == "nothing was submitted (--dry-run)")
        let record = try #require(
            try JSONSerialization.jsonObject(with: bench.run(plan + ["--json"]).checked().stdout) as? [String: Any]
        )
        #expect(record["audioSeconds"] as? Double == 70_021.0 / 8_000)
        #expect(record["estimates"] as? Int == 0 && record["unknownLengths"] as? Int == 0)
        #expect((record["unreadable"] as? [String: Any])?["count"] as? Int == 2)
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func placesThatAreElsewhereAreCounted() throws {
        let bench = try LedgerBench()
        let run = try bench.run("submit", "far:a.wav", "--to", "far:out/{stem}.flac", "--dry-run", "--probe").checked()
        #expect(run.outputText.contains("  length      0.00 s of sound, without 1 that are not on this machine\n"))
    }

    @Test func onlyAPlanProbes() throws {
        let bench = try LedgerBench()
        try bench.files("a.wav")
        let run = try bench.run("submit", "a.wav", "--to", "{stem}.flac", "--probe")
        #expect(run.status == .exited(2) && run.errorText.contains("--dry-run"))
    }
}
