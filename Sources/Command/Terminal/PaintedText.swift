/// Lines with marks of colour in them, which take no columns.
///
/// What is foreign in them has been made `printable` before, so that every mark is ours.
extension String {
    /// Columns that a terminal gives to the text between the marks.
    var shownWidth: Int { PaintedText.parts(of: self).reduce(0) { $0 + ($1.isMark ? 0 : $1.text.displayWidth) } }

    /// Cut to so many columns. Marks behind the cut stay, so that no colour runs on.
    func clipped(to width: Int, unicode: Bool = true) -> String {
        guard shownWidth > width else { return self }
        var (line, left) = ("", max(0, width))
        for part in PaintedText.parts(of: self) {
            if part.isMark {
                line += part.text
            } else if left > 0 {
                // What goes up to the edge is cut too where more follows; the ellipsis says so.
                let columns = part.text.displayWidth
                line += columns < left ? part.text : (part.text + " ").shortened(to: left, unicode: unicode)
                left -= min(left, columns)
            }
        }
        return line
    }

    /// In lines of at most so many columns, the later ones indented. Colours must not go beyond a word.
    func folded(to width: Int, indent: Int) -> [String] {
        guard shownWidth > width else { return [self] }
        let margin = String(repeating: " ", count: min(indent, max(0, width / 2)))
        var (lines, line, columns): ([String], String, Int) = ([], "", 0)
        for (place, word) in split(separator: " ", omittingEmptySubsequences: false).map(String.init).enumerated() {
            let wide = word.shownWidth
            if place > 0, columns + 1 + wide > width, columns > 0 {
                lines.append(line)
                (line, columns) = (margin, margin.count)
            } else if place > 0 {
                line += " "
                columns += 1
            }
            line += word
            columns += wide
        }
        return (lines + [line]).map { $0.clipped(to: width) }
    }
}

enum PaintedText {
    struct Part {
        var text: String
        let isMark: Bool
    }

    /// Marks and what stands between them. By scalars: a letter's accent must not become one with the end of a mark.
    static func parts(of line: String) -> [Part] {
        guard line.utf8.contains(0x1B) else { return [Part(text: line, isMark: false)] }
        var parts: [Part] = []
        var (current, isMark) = ("".unicodeScalars, false)
        func close() {
            if !current.isEmpty { parts.append(Part(text: String(current), isMark: isMark)) }
            current.removeAll()
        }
        for scalar in line.unicodeScalars {
            if scalar == "\u{1B}" {
                close()
                isMark = true
            }
            current.append(scalar)
            if isMark, scalar == "m" {
                close()
                isMark = false
            }
        }
        close()
        return parts
    }
}
