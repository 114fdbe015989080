import Testing

@testable import Console

/// The number of columns that text occupies, and the escapes that keep it harmless on a terminal.
struct DisplayWidthTests {
    init() { Locale.useUTF8() }

    @Test(arguments: [
        ("", 0), ("talk.wav", 8), ("übung", 5), ("u\u{308}bung", 5), ("講演.wav", 8), ("한국어", 6), ("🎵", 2),
        ("e\u{301}\u{302}\u{303}", 1), ("\u{200B}", 0),
    ])
    func lettersHaveTheWidthThatTerminalsGiveThem(text: String, columns: Int) {
        #expect(text.displayWidth == columns)
    }

    @Test func paddingCountsColumns() {
        #expect("講演".padded(to: 6) == "講演  ")
        #expect("講演".aligned(to: 6) == "  講演")
        #expect("講演".padded(to: 3) == "講演")
    }

    @Test func shorteningNeverCutsALetterInHalf() {
        #expect("talk.wav".shortened(to: 8) == "talk.wav")
        #expect("talk.wav".shortened(to: 5) == "talk…")
        #expect("talk.wav".shortened(to: 5, unicode: false) == "talk~")
        #expect("講演講演".shortened(to: 4) == "講…")
        #expect("e\u{301}tude".shortened(to: 3) == "e\u{301}t…")
        #expect("talk".shortened(to: 0) == "")
        #expect("talk".shortened(to: 1) == "…")
        for width in 0...9 { #expect("a講b演c".shortened(to: width).displayWidth <= width) }
    }

    private static let escapedTexts: [(String, String)] = [
        ("plain", "plain"), ("two\nlines", "two\\u{a}lines"), ("\u{1B}[31mred", "\\u{1b}[31mred"),
        ("bell\u{7}", "bell\\u{7}"), ("\r", "\\u{d}"), ("\r\n", "\\u{d}\\u{a}"), ("\u{9B}2J", "\\u{9b}2J"),
        ("\u{7F}", "\\u{7f}"), ("gpj\u{202E}.exe", "gpj\\u{202e}.exe"), ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
        ("\u{200F}\u{61C}", "\\u{200f}\\u{61c}"), ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ("talk\u{200B}.wav", "talk\\u{200b}.wav"), ("\u{FEFF}talk\u{2060}\u{AD}", "\\u{feff}talk\\u{2060}\\u{ad}"),
        ("a\u{200D}b\u{200C}", "a\\u{200d}b\\u{200c}"), ("می\u{200C}خواهم", "می\u{200C}خواهم"),
        ("x\u{E0041}", "x\\u{e0041}"),
        ("👩\u{200D}🚀", "👩\u{200D}🚀"), ("e\u{301}", "e\u{301}"), ("tab\t", "tab\\u{9}"),
    ]

    @Test(arguments: escapedTexts)
    func whatCouldForgeALineIsEscaped(text: String, shown: String) {
        #expect(text.printable == shown)
    }

    @Test func wrappingBreaksAtSpaces() {
        #expect("one two three".wrapped(to: 7) == ["one two", "three"])
        #expect("one".wrapped(to: 1) == ["one"])
        #expect("".wrapped(to: 10) == [""])
        #expect("  one two".wrapped(to: 6) == ["  one", "  two"])
        #expect("two  spaces in a  name".wrapped(to: 80) == ["two  spaces in a  name"])
        #expect("講演 講演".wrapped(to: 8) == ["講演", "講演"])
    }

    @Test func pathsAreCutInTheMiddle() {
        let path = "podcasts:2024/spring/episode-114.wav"
        #expect(path.shortenedInside(to: 36) == path)
        #expect(path.shortenedInside(to: 22) == "podcast…pisode-114.wav")
        #expect(path.shortenedInside(to: 22, unicode: false) == "podcast~pisode-114.wav")
        #expect("講演講演講演講演".shortenedInside(to: 12).displayWidth <= 12)
        for width in 0..<40 { #expect(path.shortenedInside(to: width).displayWidth <= width) }
    }
}
