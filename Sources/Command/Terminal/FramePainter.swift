/// How many columns and lines a terminal has.
struct ScreenSize: Sendable, Hashable {
    var columns: Int
    var rows: Int
}

/// Draws frames over one another: only the lines that changed, in one piece, so that nothing flickers.
struct FramePainter {
    private var shown: [String]?
    private var size = ScreenSize(columns: 0, rows: 0)

    /// What to write so that `lines` stand on the screen; nothing if they already do.
    mutating func frame(_ lines: [String], on newSize: ScreenSize) -> String {
        if newSize != size { shown = nil }
        size = newSize
        let wanted = (0..<size.rows).map { row in
            row < lines.count ? lines[row].clipped(to: size.columns) : ""
        }
        var changes = ""
        for (row, line) in wanted.enumerated() where shown == nil || shown?[row] != line {
            changes += "\u{1B}[\(row + 1);1H" + line
            // Behind a full line the cursor waits on its last column, and erasing would take that away.
            if line.shownWidth < size.columns { changes += "\u{1B}[K" }
        }
        shown = wanted
        // A terminal that knows how shows all of it at once; others ignore the two marks.
        return changes.isEmpty ? "" : "\u{1B}[?2026h\u{1B}[0m" + changes + "\u{1B}[?2026l"
    }

    /// The screen holds something else now: the next frame is drawn whole.
    mutating func forget() { shown = nil }
}
