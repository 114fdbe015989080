import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Sources and destinations of the longest paths that the kernel accepts.
struct LongPathTests {
    /// A path of `count` bytes, from random letters that do not compress.
    private static func path(_ count: Int, seed: UInt64) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-".utf8)
        var generator = SeededGenerator(seed: seed)
        let bytes = (0..<count).map { place in
            place % 200 == 199 ? UInt8(ascii: "/") : letters[generator.whole(in: 0..<letters.count)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func recipe(_ source: String, _ destination: String) -> Recipe {
        Recipe(from: Recipe.Source(location: source), to: Recipe.Output(location: destination))
    }

    @Test func pathsOfTheKernelsLengthGoThroughALife() async throws {
        let lab = try await LedgerLab()
        let source = "in:" + Self.path(4_095, seed: 1)
        let destination = "out:" + Self.path(4_090, seed: 2) + ".flac"
        // Others beside it: one that differs only in its last letter, and short ones.
        let twin = String(source.dropLast()) + (source.hasSuffix("x") ? "y" : "x")
        let recipes = [
            Self.recipe("in:short.wav", "out:short.flac"), Self.recipe(source, destination),
            Self.recipe(twin, "out:twin.flac"), Self.recipe("in:tall.wav", "out:tall.flac"),
        ]
        let receipt = try await lab.ledger.submit(Submission(), recipes: recipes)
        #expect(receipt.jobCount == 4)
        let job = receipt.firstJob + 1

        #expect(try await lab.ledger.jobs().jobs.map(\.source) == recipes.reversed().map { $0.sources[0].location })
        let both = [source, twin].sorted()
        let cases: [(prefix: String, found: [String])] = [
            (source, [source]), (String(source.dropLast()), both), (String(source.prefix(700)), both),
            (String(source.prefix(300)), both), ("in:t", ["in:tall.wav"]),
        ]
        for (prefix, found) in cases {
            for states in [nil, [JobState.waiting]] {
                let filter = JobFilter(states: states, sourcePrefix: prefix)
                #expect(try await lab.ledger.jobs(matching: filter).jobs.map(\.source).sorted() == found)
                #expect(try await lab.ledger.count(matching: filter) == found.count)
                // Read the same in pages of one, by cursor.
                let first = try await lab.ledger.jobs(matching: filter, limit: 1)
                var paged = first.jobs
                if let next = first.next {
                    paged += try await lab.ledger.jobs(matching: filter, after: next, limit: 1).jobs
                }
                #expect(paged.map(\.source).sorted() == found)
            }
        }
        let story = try #require(try await lab.ledger.story(of: job))
        #expect(try Recipe(json: story.recipe) == recipes[1])

        let worker = try await lab.worker()
        let claims = try await lab.claim(4, for: worker)
        let claim = try #require(claims.first { $0.fence.job == job })
        #expect(claim.recipe.sources[0].location == source && claim.recipe.outputs[0].location == destination)
        #expect(try await lab.ledger.publish([LedgerLab.publication(claim.fence)]) == [.done])
        #expect(try await lab.ledger.finish([claim.fence]) == [.done])
        #expect(try await lab.ledger.makers(of: [RecordedOutput(at: destination)])[0].map(\.job) == [job])
        #expect(try await lab.ledger.outputs().outputs.map(\.destination) == [destination])
        let done = JobFilter(states: [.completed], sourcePrefix: String(source.prefix(3_000)))
        #expect(try await lab.ledger.jobs(matching: done).jobs.map(\.job) == [job])
        let failed = AttemptFailure(claims[0].fence, LedgerLab.failure(.permanent))
        #expect(try await lab.ledger.fail([failed]) == [.done])
    }

    /// Large submissions use COPY.
    @Test func manyLongPathsComeAndAreFoundByTheirFolders() async throws {
        let lab = try await LedgerLab()
        let folder = "in:" + Self.path(3_800, seed: 3)
        let recipes = (0..<2_000).map { Self.recipe("\(folder)/\($0).wav", "out:\($0).flac") }
        _ = try await lab.ledger.submit(Submission(), recipes: recipes)
        let filter = JobFilter(sourcePrefix: folder + "/1")
        #expect(try await lab.ledger.count(matching: filter) == 1_111)
        var found: Set<String> = []
        var cursor: JobCursor?
        repeat {
            let page = try await lab.ledger.jobs(matching: filter, after: cursor, limit: 100)
            #expect(found.isDisjoint(with: page.jobs.map(\.source)))
            found.formUnion(page.jobs.map(\.source))
            cursor = page.next
        } while cursor != nil
        #expect(found.count == 1_111)
    }
}
