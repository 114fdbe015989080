package import Conversion
package import Ledger

extension RemoteLedger {
    package func presets(ofTenant tenant: String?) async throws -> [NamedPreset] {
        let request = CoordinatorConnection.Request(
            path: "/api/v1/presets",
            query: Self.query(tenant),
            operation: "list presets"
        )
        // The command knows its own.
        var found = try await ask(RecordPage<NamedPreset>.self, request).records.filter { $0.origin != .builtIn }
        for place in found.indices { found[place].showsRecipe = false }
        return found
    }

    package func preset(_ wanted: PresetReference, ofTenant tenant: String?) async throws -> NamedPreset? {
        var query = Self.query(tenant)
        if let version = wanted.version { query.append(("version", "\(version)")) }
        let request = CoordinatorConnection.Request(
            path: Self.path(wanted.name),
            query: query,
            operation: "find a preset"
        )
        guard let found = try await find(JSONRecord<NamedPreset>.self, request)?.record, found.origin != .builtIn else {
            return nil
        }
        let version = found.version.map { Int($0) }
        guard found.name == wanted.name, wanted.version == nil || version == wanted.version else {
            throw misfit(request.operation, "it is another preset")
        }
        return found
    }

    package func put(_ preset: OwnPreset, ofTenant tenant: String?) async throws -> Int32 {
        var request = try post(
            Self.path(preset.reference.name),
            ["recipe": JSONValue(text: try preset.recipe.json())],
            "add a preset"
        )
        (request.method, request.query) = ("PUT", Self.query(tenant))
        // A second time changes nothing.
        guard let version = try await ask(JSONRecord<NamedPreset>.self, request).record.version else {
            throw misfit(request.operation, "it names no version")
        }
        return version
    }

    package func removePreset(_ name: String, ofTenant tenant: String?) async throws -> Bool {
        let request = CoordinatorConnection.Request(
            method: "DELETE",
            path: Self.path(name),
            query: Self.query(tenant),
            operation: "remove a preset"
        )
        return try await find(JSONRecord<NamedPreset>.self, request) != nil
    }

    private static func path(_ name: String) -> String { "/api/v1/presets/\(CoordinatorConnection.escaped(name))" }

    private static func query(_ tenant: String?) -> [(name: String, value: String)] {
        tenant.map { [("tenant", $0)] } ?? []
    }

    private func misfit(_ operation: String, _ why: String) -> LedgerError {
        LedgerError(
            .coordinatorUnexpectedAnswer,
            during: operation,
            "the answer of the coordinator at \(place.url) cannot be read: \(why)"
        )
    }
}
