import Foundation
import TestSupport
import Testing

/// The commands in the README and the first guide work in the order in which the pages show them.
@Suite(.serialized)
struct GuideTests {
    private static let guides = ["../README.md", "getting-started.md"]

    private static func page(_ name: String) throws -> GuidePage {
        try GuidePage(String(decoding: try Bytes.read(Documentation.path(name)), as: UTF8.self))
    }

    @Test(arguments: guides)
    func everyCommandWorks(_ name: String) throws {
        let page = try Self.page(name)
        let runner = try GuideRunner()
        if name != "operations.md" { try runner.addScratched() }
        try runner.run(page)
    }

    /// The commands that a test cannot run because they change the machine or build. An addition needs a reason on
    /// its page.
    @Test func fewCommandsAreLeftToPeople() throws {
        var left: [String] = []
        for name in Self.guides {
            for block in try Self.page(name).blocks {
                guard case .byHand(let why) = block.manner else { continue }
                #expect(!why.isEmpty)
                left += block.lines
            }
        }
        #expect(
            left == [
                "make demo", "make test", "make build", "sudo make install",
                "sudo -u postgres createuser --createrole --pwprompt sluice",
                "sudo -u postgres createdb --owner sluice audio",
            ]
        )
    }

    /// A command outside these blocks would never be tested.
    @Test func noCommandStandsOutsideOfThat() throws {
        let folder = (Documentation.path("x") as NSString).deletingLastPathComponent
        let pages = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".md") }
        var strays: [String: [String]] = [:]
        for name in pages + ["../README.md", "../CONTRIBUTING.md", "../deploy/README.md", "../migrations/README.md"] {
            let found = try Self.page(name).strays
            if !found.isEmpty { strays[name] = found.map { $0.trimmingCharacters(in: .whitespaces) } }
        }
        // The benches take an hour, and Tests/Terminal tests completion in real shells.
        #expect(strays.keys.sorted() == ["benchmarks.md", "command.md"])
        #expect(strays["benchmarks.md"]?.allSatisfy { $0.hasPrefix("make bench") } == true)
        #expect(strays["command.md"]?.allSatisfy { $0.contains("sluice completion ") } == true)
    }
}
