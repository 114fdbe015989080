import Testing

/// What a worker decides is a value, so that the lease model can drive it: no I/O, no threads, no clock, no chance.
struct DecisionTests {
    /// Modules that values need. `Ledger` is here for its values; its calls are `async`.
    private static let modules: Set<String> = ["Conversion", "Ledger"]

    @Test func decisionsAreMadeWithoutTheWorld() throws {
        let files = try SourceTree().swiftFiles(in: "Sources/WorkerRules")
        #expect(files.count > 5)
        for file in files {
            for found in SwiftScan(of: file.text).imports where !Self.modules.contains(found.module) {
                Issue.record("\(file.path):\(found.line) imports \(found.module)")
            }
            for (number, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                if let word = worldlyWord(in: line) { Issue.record("\(file.path):\(number + 1) uses \(word)") }
            }
        }
    }

    @Test(arguments: [
        ("let now = ContinuousClock.now", ".now"), ("    await ledger.claim()", "await"), ("Task { work() }", "Task"),
        ("private let state: Mutex<Int>", "Mutex"), ("let wait = Double.random(in: 0...1)", ".random(in:"),
        ("let wait = Double.random(in: 0...1, using: &dice)", nil), ("final class Session {", "class "),
        ("// A Task of Swift's, awaited now.", nil), ("package mutating func note(at now: Moment)", nil),
    ])
    func worldlyWordsAreRecognised(line: String, word: String?) { #expect(worldlyWord(in: line[...]) == word) }
}

/// A word by which code reaches for the world, outside comments.
private func worldlyWord(in line: Substring) -> String? {
    let code = line.prefix { $0 != "/" }
    if code.contains(".random(in:"), !code.contains("using:") { return ".random(in:" }
    return [".now", "await", "async", "Task", "Mutex", "Atomic", "class "].first { word in
        code.contains(word) && !code.contains(word + "able")
    }
}
