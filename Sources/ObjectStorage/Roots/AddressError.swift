/// Why a text is no address of a root.
package struct AddressError: Error, Sendable, Hashable, CustomStringConvertible {
    /// For users: a sentence without a full stop.
    package let why: String
    /// What the user can do.
    package let hint: String?

    init(_ why: String, hint: String? = nil) {
        self.why = why
        self.hint = hint
    }

    package var description: String { why }
}

/// The names below a root, which a bucket or a web server is asked for.
enum NameBelow {
    /// What is wrong with `path` as a sequence of names, each behind a slash; `nil` if nothing is. Stores take almost any
    /// name, but programs that copy a bucket to a folder do not.
    static func problem(_ path: String) -> String? {
        for name in path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            let word = String(decoding: name, as: UTF8.self)
            switch word {
            case "": return "contains an empty name: two slashes, or one at the beginning"
            case ".", "..": return "contains the name \(word), which is not followed here"
            default: break
            }
        }
        guard !path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return "contains a control character" }
        return nil
    }

    /// The text without one slash at its end.
    static func trimmed(_ path: some StringProtocol) -> String {
        String(path.hasSuffix("/") ? path.dropLast() : path[...])
    }
}
