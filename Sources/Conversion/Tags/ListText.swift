/// A mistake in a line of a text with chapters or tags.
public struct ListMistake: Error, Sendable, Hashable, CustomStringConvertible {
    /// Counted from 1.
    public let line: Int
    public let detail: String

    public var description: String { "line \(line): \(detail)" }
}

/// The parts of a text with chapters or tags.
enum ListText {
    /// The lines, without a mark of the byte order in front of them.
    static func lines(of text: String) -> [Substring] {
        let plain = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
        return plain.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
    }

    /// The first line that is not blank.
    static func first(of lines: [Substring]) -> Substring { lines.first { !isBlank($0) } ?? "" }

    static func isBlank(_ line: some StringProtocol) -> Bool { line.allSatisfy(\.isWhitespace) }

    static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0.isWhitespace }
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return start[...last]
    }

    /// The lines of FFmpeg's metadata by their numbers. One with a backslash at its end goes on in the next one.
    static func whole(_ lines: [Substring]) -> [(number: Int, text: Substring)] {
        var whole: [(number: Int, text: Substring)] = []
        var goesOn = false
        for (index, line) in lines.enumerated() {
            if goesOn, let last = whole.indices.last {
                whole[last].text.append(contentsOf: "\n")
                whole[last].text.append(contentsOf: line)
            } else {
                whole.append((index + 1, line))
            }
            // A backslash before the last one makes that a letter.
            goesOn = line.reversed().prefix { $0 == "\\" }.count % 2 == 1
        }
        return whole
    }

    /// In FFmpeg's metadata, a backslash stands in front of letters that have a meaning.
    static func unescaped(_ text: Substring) -> String {
        var (plain, isEscaped) = ("", false)
        for letter in text {
            if letter == "\\", !isEscaped {
                isEscaped = true
            } else {
                plain.append(letter)
                isEscaped = false
            }
        }
        return plain
    }
}
