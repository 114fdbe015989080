import Conversion
import HTTPServer
import Ledger

/// Presets: the built-in ones, and those that operators put into the ledger.
enum PresetOperations {
    private static let name = Operation.Parameter("preset", .text(1...PresetReference.longestName), "the preset's name")
    private static let tenant = Operation.Parameter("tenant", .tenantName, "whose preset; without it, that for all")

    static let all: [Operation] = [
        Operation(
            name: "listPresets",
            method: .get,
            path: "/api/v1/presets",
            summary: "named formats: the built-in ones, and those in the ledger that the caller may use",
            access: .readers,
            parameters: [Operation.Parameter("tenant", .tenantName, "those that this tenant may use")],
            answer: Shapes.all("presets", Shapes.preset)
        ) { call in
            let builtIn = try Preset.all.map { try NamedPreset($0) }
            var own = try await call.ledger.presets(ofTenant: call.text("tenant"))
            // Commands describe a preset by its recipe.
            for place in own.indices { own[place].showsRecipe = true }
            return try .json(RecordPage(builtIn + own))
        },
        Operation(
            name: "showPreset",
            method: .get,
            path: "/api/v1/presets/{preset}",
            summary: "a preset with its recipe",
            access: .readers,
            parameters: [
                name,
                Operation.Parameter("version", .whole(1...Int64(Int32.max)), "this version; without it, the latest"),
                Operation.Parameter("tenant", .tenantName, "the one that this tenant uses"),
            ],
            answer: Shapes.preset
        ) { call in
            guard let preset = try await find(call, version: call.whole("version").map { Int($0) }) else {
                throw missing(call)
            }
            return try .json(JSONRecord(preset))
        },
        Operation(
            name: "putPreset",
            method: .put,
            path: "/api/v1/presets/{preset}",
            summary: "create a preset, or give it a new version; a recipe that is the latest already changes nothing",
            access: .operators,
            parameters: [name, tenant],
            body: .json(
                .object([
                    .must(
                        "recipe",
                        .map(.anything),
                        "with one source, {source}, and one output, as \"sluice presets show --json\" prints it"
                    )
                ])
            ),
            answer: Shapes.preset,
            run: put
        ),
        Operation(
            name: "removePreset",
            method: .delete,
            path: "/api/v1/presets/{preset}",
            summary: "remove a preset; jobs that were submitted with it stay as they are. The answer is what it was",
            access: .operators,
            parameters: [name, tenant],
            answer: Shapes.preset
        ) { call in
            guard let name = call.text("preset"),
                let preset = try await call.ledger.preset(PresetReference(name: name), ofTenant: call.text("tenant")),
                preset.tenant == call.text("tenant"),
                try await call.ledger.removePreset(name, ofTenant: call.text("tenant"))
            else { throw missing(call) }
            return try .json(JSONRecord(preset))
        },
    ]

    private static func find(_ call: Call, version: Int? = nil) async throws -> NamedPreset? {
        let name = call.text("preset") ?? ""
        if version == nil, let preset = Preset.all.first(where: { $0.name == name }) {
            var preset = try NamedPreset(preset)
            preset.showsRecipe = true
            return preset
        }
        guard PresetReference.isName(name) else { return nil }
        let wanted = PresetReference(name: name, version: version)
        return try await call.ledger.preset(wanted, ofTenant: call.text("tenant"))
    }

    private static func missing(_ call: Call) -> Problem {
        Problem(.noSuchThing, "there is no preset \"\((call.text("preset") ?? "").plain)\"")
    }

    @Sendable private static func put(_ call: Call) async throws -> HTTPAnswer {
        let name = call.text("preset") ?? ""
        if let mistake = OwnPreset.mistake(inName: name) {
            throw Problem(.badParameter, mistakes: [.init(pointer: "preset", detail: mistake)])
        }
        let recipe = call.body?.members?["recipe"] ?? .object([:])
        let text = try JSONText.line(recipe)
        let preset: OwnPreset
        do throws(RecipeError) {
            preset = try OwnPreset(PresetReference(name: name), json: Array(text.utf8))
        } catch {
            let pointer = error.path.replacing("[", with: "/").replacing("]", with: "").replacing(".", with: "/")
            throw Problem(.badBody, mistakes: [.init(pointer: "/" + pointer, detail: error.reason)])
        }
        let version = try await call.ledger.put(preset, ofTenant: call.text("tenant"))
        let wanted = PresetReference(name: name, version: Int(version))
        guard let stored = try await call.ledger.preset(wanted, ofTenant: call.text("tenant")) else {
            throw missing(call)
        }
        return try .json(JSONRecord(stored))
    }
}
