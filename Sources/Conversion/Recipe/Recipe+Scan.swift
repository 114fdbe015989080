extension Recipe {
    /// Checks a recipe that is a scan: it has one whole source and nothing that only a conversion can do.
    ///
    /// The main track as its file describes it is the only thing to scan: the digest of another track, or of bytes that are
    /// read in another way, would say nothing about the digest of an earlier scan. How damage is treated does not matter.
    func checkScan() throws(RecipeError) {
        func refuse(_ path: String, _ reason: String) -> RecipeError { RecipeError(.valueNotAllowed, at: path, reason) }
        guard sources.count == 1 else {
            throw refuse("recipe.sources", "a scan must have exactly one source, not \(sources.count)")
        }
        try sources[0].validate(at: "recipe.sources[0]")
        let whole = Source(location: sources[0].location)
        guard sources[0] == whole else {
            throw refuse("recipe.sources[0]", "a scan takes the whole main track; only the location can be given")
        }
        let others: [(field: String, isSet: Bool)] = [
            ("outputs", !outputs.isEmpty), ("timeline", timeline != nil), ("tags", !tags.isEmpty), ("verify", verify),
            ("strictLoss", strictLoss), ("dropTags", dropTags),
            ("chapters", !chapters.isEmpty), ("markSources", markSources),
            ("copyPackets", copyPackets),
        ]
        if let other = others.first(where: \.isSet) {
            throw refuse("recipe.\(other.field)", "a scan writes nothing")
        }
        try limits?.validate()
    }
}
