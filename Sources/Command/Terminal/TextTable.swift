/// Rows under headings, as wide as the outlet at most.
struct TextTable {
    struct Column {
        let title: String
        var isNumber = false
        /// Whether it gives way before the others, down to eight columns, when a line gets too long.
        var isElastic = false
    }

    /// A cell, and the colour that it may have.
    struct Cell: ExpressibleByStringInterpolation {
        let text: String
        var ink: Ink?

        init(_ text: String, _ ink: Ink? = nil) {
            self.text = text.printable
            self.ink = ink
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    let columns: [Column]
    private var rows: [[Cell]] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// The lines for `outlet`; where it is no terminal nothing is cut.
    func lines(for outlet: Outlet) -> [String] {
        lines(width: outlet.isTerminal ? outlet.width : nil, unicode: outlet.usesUnicode, paint: outlet.paint)
    }

    /// The lines in at most `width` columns, as long as three columns and a gap for each are within it.
    func lines(
        width: Int?,
        unicode: Bool = true,
        paint: (String, Ink) -> String = { text, _ in text }
    ) -> [String] {
        var widths = columns.indices.map { column in
            rows.reduce(columns[column].title.displayWidth) { max($0, $1[column].text.displayWidth) }
        }
        let gaps = 2 * (columns.count - 1)
        var excess = width.map { widths.reduce(gaps, +) - $0 } ?? 0
        for column in columns.indices.reversed() where columns[column].isElastic && excess > 0 {
            let given = min(excess, max(0, widths[column] - 8))
            widths[column] -= given
            excess -= given
        }
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > 3 {
            widths[widest] -= 1
            excess -= 1
        }
        let head = columns.map { Cell($0.title, .faint) }
        return ([head] + rows).map { line($0, widths, unicode, paint) }
    }

    private func line(
        _ cells: [Cell],
        _ widths: [Int],
        _ unicode: Bool,
        _ paint: (String, Ink) -> String
    ) -> String {
        var line = ""
        for (column, cell) in cells.enumerated() {
            let text = cell.text.shortened(to: widths[column], unicode: unicode)
            let isLast = column == cells.count - 1
            let filled =
                columns[column].isNumber
                ? text.aligned(to: widths[column]) : isLast ? text : text.padded(to: widths[column])
            line += (cell.ink.map { paint(filled, $0) } ?? filled) + (isLast ? "" : "  ")
        }
        return line
    }
}
