/// Where a browser goes after the login, or after a filter was saved: a path of this page, and nowhere else.
struct PageTarget {
    /// A filter that is saved has up to 4,000.
    static let mostBytes = 6_000

    let text: String

    init(_ wanted: String?) {
        let wanted = wanted ?? "/"
        let isPlain = wanted.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }
        let isPath = wanted.hasPrefix("/") && !wanted.hasPrefix("//") && wanted.utf8.count <= Self.mostBytes
        text = isPlain && isPath ? wanted : "/"
    }
}
