import FuzzedTexts
import TestSupport
import Testing

/// The readers of outside text in commands, workers and rooms accept or refuse any text. No text ends the process,
/// and what a reader accepts survives writing and reading again. `make fuzz` searches further, guided by coverage.
struct FuzzedTextTests {
    private static let count = 4_000

    @Test func everySeedIsTaken() {
        for reader in FuzzedText.allCases {
            for seed in reader.seeds { #expect(FuzzedText.read(reader.input(seed.utf8)).isTaken, "\(reader): \(seed)") }
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: [15, 16]) func noTextEndsAReader(seed: Int) throws {
        let folder = try TemporaryFolder.create()
        let words = ["texts", "\(Self.count)", "\(seed)", folder.path("last")]
        let run = try Run.program(BuiltProgram.testProgram, words, limit: .seconds(600))
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
        // The generator is useful only if a reader does not refuse everything at the first letter.
        for reader in FuzzedText.allCases {
            let count = try #require(taken["\(reader)"])
            #expect(count > Self.count / 50, "\(reader): \(count)")
        }
    }
}
