import Conversion
import Testing

@testable import Command

/// Points in the forms of other programs.
struct PointFormTests {
    private func columns(_ text: String, source: String = "a.wav") -> String? {
        let point = SourcePoint(.cue, at: 4_000, text: text)
        let report = PointReport(sampleRateHz: 8_000, frames: 8_000, points: [point])
        return PointForm.columns(report, source: source).first
    }

    private static let texts: [(text: String, column: String)] = [
        ("plain", "plain"), ("a, b", "\"a, b\""), ("say \"so\"", "\"say \"\"so\"\"\""), ("\"", "\"\"\"\""),
        // With a mark that is combined with it, a comma or a quotation mark is another character.
        ("a,\u{301}b", "\"a,\u{301}b\""), ("a\"\u{301}b", "\"a\"\"\u{301}b\""), ("\u{301}a", "\u{301}a"),
        ("two\nlines", "two\\u{a}lines"), ("a\tb", "a\\u{9}b"),
    ]

    @Test(arguments: texts) func columnsAreQuotedWhereTheyNeedIt(text: String, column: String) throws {
        let line = try #require(columns(text))
        let expected = "a.wav,cue,0.500000000,4000,0,8000,," + column + ","
        #expect(Array(line.utf8) == Array(expected.utf8))
        let named = try #require(columns("", source: text))
        #expect(Array(named.utf8) == Array((column + ",cue,0.500000000,4000,0,8000,,,").utf8))
    }

    /// Audacity separates columns with tabs, and labels with line ends.
    @Test func labelIsOneLineOfThreeColumns() {
        let points = [SourcePoint(.region, at: 1, frames: 2, text: "a\tb\nc")]
        let labels = PointForm.labels(PointReport(sampleRateHz: 3, frames: 3, points: points))
        #expect(labels == ["0.333333\t1.000000\tregion: a\\u{9}b\\u{a}c"])
    }
}
