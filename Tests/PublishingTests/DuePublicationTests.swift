import Conversion
import Foundation
import Storage
import Testing

@testable import Ledger
@testable import Publishing

/// An order that the ledger hands out is read strictly: a wrong row publishes nothing.
struct DuePublicationTests {
    private static let digest = String(repeating: "ab", count: 32)
    private static let fence = Fence(job: 7, epoch: 2, lease: UUID())

    private func row(
        _ outputs: [String] = ["out:a.flac"],
        name: String = "an attempt",
        file: PublishedFile = PublishedFile(digest: digest, bytes: 5),
        further: [PublishedFile?] = []
    ) -> UnfinishedPublication {
        UnfinishedPublication(
            fence: Self.fence,
            recipe: Recipe(
                sources: [Recipe.Source(location: "in:a.wav")],
                outputs: outputs.map { Recipe.Output(location: $0, onConflict: .replace) }
            ),
            attemptName: name,
            file: file,
            further: further,
            since: .distantPast
        )
    }

    @Test func eachOutputGetsItsOrder() throws {
        let second = PublishedFile(digest: String(repeating: "cd", count: 32), bytes: 0)
        let due = try DuePublication(row(["out:a.flac", "far:b.mp3"], further: [second]))
        let orders = due.orders.compactMap(\.self)
        #expect(orders.map(\.location.description) == ["out:a.flac", "far:b.mp3"])
        #expect(orders.map(\.fingerprint.byteCount) == [5, 0])
        #expect(orders.allSatisfy { $0.attempt == AttemptName(Self.fence) && $0.onConflict == .replace })
        #expect(due.roots == ["out", "far"] && due.fence == Self.fence)
    }

    @Test func outputsThatAreLeftAloneHaveNone() throws {
        let nothing = SkippedOutput.publication(Self.fence)
        let file = PublishedFile(digest: nothing.digest, bytes: nothing.bytes)
        #expect(try DuePublication(row(name: nothing.attemptName, file: file)).orders == [nil])
        let second = PublishedFile(digest: Self.digest, bytes: 5)
        let due = try DuePublication(
            row(["out:a.flac", "far:b.mp3"], name: nothing.attemptName, file: file, further: [second])
        )
        #expect(due.orders.map { $0?.location.description } == [nil, "far:b.mp3"] && due.roots == ["far"])
        #expect(try DuePublication(row(["out:a.flac", "far:b.mp3"], further: [nil])).orders[1] == nil)
    }

    /// A scan wrote no file, so any process can complete it.
    @Test func aScanHasNoOrders() throws {
        var row = row(name: "")
        row.recipe = Recipe(scanning: .init(location: "in:a.wav"))
        row.file.bytes = 0
        let due = try DuePublication(row)
        #expect(due.orders == [] && due.roots == [] && due.fence == Self.fence)
        #expect([PublishOutcome]().together != .skipped)
        #expect([PublishOutcome.skipped, .skipped].together == .skipped)
    }

    @Test func wrongRowsAreRefused() throws {
        let file = PublishedFile(digest: Self.digest, bytes: 5)
        let wrong: [(UnfinishedPublication, String)] = [
            (row(further: [file]), "2 outputs"), (row(["out:a.flac", "out:b.flac"]), "1 output"),
            // A file without a digest, and a digest that is cut, or not in hexadecimal.
            (row(file: PublishedFile(digest: "", bytes: 5)), "is not a SHA-256"),
            (row(file: PublishedFile(digest: String(Self.digest.dropLast()), bytes: 5)), "is not a SHA-256"),
            (row(file: PublishedFile(digest: String(Self.digest.dropLast()) + "g", bytes: 5)), "is not a SHA-256"),
            (row(["out:../a.flac"]), ""), (row(["a.flac"]), ""),
        ]
        for (row, why) in wrong {
            do throws(StorageError) {
                _ = try DuePublication(row)
                Issue.record("it was taken: \(row)")
            } catch {
                #expect(why.isEmpty || error.detail.contains(why), "\(error)")
            }
        }
    }
}
