import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// What tests of submitting need: files to submit, and what became of them.
extension LedgerBench {
    /// Where outputs go, and what they are.
    static let usual = ["--to", "out/{dir}/{stem}.mp3", "--preset", "podcast-mp3"]

    /// Empty files: nobody opens them here.
    func files(_ names: String...) throws {
        for name in names {
            let parent = (name as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder.path(parent), withIntermediateDirectories: true)
            try Bytes.write([], to: folder.path(name))
        }
    }

    /// So many empty files: `0.wav`, `1.wav`, and so on.
    func files(count: Int) throws {
        for number in 0..<count { try Bytes.write([], to: folder.path("\(number).wav")) }
    }

    func submit(_ words: String..., input: Run.Input = .nothing) throws -> Run {
        try run(["submit"] + words, input: input)
    }

    /// Each job's source and destination below this test's folder, in the order of the submission.
    func ways(batch: Int64 = 1) async throws -> [String] {
        let here = "local:" + folder.path.dropFirst() + "/"
        var ways: [String] = []
        for job in try await ledger.jobs(ofBatch: batch) {
            let story = try #require(try await ledger.story(of: job))
            let recipe = try Recipe(json: story.recipe)
            ways.append("\(recipe.sources[0].location) > \(recipe.outputs[0].location)".replacing(here, with: ""))
        }
        return ways
    }
}
