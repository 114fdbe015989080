/// One line as long as a recording, with marks at some places of it.
package struct TimeStrip {
    private let marks: [Range<Double>]

    /// Each mark is a part of the recording, of which 0 is the beginning and 1 the end. One without length is seen, too.
    package init(marks: [Range<Double>]) { self.marks = marks }

    /// The line; what is marked is in the colour of errors.
    package func text(
        columns: Int,
        style: DrawingStyle,
        paint: (String, Ink) -> String = { text, _ in text }
    ) -> String {
        let dots = max(1, columns) * style.dotsAcross
        let isMarked = marked(dots)
        var (line, part, partIsMarked) = ("", "", false)
        func painted() -> String { part.isEmpty ? "" : paint(part, partIsMarked ? .bad : .faint) }
        for column in 0..<max(1, columns) {
            let cell = isMarked[column * style.dotsAcross..<(column + 1) * style.dotsAcross]
            let hasMark = cell.contains(true)
            if hasMark != partIsMarked {
                line += painted()
                (part, partIsMarked) = ("", hasMark)
            }
            part.append(character(Array(cell), style))
        }
        return line + painted()
    }

    private func marked(_ dots: Int) -> [Bool] {
        var isMarked = [Bool](repeating: false, count: dots)
        for mark in marks {
            let ends = [mark.lowerBound, mark.upperBound].map { $0.isFinite ? min(max($0, 0), 1) * Double(dots) : 0 }
            let first = min(Int(ends[0].rounded(.down)), dots - 1)
            let last = max(first, min(Int(ends[1].rounded(.up)), dots) - 1)
            for dot in first...last { isMarked[dot] = true }
        }
        return isMarked
    }

    /// Sound is a line at the bottom, and a mark is as high as the line.
    private func character(_ cell: [Bool], _ style: DrawingStyle) -> Character {
        switch style {
        case .braille: style.character { column, row in cell[column] || row == style.dotsDown - 1 }
        // A half block for the sound would be taken for a mark.
        case .blocks: cell[0] ? "█" : "▁"
        case .ascii: cell[0] ? "#" : "-"
        }
    }
}
