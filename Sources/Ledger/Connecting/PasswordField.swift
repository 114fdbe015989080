/// Hides the passwords in database addresses, in URLs and in libpq's keywords, and changes nothing else.
///
/// It looks for the places where a password stands, not for the password itself. A password of one letter, or one
/// that is a common word, occurs in every message, so replacing each occurrence would destroy the message and give
/// the password away.
public enum PasswordField {
    /// What is shown in place of a password.
    static let mark = "***"

    /// libpq's keywords whose values are secret. `passfile` names a file and is shown.
    static let keywords: Set<String> = ["password", "sslpassword"]

    /// `text` without the passwords of the addresses in it. A URL in a text ends at white space.
    public static func hidden(in text: String) -> String { hidden(text, isAddress: false) }

    /// `address` without its passwords. The whole string is one URL or one list of keywords.
    public static func hidden(inAddress address: String) -> String { hidden(address, isAddress: true) }

    private static func hidden(_ text: String, isAddress: Bool) -> String {
        // Search scalars: a combining mark after the colon or the @ would hide that character from a search.
        let letters = Array(text.unicodeScalars)
        var (shown, place) = ([Unicode.Scalar](), 0)
        while place < letters.count {
            if let start = urlStart(letters, place) {
                let end = isAddress ? letters.count : urlEnd(letters, start)
                shown += letters[place..<start]
                shown += url(letters[start..<end])
                place = end
            } else if let value = valueStart(letters, place) {
                shown += letters[place..<value]
                let end = valueEnd(letters, value)
                if end > value { shown += mark.unicodeScalars }
                place = end
            } else {
                shown.append(letters[place])
                place += 1
            }
        }
        return String(String.UnicodeScalarView(shown))
    }

    // MARK: - URLs

    /// The index after `postgresql://` or `postgres://` if one begins at `place`. Accepts a missing colon.
    private static func urlStart(_ letters: [Unicode.Scalar], _ place: Int) -> Int? {
        for scheme in ["postgresql://", "postgres://", "postgresql//", "postgres//"] {
            if matches(letters, place, scheme) { return place + scheme.unicodeScalars.count }
        }
        return nil
    }

    /// The end of a URL in a text: white space, unless a password continues after it: `ada:two words@db`.
    private static func urlEnd(_ letters: [Unicode.Scalar], _ start: Int) -> Int {
        func space(_ place: Int) -> Int {
            letters[place...].firstIndex { $0.properties.isWhitespace } ?? letters.count
        }
        let end = space(start)
        guard !letters[start..<end].contains("@"), let colon = letters[start..<end].firstIndex(of: ":"),
            !isPort(letters[(colon + 1)..<end]), let sign = letters[end...].firstIndex(of: "@")
        else { return end }
        return space(sign)
    }

    /// Whether the text after a colon begins like a port: `5432`, `5432/audio`.
    private static func isPort(_ letters: ArraySlice<Unicode.Scalar>) -> Bool {
        let port = letters.prefix { $0 != "/" && $0 != "?" }
        return port.allSatisfy { ("0"..."9").contains($0) || $0 == "," || $0 == "\"" }
    }

    /// The start of the parameters. As in libpq, a question mark before the first @ belongs to the password, unless
    /// a path comes before both.
    private static func queryStart(_ url: ArraySlice<Unicode.Scalar>) -> Int {
        guard let sign = url.firstIndex(of: "@") else { return url.firstIndex(of: "?") ?? url.endIndex }
        if let slash = url.firstIndex(of: "/"), let mark = url[slash...].firstIndex(of: "?"), mark < sign,
            isPort(url.prefix { $0 != "/" }.drop { $0 != ":" }.dropFirst())
        {
            return mark
        }
        return url[sign...].firstIndex(of: "?") ?? url.endIndex
    }

    /// Hides the passwords of one URL: `ada:***@db:5432/audio?sslpassword=***`.
    private static func url(_ url: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar] {
        let query = queryStart(url)
        var shown: [Unicode.Scalar] = []
        var rest = url[..<query]
        // Up to the last @ before the parameters: a password may contain an @ or a / that should be %40 or %2F.
        if let first = rest.firstIndex(of: "@"), let sign = rest.lastIndex(of: "@"),
            let colon = rest[..<first].firstIndex(of: ":"), rest.first != "["
        {
            shown += rest[...colon]
            if sign > colon + 1 { shown += mark.unicodeScalars }
            rest = rest[sign...]
        }
        shown += rest
        guard query < url.endIndex else { return shown }
        shown.append("?")
        let parameters = url[(query + 1)...].split(separator: "&", omittingEmptySubsequences: false)
        for (number, parameter) in parameters.enumerated() {
            if number > 0 { shown.append("&") }
            guard let sign = parameter.firstIndex(of: "="), sign + 1 < parameter.endIndex,
                keywords.contains(decoded(parameter[..<sign]))
            else {
                shown += parameter
                continue
            }
            shown += parameter[...sign]
            shown += mark.unicodeScalars
        }
        return shown
    }

    /// A parameter name of a URL, with its %XX escapes decoded.
    private static func decoded(_ word: ArraySlice<Unicode.Scalar>) -> String {
        var (text, place) = ("", word.startIndex)
        while place < word.endIndex {
            if word[place] == "%", place + 2 < word.endIndex,
                let byte = UInt8(String(String.UnicodeScalarView(word[(place + 1)...(place + 2)])), radix: 16)
            {
                text.unicodeScalars.append(Unicode.Scalar(byte))
                place += 3
            } else {
                text.unicodeScalars.append(word[place])
                place += 1
            }
        }
        return text.lowercased()
    }

    // MARK: - Keywords

    /// The start of the value, if `password = ` or `sslpassword = ` begins at `place`.
    private static func valueStart(_ letters: [Unicode.Scalar], _ place: Int) -> Int? {
        if place > 0, isOfWord(letters[place - 1]) { return nil }
        guard let keyword = keywords.first(where: { matches(letters, place, $0) }) else { return nil }
        func afterSpace(_ place: Int) -> Int {
            letters[place...].firstIndex { !$0.properties.isWhitespace } ?? letters.count
        }
        let sign = afterSpace(place + keyword.unicodeScalars.count)
        guard sign < letters.count, letters[sign] == "=" else { return nil }
        return afterSpace(sign + 1)
    }

    /// The end of a value: the closing quote, or white space. In both cases a backslash escapes the next character.
    private static func valueEnd(_ letters: [Unicode.Scalar], _ start: Int) -> Int {
        let isQuoted = start < letters.count && letters[start] == "'"
        var place = isQuoted ? start + 1 : start
        while place < letters.count {
            if letters[place] == "\\" {
                place += 2
            } else if isQuoted ? letters[place] == "'" : letters[place].properties.isWhitespace {
                return isQuoted ? place + 1 : place
            } else {
                place += 1
            }
        }
        return letters.count
    }

    private static func isOfWord(_ letter: Unicode.Scalar) -> Bool {
        letter.properties.isAlphabetic || letter.properties.numericType != nil || letter == "_"
    }

    private static func matches(_ letters: [Unicode.Scalar], _ place: Int, _ word: String) -> Bool {
        let word = Array(word.unicodeScalars)
        guard place + word.count <= letters.count else { return false }
        return word.indices.allSatisfy {
            letters[place + $0].properties.lowercaseMapping.unicodeScalars.first == word[$0]
        }
    }
}
