/// A piece of HTML that escapes by construction.
///
/// Only literals in the source are markup: every text that is interpolated is escaped, wherever it comes from. No
/// initializer takes a text that was made at run time. Attributes must be quoted in the literal.
package struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
    package private(set) var text: String

    package init(stringLiteral literal: StaticString) { text = literal.description }
    package init(stringInterpolation parts: Parts) { text = parts.text }

    private init(markup text: String) { self.text = text }

    package static func += (html: inout HTML, other: HTML) { html.text += other.text }

    /// The pieces one after another.
    package static func all(_ pieces: [HTML]) -> HTML { HTML(markup: pieces.reduce(into: "") { $0 += $1.text }) }

    /// The pieces one after another, with a line feed behind each.
    package static func lines(_ pieces: [HTML]) -> HTML {
        HTML(markup: pieces.reduce(into: "") { $0 += $1.text + "\n" })
    }

    /// The pieces with a text between each two.
    package static func joined(_ pieces: [HTML], by separator: HTML) -> HTML {
        HTML(markup: pieces.map(\.text).joined(separator: separator.text))
    }

    package var isEmpty: Bool { text.isEmpty }

    package struct Parts: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(2 * literalCapacity) }

        package mutating func appendLiteral(_ literal: StaticString) { text += literal.description }
        package mutating func appendInterpolation(_ words: String) { text += words.escapedForHTML }
        /// The value of a field of a form: a browser sends exactly this text back.
        package mutating func appendInterpolation(value words: String) { text += words.asValueInHTML }
        package mutating func appendInterpolation(_ number: Int) { text += "\(number)" }
        package mutating func appendInterpolation(_ number: Int64) { text += "\(number)" }
        package mutating func appendInterpolation(_ html: HTML) { text += html.text }
    }
}

extension String {
    /// The text as a browser shows it: control characters and direction marks as their escapes, and no character that
    /// HTML gives a meaning to, in texts or in quoted attributes.
    fileprivate var escapedForHTML: String { plain.withoutMarkup }

    /// The same text for a program. What is invisible is written as a reference, from which a browser makes the character
    /// again; for U+0080 to U+009F it would make another one.
    fileprivate var asValueInHTML: String {
        let text = withoutMarkup
        guard text.unicodeScalars.contains(where: \.isUnprintable) else { return text }
        return text.unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.isUnprintable, !(0x80...0x9F).contains(scalar.value) {
                text += "&#\(scalar.value);"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    private var withoutMarkup: String {
        guard utf8.contains(where: { [0x22, 0x26, 0x27, 0x3C, 0x3E].contains($0) }) else { return self }
        var text = ""
        text.reserveCapacity(utf8.count + 16)
        for scalar in unicodeScalars {
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
    package func cutInside(to most: Int) -> String {
        guard utf8.count > most, unicodeScalars.count > most else { return self }
        let tail = (most - 1) * 2 / 3
        return String(unicodeScalars.prefix(most - 1 - tail)) + "…" + String(unicodeScalars.suffix(tail))
    }
}
