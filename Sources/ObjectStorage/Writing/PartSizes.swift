/// How long the parts of an upload are.
package struct PartSizes: Sendable, Hashable {
    /// Of an upload. All stores have this limit.
    package static let mostParts = 10_000
    /// No store takes a shorter one, except as the last.
    package static let shortest: Int64 = 5 << 20
    /// No store takes a longer one.
    package static let longest: Int64 = 5 << 30

    private let first: Int64
    private let grows: Bool

    /// For an output of unknown length: parts of 8 MiB, and twice as long after every 1,000 of them. So 5 TB fit, while
    /// ordinary outputs need little room for the parts that wait.
    package init() { (first, grows) = (8 << 20, true) }

    /// For an output of `byteCount` bytes or a little more: parts of the same length, which some stores demand.
    package init(expecting byteCount: Int64) {
        // A hundred parts are left over.
        let needed = byteCount / Int64(Self.mostParts - 100) + 1
        let mebibytes = (needed + (1 << 20) - 1) >> 20
        first = min(Self.longest, max(8, mebibytes) << 20)
        grows = false
    }

    /// For tests, whose store takes short parts.
    package init(fixed byteCount: Int64) { (first, grows) = (byteCount, false) }

    /// The length of a part, counted from 1.
    package func byteCount(ofPart number: Int) -> Int64 {
        grows ? min(Self.longest, first << min(20, (number - 1) / 1_000)) : first
    }

    /// The longest output that fits.
    package var mostBytes: Int64 {
        (1...Self.mostParts).reduce(0) { $0 + byteCount(ofPart: $1) }
    }
}
