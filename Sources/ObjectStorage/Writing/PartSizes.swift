/// How long the parts of an upload are.
///
/// Some stores, Cloudflare R2 among them, refuse an upload whose parts differ in length, except for a shorter last one. So
/// parts are equal where the length of the output is known or has a bound. Where it is not, the first 6,000 parts are equal:
/// an output of up to 46 GiB suits every store. A longer one goes on with parts that grow, because at most 10,000 parts must
/// hold 5 TB. A store that wants equal parts refuses that output when a longer part arrives or when the upload is completed,
/// and no object is made; such an output needs `init(expecting:)`.
package struct PartSizes: Sendable, Hashable {
    /// Of an upload. All stores have this limit.
    package static let mostParts = 10_000
    /// No store takes a shorter one, except as the last.
    package static let shortest: Int64 = 5 << 20
    /// No store takes a longer one.
    package static let longest: Int64 = 5 << 30
    /// How many parts of an output of unknown length are equal, and after how many further ones the length doubles.
    private static let equalParts = 6_000
    private static let partsOfOneLength = 400

    private let first: Int64
    private let grows: Bool

    /// For an output of unknown length: parts of 8 MiB, and beyond 46 GiB longer ones. So 5 TB fit, while ordinary outputs
    /// need little room for the parts that wait.
    package init() { (first, grows) = (8 << 20, true) }

    /// For an output whose length is known, or is at most `byteCount` bytes or a little more: parts of the same length.
    package init(expecting byteCount: Int64) {
        // A hundred parts are left over.
        let needed = max(0, byteCount) / Int64(Self.mostParts - 100) + 1
        let mebibytes = (needed + (1 << 20) - 1) >> 20
        first = min(Self.longest, max(8, mebibytes) << 20)
        grows = false
    }

    /// For tests, whose store takes short parts.
    package init(fixed byteCount: Int64) { (first, grows) = (byteCount, false) }

    /// The length of a part, counted from 1.
    package func byteCount(ofPart number: Int) -> Int64 {
        guard grows, number > Self.equalParts else { return first }
        let doublings = (number - Self.equalParts - 1) / Self.partsOfOneLength + 1
        return min(Self.longest, first << min(20, doublings))
    }

    /// The longest output that fits.
    package var mostBytes: Int64 {
        (1...Self.mostParts).reduce(0) { $0 + byteCount(ofPart: $1) }
    }
}
