/// The size of a terminal.
package struct ScreenSize: Sendable, Hashable {
    package var columns: Int
    package var rows: Int

    package init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }
}

/// Draws successive frames on a terminal. It writes only the changed lines, in one piece, so that nothing flickers.
package struct FramePainter {
    private var shown: [String]?
    private var size = ScreenSize(columns: 0, rows: 0)

    package init() {}

    /// The text to write so that the screen shows `lines`; empty if it already does.
    package mutating func frame(_ lines: [String], on newSize: ScreenSize) -> String {
        if newSize != size { shown = nil }
        size = newSize
        let wanted = (0..<size.rows).map { row in
            row < lines.count ? lines[row].clipped(to: size.columns) : ""
        }
        var changes = ""
        for (row, line) in wanted.enumerated() where shown == nil || shown?[row] != line {
            changes += "\u{1B}[\(row + 1);1H" + line
            // After a full line the cursor stays on its last column, and erasing would delete that character.
            if line.shownWidth < size.columns { changes += "\u{1B}[K" }
        }
        shown = wanted
        // A terminal with synchronized output shows the frame at once; others ignore the two sequences.
        return changes.isEmpty ? "" : "\u{1B}[?2026h\u{1B}[0m" + changes + "\u{1B}[?2026l"
    }

    /// Call after something else was drawn: the next frame is drawn completely.
    package mutating func forget() { shown = nil }
}
