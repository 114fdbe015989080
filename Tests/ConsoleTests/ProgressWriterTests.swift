import Foundation
import TestSupport
import Testing

@testable import Console

/// When progress appears.
struct ProgressWriterTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private struct Record: ProgressRecord {
        let passed: Duration
        var line: String { "line at \(passed)" }
        var values: [String] { [] }

        func bar(on outlet: Outlet) -> String { "bar at \(passed)" }
        func event(_ state: String) -> [String: String] { ["state": state] }
    }

    /// What is written in `style` when the work has taken each of `times`.
    private func shown(_ style: ProgressStyle, _ times: Duration...) throws -> String {
        let path = folder.path("shown-\(style.rawValue)")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let writer = ProgressWriter(style, outlet: Outlet(descriptor: descriptor, colour: .never, environment: [:]))
        for passed in times { writer.show(Record(passed: passed)) }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test func aBarAppearsAfterAFifthOfASecond() throws {
        #expect(try shown(.bar, .zero, .milliseconds(199)).isEmpty)
        #expect(try shown(.bar, .milliseconds(199), .milliseconds(200)).contains("bar at 0.2 seconds"))
    }

    @Test func aLineAppearsEveryTenSeconds() throws {
        #expect(try shown(.auto, .zero, .milliseconds(9_999)).isEmpty)
        let lines = try shown(.auto, .seconds(10), .seconds(19), .seconds(20)).split(separator: "\n")
        #expect(lines == ["line at 10.0 seconds", "line at 20.0 seconds"])
    }

    @Test func noneIsSilent() throws { #expect(try shown(.none, .seconds(100)).isEmpty) }
}
