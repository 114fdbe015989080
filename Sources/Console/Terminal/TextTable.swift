/// Rows under headings, at most as wide as the outlet.
package struct TextTable {
    package struct Column {
        package let title: String
        package let isNumber: Bool
        /// Whether it is narrowed before the others, down to eight columns, if a line is too long.
        package let isElastic: Bool
        /// Whether it may be dropped, the last such column first, before others must be cut.
        package let mayGo: Bool
        /// Whether its texts are cut in the middle: the end of a path matters most.
        package let keepsEnd: Bool

        package init(
            title: String,
            isNumber: Bool = false,
            isElastic: Bool = false,
            mayGo: Bool = false,
            keepsEnd: Bool = false
        ) {
            (self.title, self.isNumber, self.isElastic) = (title, isNumber, isElastic)
            (self.mayGo, self.keepsEnd) = (mayGo, keepsEnd)
        }
    }

    /// A cell with an optional colour.
    package struct Cell: ExpressibleByStringInterpolation {
        package let text: String
        package var ink: Ink?

        package init(_ text: String, _ ink: Ink? = nil) {
            self.text = text.printable
            self.ink = ink
        }

        package init(stringLiteral text: String) { self.init(text) }
    }

    package let columns: [Column]
    private var rows: [[Cell]] = []

    package init(_ columns: [Column]) { self.columns = columns }

    package mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// The lines for `outlet`; cut only on a terminal.
    package func lines(for outlet: Outlet, headed: Bool = true) -> [String] {
        let width = outlet.isTerminal ? outlet.width : nil
        return lines(width: width, unicode: outlet.usesUnicode, headed: headed, paint: outlet.paint)
    }

    /// The lines, cut to `width` columns. Each column keeps at least three, even if a line is then too long.
    package func lines(
        width: Int?,
        unicode: Bool = true,
        headed: Bool = true,
        paint: (String, Ink) -> String = { text, _ in text }
    ) -> [String] {
        let natural = columns.indices.map { column in
            rows.reduce(columns[column].title.displayWidth) { max($0, $1[column].text.displayWidth) }
        }
        let shown = shownColumns(natural, within: width)
        var widths = shown.map { natural[$0] }
        var excess = width.map { widths.reduce(2 * (shown.count - 1), +) - $0 } ?? 0
        for (place, column) in shown.enumerated().reversed() where columns[column].isElastic && excess > 0 {
            let given = min(excess, max(0, widths[place] - 8))
            widths[place] -= given
            excess -= given
        }
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > 3 {
            widths[widest] -= 1
            excess -= 1
        }
        let head = columns.map { Cell($0.title, .faint) }
        return ((headed ? [head] : []) + rows).map { line($0, shown, widths, unicode, paint) }
    }

    /// All columns, or those that remain after dropping some to save space.
    private func shownColumns(_ natural: [Int], within width: Int?) -> [Int] {
        var shown = Array(columns.indices)
        guard let width else { return shown }
        func least(_ column: Int) -> Int { columns[column].isElastic ? min(natural[column], 16) : natural[column] }
        while shown.reduce(2 * (shown.count - 1), { $0 + least($1) }) > width,
            let place = shown.lastIndex(where: { columns[$0].mayGo })
        {
            shown.remove(at: place)
        }
        return shown
    }

    private func line(
        _ cells: [Cell],
        _ shown: [Int],
        _ widths: [Int],
        _ unicode: Bool,
        _ paint: (String, Ink) -> String
    ) -> String {
        var line = ""
        for (place, column) in shown.enumerated() {
            let (cell, width) = (cells[column], widths[place])
            let text =
                columns[column].keepsEnd
                ? cell.text.shortenedInside(to: width, unicode: unicode)
                : cell.text.shortened(to: width, unicode: unicode)
            let isLast = place == shown.count - 1
            let filled =
                columns[column].isNumber ? text.aligned(to: width) : isLast ? text : text.padded(to: width)
            line += (cell.ink.map { paint(filled, $0) } ?? filled) + (isLast ? "" : "  ")
        }
        return line
    }
}
