/// One import statement of a file.
struct ImportStatement: Equatable, CustomStringConvertible {
    /// The names without `@`, such as `testable`.
    let attributes: [String]
    /// `public`, `internal` and so on, or `nil` if the statement has none.
    let access: String?
    /// The declaration kind, such as `struct` in `import struct X.Y`, or `nil`.
    let kind: String?
    /// The dotted path; its first part is the module.
    let names: [String]
    let line: Int

    var module: String { names[0] }

    var description: String {
        let words = attributes.map { "@" + $0 } + [access, "import", kind].compactMap { $0 }
        return (words + [names.joined(separator: ".")]).joined(separator: " ")
    }
}

/// The words of a Swift file, without its comments and the contents of its strings.
///
/// It parses just enough of Swift to tell an import from text that only looks like one.
struct SwiftScan {
    struct Word: Equatable {
        let text: String
        let line: Int
        /// Whether the word is in backticks, and so never a keyword.
        let isQuoted: Bool
    }

    private(set) var words: [Word] = []
    /// The line of an unterminated comment or multi-line string.
    private(set) var unclosedLine: Int?

    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var line = 1

    init(of text: String) {
        scalars = Array(text.unicodeScalars)
        scanCode(inInterpolation: false)
    }

    private func scalar(ahead distance: Int = 0) -> Unicode.Scalar? {
        index + distance < scalars.count ? scalars[index + distance] : nil
    }

    private func stands(_ text: String, ahead distance: Int = 0) -> Bool {
        text.unicodeScalars.enumerated().allSatisfy { scalar(ahead: distance + $0.offset) == $0.element }
    }

    private mutating func advance(by count: Int = 1) {
        for _ in 0..<count where index < scalars.count {
            if scalars[index] == "\n" { line += 1 }
            index += 1
        }
    }

    /// Reads to the end of the text or, in an interpolation, past the parenthesis that closes it.
    private mutating func scanCode(inInterpolation: Bool) {
        var depth = 0
        while let next = scalar() {
            if stands("//") {
                while let skipped = scalar(), skipped != "\n" { advance() }
            } else if stands("/*") {
                skipComment()
            } else if let hashes = hashesBeforeString() {
                skipString(hashes: hashes)
            } else if next == "`" {
                takeQuotedName()
            } else if Self.isNamePart(next) {
                takeName()
            } else {
                if next == "(" { depth += 1 }
                if next == ")" { depth -= 1 }
                if !next.properties.isWhitespace { take(String(next), quoted: false) }
                advance()
                if inInterpolation, depth < 0 { return }
            }
        }
    }

    private mutating func take(_ text: String, quoted: Bool) {
        words.append(Word(text: text, line: line, isQuoted: quoted))
    }

    private mutating func takeName() {
        var name = String.UnicodeScalarView()
        while let next = scalar(), Self.isNamePart(next) {
            name.append(next)
            advance()
        }
        take(String(name), quoted: false)
    }

    private mutating func takeQuotedName() {
        var name = String.UnicodeScalarView()
        advance()
        while let next = scalar(), next != "`", next != "\n" {
            name.append(next)
            advance()
        }
        take(String(name), quoted: true)
        if scalar() == "`" { advance() }
    }

    /// Skips a block comment and the comments nested in it.
    private mutating func skipComment() {
        let start = line
        var depth = 0
        while scalar() != nil {
            if stands("/*") {
                depth += 1
                advance(by: 2)
            } else if stands("*/") {
                depth -= 1
                advance(by: 2)
                if depth == 0 { return }
            } else {
                advance()
            }
        }
        unclosedLine = unclosedLine ?? start
    }

    /// The number of `#` before the quote of a string that begins here, or `nil` if none begins.
    private func hashesBeforeString() -> Int? {
        var hashes = 0
        while scalar(ahead: hashes) == "#" { hashes += 1 }
        return scalar(ahead: hashes) == "\"" ? hashes : nil
    }

    /// Skips a string but reads the code in its interpolations. A single-line string ends at the end of its line
    /// at the latest.
    private mutating func skipString(hashes: Int) {
        let start = line
        let fence = String(repeating: "#", count: hashes)
        let isLong = stands("\"\"\"", ahead: hashes) && restOfLineIsBlank(ahead: hashes + 3)
        let quote = isLong ? "\"\"\"" : "\""
        advance(by: hashes + quote.count)
        while let next = scalar() {
            if stands(quote + fence) {
                advance(by: quote.count + hashes)
                return
            }
            if !isLong, next == "\n" { return }
            guard stands("\\" + fence) else {
                advance()
                continue
            }
            advance(by: 1 + hashes)
            let escaped = scalar()
            if escaped != "\n" { advance() }
            if escaped == "(" { scanCode(inInterpolation: true) }
        }
        if isLong { unclosedLine = unclosedLine ?? start }
    }

    private func restOfLineIsBlank(ahead distance: Int) -> Bool {
        var distance = distance
        while let next = scalar(ahead: distance), next != "\n" {
            guard next.properties.isWhitespace else { return false }
            distance += 1
        }
        return true
    }

    private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }
}

extension SwiftScan {
    private static let accessLevels: Set = ["public", "package", "internal", "fileprivate", "private", "open"]
    private static let kinds: Set = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]

    /// Every import in the file, in order.
    var imports: [ImportStatement] {
        words.indices.compactMap(importStatement(at:))
    }

    private func importStatement(at index: Int) -> ImportStatement? {
        guard isKeyword(index, in: ["import"]) else { return nil }
        // `.import` is a member; `(import x: Int` and `, import: 1` are labels.
        if index > 0, !words[index - 1].isQuoted, ["(", ",", "."].contains(words[index - 1].text) { return nil }

        var next = index + 1
        var kind: String?
        if isKeyword(next, in: Self.kinds) {
            kind = words[next].text
            next += 1
        }
        guard next < words.count, words[next].isQuoted || isName(words[next].text) else { return nil }
        var names = [words[next].text]
        while next + 2 < words.count, isKeyword(next + 1, in: ["."]) {
            names.append(words[next + 2].text)
            next += 2
        }
        let (attributes, access) = modifiers(before: index)
        return ImportStatement(
            attributes: attributes,
            access: access,
            kind: kind,
            names: names,
            line: words[index].line
        )
    }

    /// The attributes and the access level written before the word at `index`, on its line or above.
    private func modifiers(before index: Int) -> (attributes: [String], access: String?) {
        var attributes: [String] = []
        var access: String?
        var end = index
        while end > 0 {
            if isKeyword(end - 1, in: Self.accessLevels) {
                access = words[end - 1].text
                end -= 1
                continue
            }
            // An attribute: its name, perhaps with arguments in parentheses.
            var name = end - 1
            if isKeyword(name, in: [")"]) {
                while name > 0, !isKeyword(name, in: ["("]) { name -= 1 }
                name -= 1
            }
            guard name > 0, isKeyword(name - 1, in: ["@"]) else { break }
            attributes.insert(words[name].text, at: 0)
            end = name - 1
        }
        return (attributes, access)
    }

    private func isKeyword(_ index: Int, in keywords: Set<String>) -> Bool {
        words.indices.contains(index) && !words[index].isQuoted && keywords.contains(words[index].text)
    }

    private func isName(_ text: String) -> Bool {
        text.unicodeScalars.first.map(Self.isNamePart) ?? false
    }
}
