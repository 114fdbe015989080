import Console
import Conversion
import Storage

/// What the user wants to change in the tags of files.
struct TagChanges: Sendable {
    /// Those of a file come first, and then those of options, which win.
    private let listed: [String: Recipe.TagValues]
    private let wishes: [TagWish]
    private let removed: [String]
    /// In place of those of the files; empty for theirs.
    let chapters: [Recipe.Chapter]

    /// `nil` if the user wants no change.
    init?(_ invocation: Invocation, set wishes: [TagWish], remove removed: [String]) throws {
        var recipe = Recipe(sources: [], outputs: [])
        try TagFileOption.add(to: &recipe, invocation)
        try ChapterOption.add(to: &recipe, invocation)
        (listed, chapters) = (recipe.tags, recipe.chapters)
        (self.wishes, self.removed) = (wishes, removed)
        let names = Set(wishes.map { TagTable.commonName(ofKey: $0.name) })
        if let both = removed.first(where: { names.contains(TagTable.commonName(ofKey: $0)) }) {
            throw UsageError("--set and --remove name the same tag, \(both)", hint: "--set replaces all of its values")
        }
        if listed.isEmpty, wishes.isEmpty, removed.isEmpty, chapters.isEmpty { return nil }
    }

    /// The tags that the file at `path` gets.
    func tags(ofFile path: String) -> [String: Recipe.TagValues] {
        let name = path.lastPathName ?? path
        var tags = listed
        tags.set(removed.map { ($0, "") } + wishes.map { ($0.name, $0.value(for: name)) })
        return tags
    }

    /// Whether a file with this report has all that the user wants.
    func areMet(by report: SourceReport, atPath path: String) -> Bool {
        guard chapters.isEmpty else { return false }
        let held = report.tags.filter { !$0.isTechnical }
        let known = Dictionary(held.map { (TagTable.commonName(ofKey: $0.name), $0.values ?? [$0.value]) }) { first, _ in
            first
        }
        return tags(ofFile: path).allSatisfy { known[TagTable.commonName(ofKey: $0.key)] ?? [] == $0.value.all }
    }
}
