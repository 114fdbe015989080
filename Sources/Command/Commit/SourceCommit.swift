import CCommit

/// The commit from which this program was built.
struct SourceCommit: Sendable, Hashable {
    /// The first ten digits of its hash.
    let hash: String
    /// Whether the source had changes that were not committed.
    let hasChanges: Bool

    /// The commit that `make shipped` handed in; `nil` in other builds, and in builds outside a clone.
    static let ofThisBuild = SourceCommit(String(cString: sluice_commit()))

    /// Reads what `scripts/commit` prints: `3daa239f01` or `3daa239f01-changed`. Returns `nil` for other texts.
    init?(_ text: String) {
        let mark = "-changed"
        hasChanges = text.hasSuffix(mark)
        hash = hasChanges ? String(text.dropLast(mark.count)) : text
        guard !hash.isEmpty, hash.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
    }

    /// `commit 3daa239f01`, or `commit 3daa239f01 with changes`.
    var words: String { "commit \(hash)" + (hasChanges ? " with changes" : "") }
}
