/// The files of excerpts, by which people hear sources and outputs on the page.
package enum ExcerptFile {
    /// The folder in which they are, or which has a folder of each tenant.
    package static let folder = "excerpts"
    /// For how long a file stays: longer than the page serves it.
    static let kept: Duration = .seconds(8 * 86_400)

    /// How all names begin. Others name files by digests, too.
    private static let mark = "sluice-excerpt-"

    /// The name of a file, without its extension: a digest behind a mark.
    package static func name(_ digest: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let name = digest.prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return mark + String(decoding: name, as: UTF8.self)
    }

    /// Whether the path below a root is that of an excerpt or of its peaks.
    static func isOne(_ path: [String]) -> Bool {
        guard let parts = path.last?.split(separator: ".", omittingEmptySubsequences: false), parts.count == 2,
            parts[0].hasPrefix(mark), ["wav", "dat"].contains(parts[1]), path.dropLast().suffix(2).contains(folder)
        else { return false }
        let digest = parts[0].utf8.dropFirst(mark.utf8.count)
        return digest.count == 32 && digest.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
