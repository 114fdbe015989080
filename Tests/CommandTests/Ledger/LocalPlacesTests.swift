import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// Sources are named, and shown, as the user's shell knows them.
struct LocalPlacesTests {
    private let bench: LedgerBench
    private let folder: String

    init() throws {
        bench = try LedgerBench()
        try bench.files("talks/2024/a.wav", "talks/b.wav", "talks2/c.wav")
        folder = bench.folder.path("")
    }

    private func submit() throws {
        let words = ["submit", "-r", "talks", "talks2", "--to", "out/{stem}.flac"]
        _ = try bench.run(words).checked()
    }

    private func ids(_ words: String...) throws -> Int {
        try bench.run(["jobs", "-q"] + words).checked().outputText.split(separator: "\n").count
    }

    @Test func aSourceIsNamedByItsPath() throws {
        try submit()
        #expect(try ids("--source", "talks") == 2)
        #expect(try ids("--source", "talks/") == 2)
        #expect(try ids("--source", "./talks/2024/../b.wav") == 1)
        #expect(try ids("--source", "\(folder)talks2/c.wav") == 1)
        #expect(try ids("--source", "talks2") == 1)
        #expect(try ids("--source", "/nowhere") == 0)
        #expect(try ids("--source", ".") == 3)
        let whole = try bench.records("jobs").compactMap { $0["source"] as? String }
        let location = try #require(whole.first { $0.hasSuffix("talks/b.wav") })
        #expect(location.hasPrefix("local:"))
        #expect(try ids("--source", location) == 1)
    }

    @Test func sourcesBelowTheCurrentFolderAreShownByTheirPaths() throws {
        try submit()
        let table = try bench.output("jobs")
        #expect(table.contains("  talks/2024/a.wav  ") && table.contains("  talks2/c.wav  "))
        #expect(!table.contains("local:"))
        // Programs get locations.
        #expect(try bench.output("jobs", "--json").contains("local:"))
    }

    /// A list must not fail because of the folder in which it is asked for.
    @Test func aFolderThatIsGoneShowsLocations() throws {
        try submit()
        let script = "mkdir gone; cd gone; rmdir ../gone; exec \(Sluice.path) jobs"
        let run = try Run.program(
            "sh",
            ["-c", script],
            environment: Sluice.environment(bench.environment),
            folder: bench.folder.path("")
        )
        #expect(try run.checked().outputText.contains("local:"))
    }
}
