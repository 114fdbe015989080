/// Limits the tags of a file that libav sees.
///
/// libav searches all earlier tags for each tag's name, and joins values of one name by copying. Its time grows
/// with the square of their number, before the first frame, and without a read at which it could be stopped.
struct TagBudget {
    /// Tags and chapters together. Songs have dozens of tags, audio books hundreds of chapters.
    static let mostTags = 10_000
    /// Limit on the bytes that joining values of one name may copy.
    static let mostCopiedBytes: Int64 = 1 << 30

    /// Limit on the comparisons of names when libav goes through all tags again, as it does after every block of them.
    static let mostComparisons = 200_000_000

    private var left = TagBudget.mostTags
    private var comparisons = 0
    private var copied: Int64 = 0
    private var lengths: [String: Int64] = [:]

    /// Whether the budget is used up, so that no more tags are shown.
    private(set) var isSpent = false

    /// Records the end of a block of tags.
    mutating func endBlock() {
        let shown = Self.mostTags - left
        comparisons += shown * shown / 2
        if comparisons > Self.mostComparisons { isSpent = true }
    }

    /// Counts a tag; `false` if neither it nor any later tag may be shown. `name` is `nil` if values are not
    /// joined. `times` is how often libav adds the tag.
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
