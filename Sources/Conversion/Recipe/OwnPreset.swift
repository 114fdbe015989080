/// A preset that users have made: a recipe with one source and one output, whose locations stand for those of a
/// conversion.
///
/// A conversion copies what the preset says and keeps only its name and version, so it does not change with the preset.
public struct OwnPreset: Sendable, Hashable {
    public let reference: PresetReference
    /// With the locations `{source}` and `{stem}.{ext}`, and an output whose format names a container.
    public let recipe: Recipe
    /// Of the output.
    public let format: AudioFormat

    /// The location of the source in the recipe of a preset.
    public static let source = "{source}"
    /// The location of the output in the recipe of a preset.
    public static let output = "{stem}.{ext}"
    /// The most bytes of the recipe as JSON.
    public static let maximumBytes = 8_192

    /// Takes from `recipe` what a preset may say, and throws if it says more, or if a preset may not have the name.
    public init(_ reference: PresetReference, _ recipe: Recipe) throws(RecipeError) {
        if let reason = Self.mistake(inName: reference.name) {
            throw RecipeError(.valueNotAllowed, at: "name", reason)
        }
        try recipe.validate()
        try Self.check(recipe)
        let format = try recipe.outputs[0].audioFormat()
        var recipe = recipe
        recipe.outputs[0].location = Self.output
        recipe.outputs[0].format = format
        (recipe.outputs[0].preset, recipe.outputs[0].ownPreset) = (nil, nil)
        recipe.tags.merge(recipe.outputs[0].tags) { _, own in own }
        recipe.outputs[0].tags = [:]
        let bytes = try recipe.json().utf8.count
        guard bytes <= Self.maximumBytes else {
            let reason = "has \(bytes) bytes, and that of a preset may have \(Self.maximumBytes); shorten its tags"
            throw RecipeError(.valueNotAllowed, at: "recipe", reason)
        }
        (self.reference, self.recipe, self.format) = (reference, recipe, format)
    }

    /// The preset that a recipe in JSON describes. The error names the position of a mistake.
    public init(_ reference: PresetReference, json bytes: [UInt8]) throws(RecipeError) {
        try self.init(reference, Recipe(json: bytes))
    }

    /// A built-in preset in this form, so that others can be compared with it and made from it.
    public init(_ preset: Preset) {
        let output = Recipe.Output(location: Self.output, format: preset.format)
        reference = PresetReference(name: preset.name)
        recipe = Recipe(from: Recipe.Source(location: Self.source), to: output)
        format = preset.format
    }

    /// Why a preset that users make cannot have this name; `nil` if it can.
    public static func mistake(inName name: String) -> String? {
        guard PresetReference.isName(name) else {
            return "\"\(name.prefix(100).description.plain)\" cannot be the name of a preset; allowed: "
                + PresetReference.nameRule
        }
        return Preset.all.contains { $0.name == name } ? "\"\(name)\" is the name of a built-in preset" : nil
    }

    private static func check(_ recipe: Recipe) throws(RecipeError) {
        func refuse(_ path: String, _ reason: String) -> RecipeError { RecipeError(.valueNotAllowed, at: path, reason) }
        if recipe.scan != nil { throw refuse("recipe.scan", "a preset converts; \"sluice scan\" scans") }
        let edit = "cannot be part of a preset; convert with the recipe instead"
        let (source, output) = (recipe.sources[0], recipe.outputs[0])
        if recipe.timeline != nil { throw refuse("recipe.timeline", edit) }
        if recipe.sources.count > 1 { throw refuse("recipe.sources[1]", "a preset has one source") }
        if recipe.outputs.count > 1 { throw refuse("recipe.outputs[1]", "a preset has one output") }
        if source.location != Self.source { throw refuse("recipe.sources[0].location", "must be \(Self.source)") }
        let ofSource: [(name: String, isSet: Bool)] = [
            ("track", source.track != nil), ("ranges", !source.ranges.isEmpty), ("raw", source.raw != nil),
            ("name", source.name != nil),
        ]
        if let wrong = ofSource.first(where: \.isSet) {
            throw refuse("recipe.sources[0].\(wrong.name)", "cannot be part of a preset")
        }
        if output.range != nil { throw refuse("recipe.outputs[0].range", edit) }
        if output.onConflict != .fail {
            throw refuse("recipe.outputs[0].onConflict", "cannot be part of a preset; set it for each conversion")
        }
        if output.loudness?.scope == .album {
            throw refuse("recipe.outputs[0].loudness.scope", "album cannot be part of a preset; set it for a batch")
        }
        if output.replayGain == .album {
            throw refuse("recipe.outputs[0].replayGain", "album cannot be part of a preset; set it for a batch")
        }
    }
}

// MARK: - What a preset makes

extension OwnPreset {
    /// The output at `location` as the preset describes it, in the container that the extension names, if that takes the
    /// codec.
    public func output(at location: String, onConflict: Recipe.ConflictPolicy = .fail) -> Recipe.Output {
        var output = recipe.outputs[0]
        output.location = location
        output.onConflict = onConflict
        output.format = format.adapted(toExtension: Recipe.Output.fileExtension(of: location))
        output.ownPreset = reference
        return output
    }

    /// Adds to `target` what the preset says about all of a conversion, but for tags that it has already.
    public func settle(_ target: inout Recipe) {
        target.damage = recipe.damage
        target.limits = recipe.limits
        target.verify = target.verify || recipe.verify
        target.strictLoss = target.strictLoss || recipe.strictLoss
        target.dropTags = target.dropTags || recipe.dropTags
        target.tags.merge(recipe.tags) { own, _ in own }
    }

    /// What it makes, in one line: `mp3 96k 44.1 kHz mono, loudness podcast, 2 tags`.
    public var summary: String {
        var words = [(format.codec ?? FormatTable.defaultCodec(for: format.container)).rawValue]
        if let rate = format.bitRate { words.append(Figures.bitRate(rate)) }
        if let rate = format.bitRatePerChannel { words.append("\(Figures.bitRate(rate)) per channel") }
        if let quality = format.quality { words.append("quality \(Figures.decimals(quality, 2))") }
        if let bits = format.bitDepth { words.append("\(bits)-bit") }
        if let rate = format.sampleRateHz { words.append(Figures.hertz(rate)) }
        if let layout = format.layout {
            words.append(layout.description)
        } else if let count = format.channelCount {
            words.append(count == 1 ? "mono" : Figures.count(count, "channel"))
        }
        var parts = [words.joined(separator: " ") + " in \(format.container.rawValue)"]
        let output = recipe.outputs[0]
        if let loudness = output.loudness { parts.append("loudness \(loudness.target.text)") }
        if output.replayGain != nil { parts.append("ReplayGain") }
        if let spec = output.spec { parts.append("spec \(spec.rawValue)") }
        if recipe.dropTags { parts.append("no tags") }
        if !recipe.tags.isEmpty { parts.append(Figures.count(recipe.tags.count, "tag")) }
        if recipe.damage != .strict { parts.append("on damage \(recipe.damage.rawValue)") }
        if recipe.verify { parts.append("verified") }
        if recipe.strictLoss { parts.append("strict loss") }
        return parts.joined(separator: ", ")
    }

    /// A field in which two presets differ.
    public struct Difference: Sendable, Hashable {
        /// `format.bitRate`, `tags.artist`
        public let field: String
        /// As JSON; `nil` where the field is missing.
        public let first: String?
        public let second: String?
    }

    /// The fields in which another preset differs, by name.
    public func differences(to other: OwnPreset) throws(RecipeError) -> [Difference] {
        let (mine, others) = (try fields(), try other.fields())
        return Set(mine.keys).union(others.keys).sorted().filter { mine[$0] != others[$0] }
            .map { Difference(field: $0, first: mine[$0], second: others[$0]) }
    }

    /// What the preset says, as JSON: fields of its output, and of the whole recipe.
    public func fields() throws(RecipeError) -> [String: String] {
        var recipe = recipe
        recipe.outputs[0].format = format
        var members = JSONValue(text: try recipe.json()).members ?? [:]
        var output = members["outputs"]?.items?.first?.members ?? [:]
        for name in ["version", "sources", "outputs"] { members[name] = nil }
        for name in ["location", "onConflict"] { output[name] = nil }
        var fields: [String: String] = [:]
        for (name, value) in members { Self.add(value, name, to: &fields) }
        for (name, value) in output { Self.add(value, name, to: &fields) }
        return fields
    }

    private static func add(_ value: JSONValue, _ name: String, to fields: inout [String: String]) {
        if let members = value.members {
            for (inner, value) in members { add(value, "\(name).\(inner)", to: &fields) }
        } else {
            // `try?`: what was read as JSON can be written.
            fields[name] = try? JSONText.line(value)
        }
    }
}
