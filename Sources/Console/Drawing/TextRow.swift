/// A line of text in which each column can be set.
package struct TextRow {
    /// A character of two columns is followed by an empty text.
    private var cells: [String]

    package init(_ columns: Int) { cells = Array(repeating: " ", count: columns) }

    /// Overwrites what is there. What does not fit into the row is left out.
    package mutating func put(_ text: String, at column: Int) {
        var column = column
        for character in text {
            let width = String(character).displayWidth
            guard width > 0 else {
                if cells.indices.contains(column - 1) { cells[column - 1].append(character) }
                continue
            }
            guard column >= 0, column + width <= cells.count else { return }
            // Half of a wide character cannot stay.
            if cells[column].isEmpty { cells[column - 1] = " " }
            if column + width < cells.count, cells[column + width].isEmpty { cells[column + width] = " " }
            cells[column] = String(character)
            for rest in 1..<max(2, width) where rest < width { cells[column + rest] = "" }
            column += width
        }
    }

    package var text: String { cells.joined() }
}

extension String {
    /// Without spaces at the end.
    package var trimmedAtEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
