import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Compares outputs with what the ledger recorded, on real files that a real worker made.
struct CheckTests {
    let bench: LedgerBench
    private static let submit = ["submit", "-r", "in", "--to", "out/{dir}/{stem}.flac"]
    private static let names = ["a", "b", "c", "d"]

    init() throws {
        bench = try LedgerBench()
        for (place, name) in Self.names.enumerated() {
            try bench.sound("in/\(name).wav", hertz: 440 + 10 * Double(place))
        }
    }

    private func output(_ name: String) -> String { bench.folder.path("out/\(name).flac") }

    /// The kind of each finding and the file name of its output.
    private func findings(_ words: String...) throws -> [String] {
        try bench.records(["check"] + words).compactMap { record in
            guard let kind = record["finding"] as? String, let place = record["destination"] as? String else {
                return nil
            }
            return "\(kind) \((place as NSString).lastPathComponent)"
        }.sorted()
    }

    @Test func eachKindOfDamageIsSaidAndRepaired() throws {
        let worker = try bench.startWorker()
        _ = try bench.run(Self.submit + ["--wait"]).checked()
        let whole = try Self.names.map { try Bytes.read(output($0)) }
        let run = try bench.run("check", "--all").checked()
        #expect(
            run.outputText.hasPrefix("4 outputs checked, ") && run.outputText.hasSuffix(": 4 unchanged\n")
        )

        try FileManager.default.removeItem(atPath: output("a"))
        #expect(truncate(output("b"), 100) == 0)
        let flipped = whole[2][1_000] ^ 1
        try Bytes.overwrite(output("c"), at: 1_000, with: [flipped])
        let damaged = try bench.run("check", "--batch", "1")
        #expect(damaged.status == .exited(3))
        #expect(
            damaged.outputText.contains("1 unchanged, 1 missing, 1 with a different size, 1 with different content\n")
        )
        #expect(try findings("--all") == ["digest c.flac", "missing a.flac", "size b.flac"])

        // There is no terminal for the confirmation, so the command refuses before it reads any file.
        let unasked = try bench.run("check", "--all", "--repair")
        #expect(unasked.status == .exited(2) && unasked.outputText.isEmpty)
        let repair = try bench.run("check", "--all", "--repair", "--yes")
        #expect(repair.status == .exited(3))
        #expect(repair.outputText.hasSuffix("batch 2 \"repair\"  3 jobs\n"))
        #expect(try bench.run("wait", "--batch", "2").checked().outputText == "batch 2 \"repair\"  3 completed\n")
        #expect(try bench.run("check", "--all").status == .exited(0))
        #expect(try Self.names.map { try Bytes.read(output($0)) } == whole)
        // A new submission recognises the repaired outputs as its own.
        #expect(try bench.run(Self.submit).checked().outputText == "nothing to submit: 4 unchanged\n")
        withExtendedLifetime(worker) {}
    }

    @Test func anOutputThatALaterJobReplacedIsComparedWithThatJob() throws {
        let worker = try bench.startWorker()
        _ = try bench.run(Self.submit + ["--wait"]).checked()
        try bench.sound("in/a.wav", hertz: 1_000)
        _ = try bench.run(Self.submit + ["--wait"]).checked()
        #expect(try bench.run("check", "--batch", "1").status == .exited(0))
        // Five jobs made four outputs: one of them is shared.
        let all = try bench.run("check", "--all").checked()
        #expect(all.outputText.hasPrefix("4 outputs checked, ") && all.outputText.hasSuffix(": 4 unchanged\n"))
        try Bytes.overwrite(output("a"), at: 1_000, with: [0x55, 0xAA])
        let damaged = try bench.run("check", "--all")
        #expect(damaged.outputText.contains("\n4 outputs checked, "))
        #expect(damaged.outputText.hasSuffix(": 3 unchanged, 1 with different content\n"), "\(damaged.outputText)")
        let records = try bench.records("check", "--all").filter { $0["finding"] != nil }
        #expect(records.count == 1 && records[0]["job"] as? Int == 5)
        withExtendedLifetime(worker) {}
    }

    @Test func whatIsBeingMadeAgainIsNotSubmittedTwice() async throws {
        let worker = try bench.startWorker()
        _ = try bench.run(Self.submit + ["--wait"]).checked()
        worker.signal(SIGTERM)
        try worker.ends(with: .exited(0))
        try FileManager.default.removeItem(atPath: output("a"))
        _ = try bench.run("check", "--all", "--repair", "--yes")
        let again = try bench.run("check", "--all", "--repair", "--yes")
        #expect(again.status == .exited(3))
        #expect(again.outputText.contains("a job for it is in progress"))
        #expect(try await bench.ledger.batches().map(\.jobs.total) == [1, 4])
        // An output that is being published at this moment is not reported as damaged.
        let id = try await bench.worker(abilities: ["root:local", "codec:flac"])
        let fence = try #require(try await bench.claim(1, for: id).first)
        let publication = Publication(fence, attemptName: ".x", digest: String(repeating: "0", count: 64), bytes: 1)
        #expect(try await bench.ledger.publish([publication]) == [.done])
        let busy = try bench.run("check", "--all")
        #expect(busy.status == .exited(0))
        #expect(busy.errorText.contains("1 output being replaced by running jobs: not checked\n"))
    }

    @Test func rootsThatAreElsewhereAreToldAndNotGuessed() async throws {
        let words = ["submit", "-r", "in", "--root", "in=in", "--to", "far:{stem}.flac"]
        _ = try bench.run(words).checked()
        let id = try await bench.worker(abilities: ["root:in", "root:far", "codec:flac"])
        for fence in try await bench.claim(4, for: id) { try await bench.complete(fence) }
        let run = try bench.run("check", "--all")
        #expect(run.status == .exited(9))
        #expect(run.errorText.contains("4 outputs are under roots that are not on this machine (far) and not checked"))
        // The folder of a root does not exist: its outputs do not count as missing.
        #expect(try bench.run("check", "--all", "--root", "far=nowhere").status == .exited(9))
        #expect(try bench.run("check", "--all", "--root", "far=in").status == .exited(3))
    }

    @Test func wordsThatChooseNothingAreWrongUse() throws {
        #expect(try bench.run("check").status == .exited(2))
        #expect(try bench.run("check", "--all", "--batch", "1").status == .exited(2))
        #expect(try bench.run("check", "--batch", "7").status == .exited(4))
        #expect(try bench.run("check", "--all").status == .exited(9))
    }

    @Test(arguments: ["plain", "json"])
    func progressIsForProgramsToo(style: String) async throws {
        let worker = try bench.startWorker()
        _ = try bench.run(Self.submit + ["--wait"]).checked()
        let run = try bench.run("check", "--all", "--progress", style).checked()
        let last =
            style == "plain" ? "done=4\ntotal=4\ndamaged=0\nprogress=end\n" : #""state":"completed","total":4}"# + "\n"
        #expect(run.errorText.hasSuffix(last))
        withExtendedLifetime(worker) {}
    }
}
