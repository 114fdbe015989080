import Conversion
import Testing

@testable import Media

/// Where chapters are in outputs that hold parts of a source.
@Suite struct ChapterPlanTests {
    private static func chapters(_ starts: [Int64], rate: Int = 1_000, end: Int64 = 1_000) -> [Chapter] {
        let ends = Array(starts.dropFirst()) + [end]
        return starts.indices.map { index in
            Chapter(
                start: MediaTime(frames: starts[index], rate: rate),
                end: MediaTime(frames: ends[index], rate: rate),
                title: "\(index + 1)"
            )
        }
    }

    private static func range(_ start: Int64, _ end: Int64) throws -> MediaTimeRange {
        try MediaTimeRange(start: MediaTime(frames: start, rate: 1_000), end: MediaTime(frames: end, rate: 1_000))
    }

    /// Title, start and end in milliseconds.
    private func plan(_ starts: [Int64], _ parts: [(Int64, Int64)]) throws -> [String] {
        let ranges = try parts.map { try Self.range($0.0, $0.1) }
        let planned = ChapterPlan.chapters(Self.chapters(starts), in: ranges, rate: 1_000)
        return planned.map { "\($0.title ?? "") \($0.startTicks(1_000) ?? -1)-\($0.endTicks(1_000) ?? -1)" }
    }

    @Test func wholeSourcesKeepTheirChaptersInOrder() throws {
        #expect(try plan([0, 400], []) == ["1 0-400", "2 400-1000"])
        let mixed = Array(Self.chapters([0, 400, 700]).reversed())
        #expect(ChapterPlan.chapters(mixed, in: [], rate: 1_000).map(\.title) == ["1", "2", "3"])
    }

    @Test func partsMoveChapters() throws {
        #expect(try plan([0, 400], [(300, 600)]) == ["1 0-100", "2 100-300"])
        #expect(try plan([0, 400], [(0, 100), (500, 600)]) == ["1 0-100", "2 100-200"])
        #expect(try plan([0, 400, 700], [(700, 900), (0, 450)]) == ["3 0-200", "1 200-600", "2 600-650"])
        // What lies before the first chapter is in none.
        #expect(try plan([200], [(100, 300)]) == ["1 100-200"])
    }

    @Test func partsOfOneChapterHaveNone() throws {
        #expect(try plan([0, 400], [(410, 500), (600, 700)]) == [])
        #expect(try plan([0, 400], [(400, 900)]) == [])
        #expect(try plan([0], [(100, 300)]) == [])
    }

    /// Two parts that follow each other and are of one chapter are one.
    @Test func chaptersGoOnAcrossParts() throws {
        #expect(try plan([0, 400], [(0, 100), (200, 300), (400, 500)]) == ["1 0-200", "2 200-300"])
    }

    /// Twenty hours of parts that begin and end between frames: every chapter is at its frame, and no error adds up.
    @Test func longBooksStayExact() throws {
        let rate = 44_100
        let count: Int64 = 1_200
        let minute = Int64(rate) * 60
        let source = Self.chapters((0..<count).map { $0 * minute }, rate: rate, end: count * minute)
        // An eleventh of a second of each minute is left out: 4,009.09 frames.
        let ranges = try (0..<count).map { index in
            let start = MediaTime(value: index * 660 + 1, timescale: 11)
            return try MediaTimeRange(start: start, end: MediaTime(value: (index + 1) * 660, timescale: 11))
        }
        let planned = ChapterPlan.chapters(source, in: ranges, rate: rate)
        #expect(planned.count == Int(count))
        let part = minute - 4_009
        for (index, chapter) in planned.enumerated() {
            let start = chapter.start.frames(atRate: rate)
            #expect(start?.frames == Int64(index) * part && start?.isExact == true, "\(index)")
        }
        // A clock of milliseconds is off by half a tick at most, and one of 100 ns by far less than a frame.
        let exact = (count - 1) * part
        #expect(planned.last?.startTicks(1_000) == (exact * 2_000 / Int64(rate) + 1) / 2)
        let fine = try #require(planned.last?.startTicks(10_000_000))
        #expect(MediaTime(value: fine, timescale: 10_000_000).frames(atRate: rate)?.frames == exact)
    }

    @Test func titlesAreCutBetweenLetters() {
        let chapter = Chapter(start: .zero, end: .zero, title: "až")
        #expect(chapter.shortTitle(bytes: 2) == [0x61])
        #expect(chapter.shortTitle(bytes: 3) == [0x61, 0xC5, 0xBE])
        #expect(Chapter(start: .zero, end: .zero).shortTitle(bytes: 9) == [])
    }

    @Test func commentsCountFromZero() {
        let chapter = Chapter(start: MediaTime(value: 72_000_001, timescale: 1_000), end: .zero, title: "Last")
        let tags = CommentChapters.tags([Chapter(start: .zero, end: .zero), chapter])
        let texts = tags.map { $0.key + "=" + $0.value }
        #expect(texts == ["CHAPTER000=00:00:00.000", "CHAPTER001=20:00:00.001", "CHAPTER001NAME=Last"])
    }
}
