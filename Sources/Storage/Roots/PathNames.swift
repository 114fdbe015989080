extension StringProtocol {
    /// The names between the slashes, as the kernel splits them.
    ///
    /// To Swift, a slash and a combining mark after it form one character that is not a slash. A file's name may
    /// begin with such a mark.
    package var pathNames: [String] {
        unicodeScalars.split(separator: "/").map { String(String.UnicodeScalarView($0)) }
    }
}
