/// Related codes of the catalogue, as docs/errors.md and `sluice explain` list them.
public struct FailureSection: Sendable {
    public let title: String
    /// What the codes have in common, where that needs saying.
    public let introduction: String?
    public let entries: [(code: FailureCode, entry: FailureCode.Entry)]

    init(
        _ title: String,
        introduction: String? = nil,
        _ entries: KeyValuePairs<FailureCode, FailureCode.Entry>
    ) {
        (self.title, self.introduction) = (title, introduction)
        self.entries = entries.map { ($0.key, $0.value) }
    }

    /// All sections, in the order of a job's way.
    public static let all = [
        sources, damage, requests, conversion, limits, places, rooms, ledger, losses, releases, mistakes,
    ]
}
