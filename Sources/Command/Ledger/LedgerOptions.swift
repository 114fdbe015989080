import Ledger

/// The options that say where the ledger is.
enum LedgerOptions {
    static let database = Option<String>(
        "database",
        ValueType(placeholder: "URL", read: { text throws(Misfit) in text }),
        "its address; a password belongs into the variable",
        environment: "SLUICE_DATABASE_URL",
        in: .ledger
    )
    static let schema = Option<SchemaName>(
        "schema",
        .schema,
        "the schema that holds it, otherwise sluice",
        environment: "SLUICE_SCHEMA",
        in: .ledger
    )

    static let forms: [OptionForm] = [database.form, schema.form]

    static func configuration(_ invocation: Invocation) throws -> LedgerConfiguration {
        var configuration = try LedgerConfiguration(
            url: invocation[database] ?? invocation.environment["DATABASE_URL"],
            environment: invocation.environment
        )
        // Somebody sits and waits for the answer.
        configuration.reachTimeout = .seconds(5)
        if let named = invocation[schema] { configuration.schema = named }
        return configuration
    }
}

extension ValueType where Value == SchemaName {
    static let schema = ValueType(placeholder: "NAME") { text throws(Misfit) in
        do {
            return try SchemaName(text)
        } catch {
            throw Misfit(why: "cannot be the name of a schema")
        }
    }
}
