import Ledger
import Testing

@testable import Command

/// By what a book is known to have changed.
struct BookStampTests {
    private static let (old, new) = (1_763_000_000_123_456_789 as Int64, 1_764_000_000_123_456_789 as Int64)

    private func stamp(_ files: (String, Int64, Int64)...) -> SourceStamp? {
        SourceStamp.whole(files.map { ($0.0, SourceStamp(bytes: $0.1, modified: $0.2)) })
    }

    @Test func itHasTheSizeOfAllFilesAndTheLatestTime() throws {
        let whole = try #require(stamp(("1.mp3", 5, Self.new), ("2.mp3", 7, Self.old)))
        #expect(whole.bytes == 12)
        #expect(abs(whole.modified - Self.new) < 2_000_000)
        #expect(stamp(("1.mp3", 5, Self.new), ("2.mp3", 7, Self.old)) == whole)
        #expect(stamp() == nil)
    }

    /// The usual way to mend an order that is wrong.
    @Test func filesThatExchangeTheirNamesChangeIt() {
        let before = stamp(("1.mp3", 5, Self.new), ("2.mp3", 7, Self.old), ("3.mp3", 1, Self.old))
        #expect(stamp(("1.mp3", 7, Self.old), ("2.mp3", 5, Self.new), ("3.mp3", 1, Self.old)) != before)
        #expect(stamp(("2.mp3", 7, Self.old), ("1.mp3", 5, Self.new), ("3.mp3", 1, Self.old)) != before)
        #expect(stamp(("1.mp3", 5, Self.new), ("2.mp3", 7, Self.old), ("3.mp3", 1, Self.old - 1)) != before)
    }
}
