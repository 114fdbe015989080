/// Lines with escape codes for colours, which take no columns.
///
/// Foreign text in them must already be `printable`, so that every escape code is ours.
extension String {
    /// Columns that the text between the codes takes.
    package var shownWidth: Int {
        PaintedText.parts(of: self).reduce(0) { $0 + ($1.isMark ? 0 : $1.text.displayWidth) }
    }

    /// Cut to `width` columns. Codes behind the cut stay, so that no colour runs on.
    package func clipped(to width: Int, unicode: Bool = true) -> String {
        guard shownWidth > width else { return self }
        var (line, left) = ("", max(0, width))
        for part in PaintedText.parts(of: self) {
            if part.isMark {
                line += part.text
            } else if left > 0 {
                // A part that ends at the edge is cut too if more follows, so that an ellipsis shows it.
                let columns = part.text.displayWidth
                line += columns < left ? part.text : (part.text + " ").shortened(to: left, unicode: unicode)
                left -= min(left, columns)
            }
        }
        return line
    }

    /// Wrapped to lines of `width` columns, with the later ones indented. A colour must not extend beyond a word.
    package func folded(to width: Int, indent: Int) -> [String] {
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

    /// Splits a line into codes and text. Works on scalars, so that an accent does not merge with the end of a
    /// code.
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
