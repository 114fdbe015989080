import System
import TestSupport
import Testing

@testable import Command

/// Lists that hold millions of paths in little memory.
struct PackedTextsTests {
    /// More than two blocks, in which texts share beginnings that end within letters.
    private static let texts: [String] = (0..<700).map { number in
        switch number % 6 {
        case 0: "archive:in/2026/talk-\(number).wav"
        case 1: "archive:in/2026/talk-\u{E9}\(number).wav"
        case 2: "archive:in/2026/talk-\u{E8}\(number).wav"
        case 3: ""
        case 4: "archive:in/2026/e\u{301}-" + String(repeating: "x", count: number)
        default: "\u{1F3B5}\(number)"
        }
    }

    @Test func textsComeBackAsTheyWere() {
        var packed = PackedTexts()
        for text in Self.texts { packed.append(text) }
        #expect(packed.count == Self.texts.count)
        for (place, text) in Self.texts.enumerated() { #expect(Array(packed[place].utf8) == Array(text.utf8)) }
    }

    @Test func equalEntriesAreFoundByTheirHashes() {
        var table = EntryTable()
        var first: [String: Int] = [:]
        for (place, text) in Self.texts.enumerated() {
            // Few different hashes, so that most entries differ from others with their hash.
            let hash = text.utf8.count
            let known = table.entry(hash: hash) { Self.texts[$0] == text }
            #expect(known == first[text])
            guard known == nil else { continue }
            table.insert(place, hash: hash)
            first[text] = place
        }
        #expect(table.count == first.count)
    }

    @Test func foldersAreSortedAsStringsAre() throws {
        let folder = try TemporaryFolder.create()
        let plain = ["b.wav", "B.wav", "a-1.wav", "a.wav", "a 1.wav", "a10.wav", "a2.wav"]
        for names in [plain, plain + ["\u{E9}.wav", "e\u{301}2.wav", "\u{1F3B5}.wav", "z\u{301}.wav"]] {
            for name in names { try Bytes.write([], to: folder.path(name)) }
            var walk = FolderWalk(filter: NameFilter(includes: [], excludes: []))
            let listed = try walk.names(in: folder.path)
            #expect(listed == names.sorted())
            var visited: [String] = []
            try walk.run(folder.path) { visited.append($0) }
            #expect(visited == names.sorted())
        }
    }

    // MARK: - Progress

    @Test func progressTellsWhatIsDone() {
        #expect(SubmitProgress.words(found: 482_113) == "482,113 files found")
        let planned = SubmitProgress.Count(done: 120_000, total: 482_113)
        #expect(SubmitProgress.words(planned, "file", "planned") == "120,000 of 482,113 files planned")
        var sent = SubmitProgress.Count(done: 310_000, total: 482_113)
        #expect(SubmitProgress.words(sent: sent, passed: .milliseconds(500)) == "310,000 of 482,113 jobs prepared")
        #expect(
            SubmitProgress.words(sent: sent, passed: .seconds(10))
                == "310,000 of 482,113 jobs prepared  31,000 jobs/s  5 s left"
        )
        sent.done = sent.total
        let waiting = "482,113 jobs prepared; waiting until the ledger has added them"
        #expect(SubmitProgress.words(sent: sent, passed: .seconds(10)) == waiting)
    }

    @Test func jobsAreCountedAsTheyAreRead() {
        let progress = Latest(SubmitProgress.Count())
        let jobs = CountedRequests(base: Array(0..<300), count: 300, progress: progress)
        var reading = jobs.makeIterator()
        for _ in 0..<260 { _ = reading.next() }
        #expect(progress.value == SubmitProgress.Count(done: 256, total: 300))
        // Another try reads them again.
        #expect(Array(jobs) == Array(0..<300))
        #expect(progress.value == SubmitProgress.Count(done: 300, total: 300))
    }
}
