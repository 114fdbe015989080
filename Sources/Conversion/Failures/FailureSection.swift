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
        sources, damage, scans, requests, conversion, limits, places, rooms, ledger, losses, releases, mistakes,
    ]
}

extension FailureSection {
    /// The tables of docs/errors.md: the stages, then a section for each group of codes.
    public static var markdown: String {
        var lines = ["| stage | what was at work |", "| --- | --- |"]
        lines += Failure.Stage.allCases.map { "| `\($0.rawValue)` | \($0.meaning) |" }
        for section in all {
            lines += ["", "## \(section.title)", ""]
            if let introduction = section.introduction { lines += [introduction, ""] }
            lines += ["| code | stage | class | meaning | typical cause | what to do |"]
            lines += ["| --- | --- | --- | --- | --- | --- |"]
            lines += section.entries.map { code, entry in
                let stages = entry.stages.map(\.rawValue).joined(separator: ", ")
                let cells = [
                    "`\(code.rawValue)`", stages, entry.kind.rawValue, entry.meaning, entry.cause,
                    entry.advice ?? "nothing",
                ]
                return "| \(cells.joined(separator: " | ")) |"
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
