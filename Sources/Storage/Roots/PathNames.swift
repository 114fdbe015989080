extension StringProtocol {
    /// The names between its slashes, as the kernel sees them.
    ///
    /// To Swift a slash and a mark that combines with it are one character, and no slash. A file's name may begin with such a mark.
    package var pathNames: [String] {
        unicodeScalars.split(separator: "/").map { String(String.UnicodeScalarView($0)) }
    }
}
