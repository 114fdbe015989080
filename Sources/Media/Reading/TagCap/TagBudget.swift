/// How many tags of a file libav is shown.
///
/// libav looks a tag's name up among all tags before it, and joins values of one name by copying what it has: the time grows
/// with the square of their number, before the first frame and without a read in which it could be stopped.
struct TagBudget {
    /// Tags and chapters. Songs have dozens, audio books hundreds of chapters.
    static let mostTags = 10_000
    /// Bytes that joining values of one name may copy.
    static let mostCopiedBytes: Int64 = 1 << 30

    /// Comparisons of names when libav goes through all tags again, as it does behind every block of them.
    static let mostComparisons = 200_000_000

    private var left = TagBudget.mostTags
    private var comparisons = 0
    private var copied: Int64 = 0
    private var lengths: [String: Int64] = [:]

    /// Whether nothing more is shown.
    private(set) var isSpent = false

    /// Notes that a block of tags has ended.
    mutating func endBlock() {
        let shown = Self.mostTags - left
        comparisons += shown * shown / 2
        if comparisons > Self.mostComparisons { isSpent = true }
    }

    /// Takes a tag; `false` where it is not to be shown, nor any behind it. `name` is `nil` where values are not joined.
    /// `times` is how often libav enters it.
    mutating func takes(_ name: String? = nil, bytes: Int64 = 0, times: Int = 1) -> Bool {
        guard !isSpent else { return false }
        left -= times
        if let name {
            let length = lengths[name, default: 0]
            copied += length
            lengths[name] = length + bytes
        }
        isSpent = left < 0 || copied > Self.mostCopiedBytes
        return !isSpent
    }
}
