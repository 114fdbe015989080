/// Quotes words for a shell.
package enum ShellWord {
    /// Whether a shell reads the text literally even without quotes.
    package static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-_./:,@%+=".utf8.contains(byte)
                }
            }
    }

    package static func quoted(_ text: String) -> String {
        if isPlain(text) { return text }
        // Split by Unicode scalars: a combining mark after a quote does not hide the quote from a shell.
        let pieces = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
        return "'" + pieces.joined(separator: "'\\''") + "'"
    }
}
