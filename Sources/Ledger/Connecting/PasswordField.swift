/// Hides the passwords in database addresses: the field of a URL and libpq's keywords, and no other letter.
///
/// It looks for the places where a password is written and not for the password's letters. A password of one letter, or
/// one that is a common word, is found in every message, so replacing its letters destroys the message and gives the
/// password away.
public enum PasswordField {
    /// What is shown in place of a password.
    static let mark = "***"

    /// libpq's keywords whose values are secret. `passfile` names a file and is shown.
    static let keywords: Set<String> = ["password", "sslpassword"]

    /// `text` without the passwords of the addresses in it. A URL in a text ends at white space.
    public static func hidden(in text: String) -> String { hidden(text, isAddress: false) }

    /// `address`, which is one URL or one list of keywords from its first letter to its last, without its passwords.
    public static func hidden(inAddress address: String) -> String { hidden(address, isAddress: true) }

    private static func hidden(_ text: String, isAddress: Bool) -> String {
        // Scalars, because a mark that combines with the colon or the sign before it would hide that from a search.
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

    /// Where the part behind `postgresql://` or `postgres://` begins, if one begins at `place`. A forgotten colon counts.
    private static func urlStart(_ letters: [Unicode.Scalar], _ place: Int) -> Int? {
        for scheme in ["postgresql://", "postgres://", "postgresql//", "postgres//"] {
            if matches(letters, place, scheme) { return place + scheme.unicodeScalars.count }
        }
        return nil
    }

    /// White space ends a URL in a text, unless a password goes on behind it: `ada:two words@db`.
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

    /// Whether what comes behind a colon begins as a port does: `5432`, `5432/audio`.
    private static func isPort(_ letters: ArraySlice<Unicode.Scalar>) -> Bool {
        let port = letters.prefix { $0 != "/" && $0 != "?" }
        return port.allSatisfy { ("0"..."9").contains($0) || $0 == "," || $0 == "\"" }
    }

    /// Where the parameters begin. A question mark before the first @ belongs to the password, as libpq reads it, unless a
    /// path comes before both.
    private static func queryStart(_ url: ArraySlice<Unicode.Scalar>) -> Int {
        guard let sign = url.firstIndex(of: "@") else { return url.firstIndex(of: "?") ?? url.endIndex }
        if let slash = url.firstIndex(of: "/"), let mark = url[slash...].firstIndex(of: "?"), mark < sign,
            isPort(url.prefix { $0 != "/" }.drop { $0 != ":" }.dropFirst())
        {
            return mark
        }
        return url[sign...].firstIndex(of: "?") ?? url.endIndex
    }

    /// `ada:***@db:5432/audio?sslpassword=***`
    private static func url(_ url: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar] {
        let query = queryStart(url)
        var shown: [Unicode.Scalar] = []
        var rest = url[..<query]
        // To the last sign before the parameters: a password may hold an @ or a / that should have been %40 or %2F.
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

    /// A keyword of a URL, which may be written with %XX.
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

    /// Where the value begins, if `password = ` or `sslpassword = ` begins at `place`.
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

    /// Where a value ends: at the closing quote, or at white space. A backslash takes the next letter along in both.
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
