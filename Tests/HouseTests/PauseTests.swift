import Foundation
import Testing

/// A test waits for an event. Where it pauses for a time or polls, the reason stands beside the pause.
struct PauseTests {
    @Test func everyPauseHasItsReason() throws {
        let tree = try SourceTree()
        let folder = tree.root.appending(path: "Tests")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { name in [".swift", ".py", ".c"].contains { name.hasSuffix($0) } && !name.hasSuffix(Self.own) }
        var count = 0
        for name in names.sorted() {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            for place in lines.indices where isPause(lines[place]) {
                count += 1
                let hasReason = hasComment(lines[place]) || (place > 0 && hasComment(lines[place - 1]))
                if !hasReason { Issue.record("Tests/\(name):\(place + 1) pauses without a comment that says why") }
            }
        }
        #expect(count > 10)
    }

    private static let own = "HouseTests/PauseTests.swift"

    @Test(arguments: [
        ("try await Task.sleep(for: .milliseconds(5))", true), ("usleep(20_000)", true), ("poll(nil, 0, 10)", true),
        ("    sleep 0.05", true), ("perform pg_sleep(0.02);", true), ("while true { sched_yield() }", true),
        ("select pg_sleep(600)", false), ("poll(&waited, 2, -1)", false), ("for (;;) poll(NULL, 0, -1);", false),
    ])
    func pausesAreRecognised(line: String, is: Bool) { #expect(isPause(line) == `is`) }

    @Test(arguments: [
        ("// why", true), ("    # why", true), ("usleep(5)  // why", true), ("usleep(5)", false),
        ("let url = \"http://a\"", false),
    ])
    func commentsAreRecognised(line: String, is: Bool) { #expect(hasComment(line) == `is`) }
}

/// Whether the line lets time pass. A statement that sleeps for minutes until a test interrupts it is not a pause.
private func isPause(_ line: String) -> Bool {
    line.contains(
        /Task\.sleep\(|Thread\.sleep|nanosleep\(|usleep\(|sched_yield\(|Task\.yield\(|poll\((nil|NULL), 0, [^-]|sleep[( ]0\./
    )
}

private func hasComment(_ line: String) -> Bool { line.contains(/(^|\s)(\/\/|#)\s/) }
