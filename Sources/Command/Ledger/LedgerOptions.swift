import Glibc
import Ledger

/// The options that say where the ledger is.
enum LedgerOptions {
    static let database = Option<String>(
        "database",
        ValueType(placeholder: "URL", read: { text throws(Misfit) in text }),
        "its address, if it is not the private cluster's",
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

    /// Who says where the ledger is.
    enum Place: Sendable, Hashable {
        /// An address; what it leaves open, PostgreSQL's own variables say.
        case url(String, Invocation.Origin)
        /// PostgreSQL's own variables alone.
        case variables
        /// Nobody does: it is that of the private cluster.
        case cluster
    }

    static func place(_ invocation: Invocation) -> Place {
        if let url = invocation[database] {
            return .url(url, invocation.origin(of: database.form) ?? .commandLine)
        }
        if let url = invocation.environment["DATABASE_URL"] {
            return .url(url, .environment(variable: "DATABASE_URL"))
        }
        return namesDatabase(invocation.environment) ? .variables : .cluster
    }

    /// Whether the ledger may hold anything: a private cluster that was never started does not.
    static func mayHoldJobs(_ invocation: Invocation) throws -> Bool {
        guard place(invocation) == .cluster else { return true }
        return access(try LocalCluster(environment: invocation.environment).place.data, F_OK) == 0
    }

    private static func address(_ invocation: Invocation) throws -> LedgerConfiguration {
        switch place(invocation) {
        case .url(let url, _): return try LedgerConfiguration(url: url, environment: invocation.environment)
        case .variables: return try LedgerConfiguration(environment: invocation.environment)
        case .cluster:
            let cluster = try LocalCluster(environment: invocation.environment)
            _ = try cluster.ensureRunning()
            return try LocalPostgres.configuration(cluster.place)
        }
    }

    /// Whether PostgreSQL's own variables say where to go. PGAPPNAME, PGSSLMODE and the like alone do not.
    static func namesDatabase(_ environment: [String: String]) -> Bool {
        ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE"].contains { name in
            environment[name].map { !$0.isEmpty } ?? false
        }
    }

    static let forms: [OptionForm] = [database.form, schema.form]

    /// The ledger that is named, or that of the private cluster, which is then started if need be.
    static func configuration(_ invocation: Invocation) throws -> LedgerConfiguration {
        var configuration = try address(invocation)
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
