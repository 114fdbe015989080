/// The part of a file that a request asks for, in the words of RFC 9110.
package enum ByteRange: Sendable, Hashable {
    /// The whole file: nothing was asked for, or something that this server need not serve, such as several ranges.
    case whole
    case part(Range<Int64>)
    /// It lies outside the file.
    case outside

    /// Reads the field `Range` for a file of `length` bytes.
    package init(_ field: String?, of length: Int64) {
        self = .whole
        guard let field, field.lowercased().hasPrefix("bytes=") else { return }
        let sides = field.dropFirst(6).trimmingSpaces.split(separator: "-", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return }
        switch (sides[0].isEmpty, sides[1].isEmpty) {
        case (true, true): return
        case (true, false):
            guard let count = Self.number(sides[1]) else { return }
            self = count == 0 || length == 0 ? .outside : .part(max(0, length - count)..<length)
        case (false, true):
            guard let first = Self.number(sides[0]) else { return }
            self = first < length ? .part(first..<length) : .outside
        case (false, false):
            guard let first = Self.number(sides[0]), let last = Self.number(sides[1]), first <= last else { return }
            self = first < length ? .part(first..<min(last, length - 1) + 1) : .outside
        }
    }

    /// Digits only. Numbers that do not fit are as good as the largest one.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(text) ?? .max
    }
}
