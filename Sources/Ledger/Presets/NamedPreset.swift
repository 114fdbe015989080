public import Conversion
public import FoundationEssentials

/// A preset as lists show it: a built-in one, one in a file, or one in the ledger.
public struct NamedPreset: Sendable, Hashable {
    /// Where a preset comes from.
    public enum Origin: String, Sendable, Hashable, Codable, CaseIterable {
        case builtIn = "built-in"
        /// A file of the user or of the machine.
        case file
        /// The ledger, for all.
        case ledger
        /// The ledger, for one tenant.
        case tenant
    }

    public var name: String
    public var origin: Origin
    /// In the ledger.
    public var version: Int32?
    public var tenant: String?
    public var file: String?
    /// When the version was made, and by whom.
    public var createdAt: Date?
    public var createdBy: String?
    /// As JSON. `own()` reads it if this build knows its version.
    public var recipe: String
    /// Whether JSON shows the recipe. Commands leave it out of lists.
    package var showsRecipe = false

    package init(
        name: String,
        origin: Origin,
        version: Int32? = nil,
        tenant: String? = nil,
        file: String? = nil,
        recipe: String
    ) {
        (self.name, self.origin, self.version) = (name, origin, version)
        (self.tenant, self.file, self.recipe) = (tenant, file, recipe)
    }

    package init(_ preset: Preset) throws(RecipeError) {
        self.init(name: preset.name, origin: .builtIn, recipe: try OwnPreset(preset).recipe.json())
    }

    package init(_ preset: OwnPreset, file: String) throws(RecipeError) {
        self.init(name: preset.reference.name, origin: .file, file: file, recipe: try preset.recipe.json())
    }

    /// The preset for use. Throws if this build cannot read it.
    public func own() throws(RecipeError) -> OwnPreset {
        if let preset = builtIn { return OwnPreset(preset) }
        return try OwnPreset(PresetReference(name: name, version: version.map { Int($0) }), json: Array(recipe.utf8))
    }

    private var builtIn: Preset? { origin == .builtIn ? Preset.all.first { $0.name == name } : nil }

    /// What it makes, in one line.
    package var summary: String {
        if let builtIn { return builtIn.summary }
        do { return try own().summary } catch { return "this version cannot read it: \(error)" }
    }

    /// The format in the recipe, which a later version may have written.
    private var format: JSONValue {
        JSONValue(text: recipe).members?["outputs"]?.items?.first?.members?["format"] ?? .object([:])
    }
}

extension NamedPreset: LedgerRecord, ListedRecord {
    package static let listName = "presets"
    package static var blank: NamedPreset { NamedPreset(name: "", origin: .ledger, recipe: "{}") }

    package static let fields: [RecordField<NamedPreset>] = [
        .always("preset", \.name, .text, "its name"),
        .derived("summary", .text, isRequired: true, "what it is for") { $0.summary },
        .derived("format", .anything, isRequired: true, "as in recipes") { $0.format },
        .special(
            "from",
            .choice(Origin.allCases.map(\.rawValue)),
            isRequired: true,
            "where it comes from",
            read: { preset, row in preset.origin = try (row["tenant"] as String?) == nil ? .ledger : .tenant },
            encode: { preset, encoder, key in try encoder.encode(preset.origin, forKey: key) },
            decode: { preset, decoder, key in preset.origin = try decoder.decode(Origin.self, forKey: key) }
        ),
        .maybe("version", \.version, .epoch, "in the ledger: the number of its version"),
        .maybe("tenant", \.tenant, .text, "whose it is; missing: it is for all"),
        RecordField<NamedPreset>.maybe("file", \.file, .text, "the file that describes it").withoutColumn,
        .maybe("createdAt", \.createdAt, .moment, "when the version was made"),
        .maybe("createdBy", \.createdBy, .text, "who made the version"),
        .special(
            "recipe",
            .anything,
            "as docs/recipe.md describes; missing where a command lists presets, and for built-in ones in a list",
            read: { preset, row in preset.recipe = try (row["recipe"] as JSON).text },
            encode: { preset, encoder, key in
                if preset.showsRecipe { try encoder.encode(JSONValue(text: preset.recipe), forKey: key) }
            },
            decode: { preset, decoder, key in
                guard let recipe = try decoder.decodeIfPresent(JSONValue.self, forKey: key) else { return }
                (preset.recipe, preset.showsRecipe) = (try JSONText.line(recipe), true)
            }
        ),
    ]
}
