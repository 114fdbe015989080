import FuzzedTexts
import TestSupport
import Testing

/// Every text that commands, workers and rooms read from outside is taken or refused, whatever it says: it ends no process, and what
/// is written of it is read as the same again. `make fuzz` looks further, led by coverage.
struct FuzzedTextTests {
    private static let count = 4_000

    @Test func everySeedIsTaken() {
        for reader in FuzzedText.allCases {
            for seed in reader.seeds { #expect(FuzzedText.read(reader.input(seed.utf8)).isTaken, "\(reader): \(seed)") }
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: [15, 16]) func noTextEndsAReader(seed: Int) throws {
        let folder = try TemporaryFolder.create()
        let words = ["\(Self.count)", "\(seed)", folder.path("last")]
        let run = try Run.program(BuiltProgram.path("text-process"), words, limit: .seconds(240))
        guard run.succeeded else {
            let last = try Bytes.read(folder.path("last"))
            let reader = FuzzedText.allCases[Int(last[0])]
            let text = String(decoding: last.dropFirst(), as: UTF8.self)
            Issue.record("\(run.status) at \(reader): \(text.debugDescription); \(run.errorText)")
            return
        }
        var taken: [String: Int] = [:]
        for line in run.outputText.split(separator: "\n") {
            let parts = line.split(separator: " ").map(String.init)
            taken[parts[0]] = Int(parts[1])
        }
        // Not all are refused at the first letter.
        for reader in FuzzedText.allCases {
            let count = try #require(taken["\(reader)"])
            #expect(count > Self.count / 50, "\(reader): \(count)")
        }
    }
}
