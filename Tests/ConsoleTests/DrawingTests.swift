import Conversion
import Testing

@testable import Console

/// Pictures of characters: braille, blocks, and ASCII.
struct DrawingTests {
    init() { Locale.useUTF8() }

    private func strip(_ marks: [Range<Double>], columns: Int) -> [String] {
        DrawingStyle.allCases.map { TimeStrip(marks: marks).text(columns: columns, style: $0) }
    }

    @Test func theStyleFollowsTheTerminal() {
        func style(_ environment: [String: String]) -> DrawingStyle {
            Outlet(descriptor: 1, colour: .never, environment: environment).drawingStyle
        }
        #expect(style(["LANG": "en_GB.UTF-8", "TERM": "xterm-256color"]) == .braille)
        #expect(style(["LANG": "en_GB.UTF-8", "TERM": "linux"]) == .blocks)
        #expect(style(["LC_ALL": "C", "LANG": "en_GB.UTF-8"]) == .ascii && style([:]) == .ascii)
    }

    @Test func marksStandAtTheirShareOfTheLine() {
        // Half of a character counts in braille.
        #expect(strip([0.25..<0.5], columns: 8) == ["⣀⣀⣿⣿⣀⣀⣀⣀", "▁▁██▁▁▁▁", "--##----"])
        #expect(strip([0.0625..<0.125], columns: 8) == ["⣸⣀⣀⣀⣀⣀⣀⣀", "█▁▁▁▁▁▁▁", "#-------"])
        #expect(strip([], columns: 4) == ["⣀⣀⣀⣀", "▁▁▁▁", "----"])
    }

    @Test func aMarkWithoutLengthAndOneBehindTheEndAreSeen() {
        #expect(strip([0.5..<0.5], columns: 4) == ["⣀⣀⣇⣀", "▁▁█▁", "--#-"])
        #expect(strip([1..<1], columns: 4) == ["⣀⣀⣀⣸", "▁▁▁█", "---#"])
        #expect(strip([7..<9], columns: 4) == ["⣀⣀⣀⣸", "▁▁▁█", "---#"])
        #expect(strip([-3..<(-2)], columns: 4) == ["⣇⣀⣀⣀", "█▁▁▁", "#---"])
        #expect(strip([0..<1], columns: 2) == ["⣿⣿", "██", "##"])
    }

    @Test func onlyMarksHaveTheColourOfErrors() {
        let line = TimeStrip(marks: [0.25..<0.5]).text(columns: 8, style: .ascii) { "<\($1.rawValue):\($0)>" }
        #expect(line == "<2:--><31:##><2:---->")
    }

    @Test func spansAreFilledFromLowToHigh() {
        let spans: [ClosedRange<Double>?] = [-1...1, -0.5...0.5, 0...0, nil]
        let picture = SpanPicture(spans, scale: -1...1)
        #expect(picture.lines(columns: 4, rows: 2, style: .ascii) == ["##  ", "### "])
        #expect(picture.lines(columns: 4, rows: 2, style: .blocks) == ["█▄  ", "█▀▀ "])
        // The second character is the blank of braille.
        #expect(picture.lines(columns: 2, rows: 2, style: .braille) == ["⣧\u{2800}", "⡟⠁"])
    }

    @Test func manySpansShareAColumnAndFewFillSeveral() {
        let many = SpanPicture((0..<100).map { 0...Double($0) }, scale: 0...99)
        #expect(many.lines(columns: 4, rows: 4, style: .ascii) == ["   #", "  ##", " ###", "####"])
        let one = SpanPicture([0...1], scale: 0...1)
        #expect(one.lines(columns: 3, rows: 1, style: .blocks) == ["███"])
        #expect(SpanPicture([], scale: 0...1).lines(columns: 2, rows: 1, style: .ascii) == ["  "])
    }

    @Test func valuesThatAreNoneAreDrawnAtTheBottom() {
        let odd = SpanPicture([-.infinity...(-.infinity), 5...9], scale: 0...1)
        #expect(odd.lines(columns: 2, rows: 2, style: .ascii) == [" #", "# "])
    }

    @Test func anAxisHasTicksAtUsualTimes() {
        let rows = TimeAxis(seconds: 60, columns: 40, usesUnicode: false).rows
        #expect(rows.times.text.trimmedAtEnd == "0:00      0:15      0:30      0:45")
        #expect(rows.marks.text == "+---------+---------+---------+---------+")
        #expect(TimeAxis(seconds: 60, columns: 40, usesUnicode: true).column(30) == 20)
        #expect(TimeAxis(seconds: .nan, columns: 40, usesUnicode: true).column(.infinity) == 40)
    }
}
