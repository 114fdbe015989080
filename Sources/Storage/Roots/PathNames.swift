extension String {
    /// The names between the slashes, as the kernel splits them.
    ///
    /// To Swift, a slash and a combining mark after it form one character that is not a slash. A file's name may
    /// begin with such a mark. So bytes are split: no other scalar has the byte of a slash.
    package var pathNames: [String] { utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) } }

    /// The last of `pathNames`, without the others; `nil` if there is none.
    package var lastPathName: String? {
        let slash = UInt8(ascii: "/")
        guard let last = utf8.lastIndex(where: { $0 != slash }) else { return nil }
        let end = utf8.index(after: last)
        let start = utf8[..<end].lastIndex(of: slash).map { utf8.index(after: $0) } ?? startIndex
        return String(Substring(utf8[start..<end]))
    }

    /// Whether a name between the slashes has more bytes than `limit`.
    func hasPathName(longerThan limit: Int) -> Bool {
        var count = 0
        for byte in utf8 {
            count = byte == UInt8(ascii: "/") ? 0 : count + 1
            if count > limit { return true }
        }
        return false
    }

    /// Whether the path begins with a slash, does not end with one, and has neither empty names nor names of dots alone.
    package var isPlainAbsolutePath: Bool {
        utf8.first == UInt8(ascii: "/") && Self.arePlainNames(utf8.dropFirst())
    }

    /// The same of a path that does not begin with a slash.
    package var isPlainRelativePath: Bool { Self.arePlainNames(utf8) }

    private static func arePlainNames(_ bytes: some Sequence<UInt8>) -> Bool {
        // A name that has begun, and consists of dots so far, may be empty, `.` or `..`.
        var isUndecided = true
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "/"):
                if isUndecided { return false }
                isUndecided = true
            case UInt8(ascii: "."): break
            default: isUndecided = false
            }
        }
        return !isUndecided
    }
}
