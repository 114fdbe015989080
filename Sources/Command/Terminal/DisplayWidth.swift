import CTerminal
import Conversion
import Glibc

extension String {
    /// Columns that a terminal gives to the text: two to most of East Asia's letters, none to combining marks.
    var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

    /// Filled up with spaces behind the text.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - displayWidth)) }

    /// Filled up with spaces before the text.
    func aligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - displayWidth)) + self }

    /// Cut to so many columns, the last one an ellipsis.
    func shortened(to width: Int, unicode: Bool = true) -> String {
        guard displayWidth > width else { return self }
        let mark = unicode ? "…" : "~"
        guard width > 0 else { return "" }
        var (kept, columns) = ("", 0)
        for character in self {
            columns += character.displayWidth
            if columns > width - 1 { break }
            kept.append(character)
        }
        return kept + mark
    }

    /// Cut in the middle to so many columns: two thirds of what is left are its end.
    func shortenedInside(to width: Int, unicode: Bool = true) -> String {
        guard displayWidth > width, width >= 8 else { return shortened(to: width, unicode: unicode) }
        let tail = (width - 1) * 2 / 3
        var (kept, columns) = (Substring(), 0)
        for (place, character) in zip(indices, self).reversed() {
            columns += character.displayWidth
            if columns > tail { break }
            kept = self[place...]
        }
        return shortened(to: width - String(kept).displayWidth, unicode: unicode) + kept
    }

    /// JSON on one line, as it can be shown whatever it holds: JSON permits controls of eight bits and marks of direction, and
    /// terminals obey them. A program reads the same.
    var printableAsJSON: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isUnprintable {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// As it can be shown whatever it holds: control characters, those that turn the direction of writing, and those that cannot be
    /// seen are escaped.
    ///
    /// Names and tags come out of other people's files. Raw, they could move the cursor, forge a line, or look like another name.
    var printable: String { plain }
}

extension Character {
    /// The C library asks its locale; `Locale.useUTF8()` comes before.
    fileprivate var displayWidth: Int {
        if let ascii = asciiValue { return ascii < 0x20 || ascii == 0x7F ? 0 : 1 }
        return unicodeScalars.reduce(0) { max($0, Int(wcwidth(wchar_t($1.value)))) }
    }
}

enum Locale {
    /// Makes the C library tell the widths of all letters; numbers and messages stay as they are.
    static func useUTF8() { setlocale(LC_CTYPE, "C.UTF-8") }
}
