import Conversion
import Glibc
import System

extension String {
    /// Columns that the text takes on a terminal: two for most East Asian letters, none for combining marks.
    package var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }

    /// Pads with spaces on the right.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - displayWidth)) }

    /// Pads with spaces on the left.
    package func aligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - displayWidth)) + self }

    /// Cut to `width` columns, ending in an ellipsis.
    package func shortened(to width: Int, unicode: Bool = true) -> String {
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

    /// Cut to `width` columns in the middle; two thirds of the rest come from the end.
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

    /// The text, safe to show: control characters, direction marks and invisible characters are escaped.
    ///
    /// Names and tags come from other people's files. Unescaped, they could move the cursor, forge a line, or look
    /// like another name.
    package var printable: String { plain }
}

extension Character {
    /// The C library's answer depends on its locale, so call `Locale.useUTF8()` first.
    fileprivate var displayWidth: Int {
        if let ascii = asciiValue { return ascii < 0x20 || ascii == 0x7F ? 0 : 1 }
        return unicodeScalars.reduce(0) { max($0, SystemCall.columns(of: $1)) }
    }
}

package enum Locale {
    /// Makes the C library know the widths of all letters. Numbers and messages keep the C locale.
    package static func useUTF8() { setlocale(LC_CTYPE, "C.UTF-8") }
}
