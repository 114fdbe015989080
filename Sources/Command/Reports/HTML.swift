import Console
import Conversion

/// A piece of HTML.
///
/// Only literals are markup: every text that is interpolated is escaped, wherever it comes from.
struct HTML: Sendable, ExpressibleByStringInterpolation {
    private(set) var text: String

    init(stringLiteral text: String) { self.text = text }
    init(stringInterpolation parts: Parts) { text = parts.text }

    static func += (html: inout HTML, other: HTML) { html.text += other.text }

    /// The pieces one after another, with a line feed behind each.
    static func lines(_ pieces: [HTML]) -> HTML {
        var all: HTML = ""
        for piece in pieces { all.text += piece.text + "\n" }
        return all
    }

    struct Parts: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ words: String) { text += words.escapedForHTML }
        mutating func appendInterpolation(_ number: Int) { text += "\(number)" }
        mutating func appendInterpolation(_ number: Int64) { text += "\(number)" }
        mutating func appendInterpolation(_ html: HTML) { text += html.text }
    }
}

extension String {
    /// The text as a browser shows it: control characters and direction marks as their escapes, and no character that
    /// HTML gives a meaning to, in texts or in quoted attributes.
    fileprivate var escapedForHTML: String {
        let plain = printable
        guard plain.utf8.contains(where: { [0x22, 0x26, 0x27, 0x3C, 0x3E].contains($0) }) else { return plain }
        var text = ""
        for scalar in plain.unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// At most `most` scalars: the middle of a longer text is left out, because the end of a path matters most.
    ///
    /// Scalars and not characters, of which one may have thousands of accents.
    func cutInside(to most: Int) -> String {
        guard utf8.count > most, unicodeScalars.count > most else { return self }
        let tail = (most - 1) * 2 / 3
        return String(unicodeScalars.prefix(most - 1 - tail)) + "…" + String(unicodeScalars.suffix(tail))
    }
}
