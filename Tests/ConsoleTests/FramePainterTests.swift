import Testing

@testable import Console

/// Each frame is painted over the last one.
struct FramePainterTests {
    init() { Locale.useUTF8() }

    private let size = ScreenSize(columns: 5, rows: 3)
    private let begin = "\u{1B}[?2026h\u{1B}[0m"
    private let end = "\u{1B}[?2026l"

    @Test func firstFrameIsDrawnWholeAndLaterOnesOnlyWhereTheyChanged() {
        var painter = FramePainter()
        #expect(
            painter.frame(["ab", "full!"], on: size)
                == begin + "\u{1B}[1;1Hab\u{1B}[K\u{1B}[2;1Hfull!\u{1B}[3;1H\u{1B}[K" + end
        )
        #expect(painter.frame(["ab", "full!"], on: size).isEmpty)
        #expect(painter.frame(["ab", "x"], on: size) == begin + "\u{1B}[2;1Hx\u{1B}[K" + end)
        #expect(painter.frame(["ab", "x", "y"], on: size) == begin + "\u{1B}[3;1Hy\u{1B}[K" + end)
    }

    @Test func anotherSizeOrALostScreenIsDrawnWhole() {
        var painter = FramePainter()
        let first = painter.frame(["ab"], on: size)
        #expect(painter.frame(["ab"], on: ScreenSize(columns: 6, rows: 3)) == first)
        painter.forget()
        #expect(painter.frame(["ab"], on: ScreenSize(columns: 6, rows: 3)) == first)
    }

    @Test func nothingIsDrawnBeyondTheScreen() {
        var painter = FramePainter()
        let frame = painter.frame(["longer than that", "", "", "below"], on: size)
        #expect(frame.contains("long…") && !frame.contains("longe") && !frame.contains("below"))
    }
}

/// Lines that contain colour marks.
struct PaintedTextTests {
    init() { Locale.useUTF8() }

    private func red(_ text: String) -> String { "\u{1B}[31m\(text)\u{1B}[0m" }

    @Test func marksTakeNoColumns() {
        #expect(("a" + red("bc") + "講").shownWidth == 5)
        #expect("".shownWidth == 0 && red("").shownWidth == 0)
        // A combining accent at the start of a name does not merge with the end of the mark before it.
        #expect(red("\u{308}abc").shownWidth == 3)
    }

    @Test func cutKeepsTheMarks() {
        #expect((red("abc") + "def").clipped(to: 6) == red("abc") + "def")
        #expect((red("abc") + "def").clipped(to: 5) == red("abc") + "d…")
        #expect((red("abc") + "def").clipped(to: 3) == red("ab…"))
        #expect((red("abc") + red("def")).clipped(to: 2) == red("a…") + red(""))
        #expect(red("abc").clipped(to: 0) == red(""))
        #expect("講演".clipped(to: 3) == "講…" && "abc".clipped(to: 2, unicode: false) == "a~")
    }

    @Test func foldingBreaksAtSpaces() {
        #expect("one two three".folded(to: 8, indent: 2) == ["one two", "  three"])
        #expect("\(red("one")) two three".folded(to: 8, indent: 2) == ["\(red("one")) two", "  three"])
        #expect("short".folded(to: 8, indent: 2) == ["short"])
        for line in "a verylongwordthatdoesnotfit b".folded(to: 8, indent: 9) { #expect(line.shownWidth <= 8) }
    }
}
