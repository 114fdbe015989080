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
