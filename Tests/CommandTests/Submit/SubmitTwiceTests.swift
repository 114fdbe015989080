import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A repeated request adds nothing twice, however the first one ended.
struct SubmitTwiceTests {
    let bench: LedgerBench

    init() throws { bench = try LedgerBench() }

    @Test func sameRequestAddsNothing() async throws {
        try bench.files("in/a.wav", "in/b.wav")
        _ = try bench.run(["submit", "-r", "in", "-q"] + LedgerBench.usual).checked()
        // Part of the work is done by now, and its output is no conflict.
        try bench.files("out/a.mp3")
        let again = try bench.run(["submit", "-r", "in", "-q"] + LedgerBench.usual).checked()
        #expect(again.outputText == "1\n")
        #expect(again.errorText == "note:  this was submitted before; nothing was added; --again submits it again\n")
        #expect(try await bench.ledger.batches().count == 1)
        let words = ["submit", "-r", "in", "-q", "--again", "--on-conflict", "skip"] + LedgerBench.usual
        #expect(try bench.run(words).checked().outputText == "2\n")
        #expect(try bench.run(words).checked().outputText == "3\n")
    }

    @Test func anotherRecipeIsAnotherRequest() async throws {
        try bench.files("in/a.wav", "in/b.wav")
        let plain = ["submit", "-r", "in"] + LedgerBench.usual
        _ = try bench.run(plain).checked()
        let wishes = [
            ["--bit-rate", "64k"], ["--from", "1"], ["--tag", "title=x"], ["--verify"], ["--on-damage", "skip"],
            ["--track", "1"],
        ]
        for words in wishes {
            let other = try bench.run(plain + words).checked()
            #expect(!other.errorText.contains("nothing was added"), "\(words)")
            #expect(try bench.run(plain + words).checked().errorText.contains("nothing was added"), "\(words)")
        }
        #expect(try await bench.ledger.batches().count == 1 + wishes.count)
    }

    /// The same work at another time, or for fewer files, counts as the same: it is already waiting.
    @Test func anotherWayToTheSameWorkAddsNothing() async throws {
        try bench.files("in/a.wav", "in/b.wav")
        let plain = ["submit", "-r", "in"] + LedgerBench.usual
        _ = try bench.run(plain).checked()
        let wishes = [
            ["--queue", "other"], ["--priority", "1"], ["--weight", "7"], ["--max-attempts", "2"], ["--run-at", "2h"],
            ["--on-conflict", "skip"],
        ]
        for words in wishes {
            #expect(try bench.run(plain + words).checked().errorText.contains("nothing was added"), "\(words)")
        }
        let fewer = try bench.run(plain + ["--exclude", "b.wav"]).checked()
        #expect(fewer.outputText == "nothing to submit: 1 already waiting or running\n")
        #expect(try await bench.ledger.batches().count == 1)
    }

    @Test func keyStandsForOneRequest() async throws {
        try bench.files("in/a.wav", "in/b.wav")
        let words = ["submit", "--key", "night-1"] + LedgerBench.usual
        #expect(try bench.run(words + ["in/a.wav"]).checked().outputText == "batch 1  1 job\n")
        #expect(try bench.run(words + ["in/a.wav"]).checked().errorText.contains("nothing was added\n"))
        let other = try bench.run(words + ["in/b.wav"])
        #expect(other.status == .exited(1))
        #expect(
            other.errorText.hasPrefix(
                "error: the key night-1 was used for a different submission, batch 1; nothing was submitted\n"
            )
        )
        #expect(try await bench.ledger.batches().map(\.jobs.total) == [1])
    }

    @Test func submissionThatIsStoppedSaysWhatToDo() async throws {
        try bench.files(count: 3_000)
        let words = ["submit", "-r", ".", "-q"] + LedgerBench.usual
        // A lock holds the command up, so that the signal arrives in the middle of its work.
        let locked = try await bench.holdBatches()
        let running = try RunningSluice(words, in: bench.folder, environment: bench.environment)
        try await locked.untilASessionWaits()
        running.signal(SIGINT)
        try running.ends(with: .signalled(SIGINT))
        #expect(
            running.errorText == "stopped by Ctrl-C; run the command again to continue: nothing is submitted twice\n"
        )
        try locked.letGo()
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func interruptedSubmissionLeavesNothingAndIsRepeated() async throws {
        try bench.files(count: 3_000)
        let words = ["submit", "-r", ".", "-q"] + LedgerBench.usual
        var interrupted = 0
        // The delays make the signal arrive at different stages: walking, connecting, sending, or done.
        for milliseconds in [0, 20, 60, 150, 400] {
            let running = try RunningSluice(words, in: bench.folder, environment: bench.environment)
            let moment = ContinuousClock.now + .milliseconds(milliseconds)
            try running.wait(until: { ContinuousClock.now >= moment }, for: "its moment")
            running.signal(SIGKILL)
            if try running.end() == .signalled(SIGKILL) { interrupted += 1 }
            let batches = try await bench.ledger.batches()
            #expect(batches.count <= 1 && batches.allSatisfy { $0.jobs.total == 3_000 })
        }
        #expect(interrupted > 0)
        let last = try bench.run(words).checked().outputText
        #expect(try await bench.ledger.batches().map { "\($0.batch) \($0.jobs.total)" } == ["\(last.dropLast()) 3000"])
    }
}
