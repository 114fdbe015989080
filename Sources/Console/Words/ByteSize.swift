/// A number of bytes, as people write it.
package struct ByteSize: Sendable, Hashable {
    package let bytes: Int64

    private static let units: [(name: String, bytes: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("kB", 1_000), ("MB", 1_000_000),
        ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("", 1),
    ]

    /// Parses `4096`, `512MiB` or `2GB`; `nil` for anything else.
    package init?(words: String) {
        guard let unit = Self.units.first(where: { words.hasSuffix($0.name) }),
            let count = Int64(words.dropLast(unit.name.count)), count >= 0
        else { return nil }
        let (bytes, isTooMuch) = count.multipliedReportingOverflow(by: unit.bytes)
        guard !isTooMuch else { return nil }
        self.bytes = bytes
    }
}

extension ValueType where Value == ByteSize {
    /// A size from `least` to `most`, both as text.
    package static func size(_ least: String, _ most: String) -> ValueType {
        ValueType(placeholder: "SIZE") { text throws(Misfit) in
            guard let size = ByteSize(words: text), let first = ByteSize(words: least),
                let last = ByteSize(words: most),
                (first.bytes...last.bytes).contains(size.bytes)
            else { throw Misfit(why: "must be a size from \(least) to \(most), as in 512MiB or 2GB") }
            return size
        }
    }
}
