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
    /// Files that give tags or a cover.
    let extras: [Recipe.Source]

    /// `nil` if the user wants no change.
    init?(_ invocation: Invocation, set wishes: [TagWish], remove removed: [String], from model: String?) throws {
        var recipe = Recipe(sources: [], outputs: [])
        try TagFileOption.add(to: &recipe, invocation)
        try ChapterOption.add(to: &recipe, invocation)
        if let model {
            guard model != "-" else { throw UsageError("--from: name a file, because - is standard input") }
            recipe.sources.append(Recipe.Source(location: model, use: .tags))
        }
        try CoverOption.add(to: &recipe, invocation)
        (chapters, extras) = (recipe.chapters, recipe.sources)
        // A list that a program has made may have them. Outputs do not.
        listed = recipe.tags.filter { !Container.describesItself(byTag: $0.key) }
        (self.wishes, self.removed) = (wishes, removed)
        if let wish = wishes.first(where: { Container.describesItself(byTag: $0.name) }) {
            throw UsageError("--set \(wish.name): encoders set this tag themselves; it cannot be set")
        }
        let names = Set(wishes.map { TagTable.commonName(ofKey: $0.name) })
        if let both = removed.first(where: { names.contains(TagTable.commonName(ofKey: $0)) }) {
            throw UsageError("--set and --remove name the same tag, \(both)", hint: "--set replaces all of its values")
        }
        if recipe.tags.isEmpty, wishes.isEmpty, removed.isEmpty, chapters.isEmpty, extras.isEmpty { return nil }
    }

    /// The tags that the file at `path` gets.
    func tags(ofFile path: String) -> [String: Recipe.TagValues] {
        var tags = listed
        let values = wishes.map { (wish: $0, value: $0.value(for: path)) }
        // A file without a folder in its name keeps what {dir} would set. Only a wish without a value removes a tag.
        let known = values.filter { !$0.wish.hasFields || !$0.value.isEmpty }
        tags.set(removed.map { ($0, "") } + known.map { ($0.wish.name, $0.value) })
        return tags
    }

    /// Whether a file with this report has all that the user wants.
    func areMet(by report: SourceReport, atPath path: String) -> Bool {
        guard chapters.isEmpty, extras.isEmpty else { return false }
        var known: [String: TagReport] = [:]
        for tag in report.tags where !tag.isTechnical || Container.describesPackets(byTag: tag.name) {
            // A tag may be meant by its name in the table, or by that in the file.
            for name in Set([tag.tableName.lowercased(), tag.name.lowercased()]) where known[name] == nil {
                known[name] = tag
            }
        }
        return tags(ofFile: path).dividingTotals.allSatisfy { key, values in
            // Of long tags, and of many, the report has only a part.
            guard let tag = known[TagTable.commonName(ofKey: key)] else {
                return values.removes && report.unlistedTags == nil
            }
            return tag.isShortened != true && tag.values ?? [tag.value] == values.all
        }
    }
}
