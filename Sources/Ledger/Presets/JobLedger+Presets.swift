public import Conversion

extension JobLedger {
    /// The presets of the ledger that the caller may use, by name; or those that a tenant may use.
    public func presets(ofTenant tenant: String? = nil) async throws -> [NamedPreset] {
        try await look("list presets") { connection in
            try connection.rows("select * from \(schema).list_presets(\(tenant))", NamedPreset.init(reading:))
        }
    }

    /// A preset of the ledger that the caller may use, or that a tenant may, with its recipe. `nil` if there is none.
    public func preset(_ wanted: PresetReference, ofTenant tenant: String? = nil) async throws -> NamedPreset? {
        let version = wanted.version.map { Int32(clamping: $0) }
        var found = try await look("find a preset") { connection in
            try connection.first(
                "select * from \(schema).find_preset(\(wanted.name), \(version), \(tenant))",
                NamedPreset.init(reading:)
            )
        }
        found?.showsRecipe = true
        return found
    }

    /// Gives a preset a new version, or creates it: for a tenant, or for all. Returns the number of the version. One with
    /// the same recipe stays as it is.
    @discardableResult
    public func put(_ preset: OwnPreset, ofTenant tenant: String? = nil) async throws -> Int32 {
        let recipe = JSON(text: try preset.recipe.json())
        let name = preset.reference.name
        return try await settle("add a preset") { connection, _ in
            try connection.value("select \(schema).put_preset(\(name), \(recipe), \(tenant))")
        }
    }

    /// Removes a preset. False if there is none.
    public func removePreset(_ name: String, ofTenant tenant: String? = nil) async throws -> Bool {
        try await settle("remove a preset") { connection, mayHaveHappened in
            let isRemoved: Bool = try connection.value("select \(schema).remove_preset(\(name), \(tenant))")
            // An earlier try may have removed it.
            return isRemoved || mayHaveHappened
        }
    }
}
