import Foundation
import TestSupport
import Testing

/// A test waits for an event. Where it pauses for a time or polls, the reason stands beside the pause.
struct PauseTests {
    /// A line that lets time pass, for grep and for Swift. A statement that sleeps for minutes until a test interrupts
    /// it is no pause.
    private static let pause =
        #"Task\.sleep\(|Thread\.sleep|nanosleep\(|usleep\(|sched_yield\(|Task\.yield\(|"#
        + #"poll\((nil|NULL), 0, [^-]|sleep[( ]0\."#

    @Test func everyPauseHasItsReason() throws {
        let root = try SourceTree().root
        // Swift's regular expressions would take a minute for all lines in a debug build.
        // The last of these patterns that fits a name decides.
        let kinds = ["swift", "py", "c"].map { "--include=*.\($0)" } + ["--exclude=PauseTests.swift"]
        let found = try Run.program("grep", ["-rnE", Self.pause, "Tests"] + kinds, folder: root.path).checked()
            .outputText
            .split(separator: "\n")
        #expect(found.count > 10)
        for line in found {
            let parts = line.split(separator: ":", maxSplits: 2)
            let number = try #require(Int(parts[1]))
            let text = try String(contentsOf: root.appending(path: String(parts[0])), encoding: .utf8)
            let near = text.split(separator: "\n", omittingEmptySubsequences: false)[max(0, number - 2)..<number]
            if !near.contains(where: hasComment) {
                Issue.record("\(parts[0]):\(number) pauses without a comment that says why")
            }
        }
    }

    @Test(arguments: [
        ("try await Task.sleep(for: .milliseconds(5))", true), ("usleep(20_000)", true), ("poll(nil, 0, 10)", true),
        ("    sleep 0.05", true), ("perform pg_sleep(0.02);", true), ("while true { sched_yield() }", true),
        ("select pg_sleep(600)", false), ("poll(&waited, 2, -1)", false), ("for (;;) poll(NULL, 0, -1);", false),
    ])
    func pausesAreRecognised(line: String, is: Bool) throws {
        #expect(try line.contains(Regex(Self.pause)) == `is`)
    }

    @Test(arguments: [
        ("// why", true), ("    # why", true), ("usleep(5)  // why", true), ("usleep(5)", false),
        ("let url = \"http://a\"", false),
    ])
    func commentsAreRecognised(line: String, is: Bool) { #expect(hasComment(line[...]) == `is`) }
}

private func hasComment(_ line: Substring) -> Bool { line.contains(/(^|\s)(\/\/|#)\s/) }
