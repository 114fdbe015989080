import Console
import Glibc
import Ledger
import LocalCluster
import Worker

/// The options that select the ledger.
enum LedgerOptions {
    static let context = Option<String>(
        "context",
        .contextName,
        "the context that names the ledger; see \"sluice config\"",
        environment: "SLUICE_CONTEXT",
        in: .ledger
    )
    static let database = Option<String>(
        "database",
        .text.named("URL"),
        "the ledger's database (default: the private cluster)",
        environment: "SLUICE_DATABASE_URL",
        in: .ledger
    )
    static let databaseFile = Option<String>(
        "database-file",
        .file,
        "a file with the address of the ledger's database",
        environment: "SLUICE_DATABASE_FILE",
        in: .ledger
    )
    static let schema = Option<SchemaName>(
        "schema",
        .schema,
        "the ledger's schema (default: sluice)",
        environment: "SLUICE_SCHEMA",
        in: .ledger
    )

    static let forms: [OptionForm] = [context.form, database.form, databaseFile.form, schema.form]

    // MARK: - Which ledger

    static func place(_ invocation: Invocation) throws -> LedgerPlace {
        func said(_ option: Option<String>) -> LedgerChoice.Said? {
            invocation[option].map { ($0, invocation.origin(of: option.form) ?? .commandLine) }
        }
        let choice = LedgerChoice(
            database: said(database),
            file: said(databaseFile),
            context: said(context),
            environment: invocation.environment,
            contexts: invocation.contexts
        )
        return try choice.place()
    }

    /// The address in a file, which is one line and may hold a password.
    static func address(in path: String) throws(Refusal) -> String {
        let text = try SmallFile.read(path, for: "which holds the address of the ledger's database")
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.allSatisfy(\.isWhitespace) }
        guard lines.count == 1, let line = lines.first else {
            throw Refusal(
                message: "\(path.printable) must hold one line, the address of the ledger's database",
                hint: "as in: postgresql://sluice@db/audio",
                exitCode: .configuration
            )
        }
        return String(line.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }

    /// The file of the credential `sluice.database` that the service manager passes; `nil` if there is none.
    static func credential(_ environment: [String: String]) -> String? {
        guard let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/") else { return nil }
        let path = folder + "/sluice.database"
        return access(path, F_OK) == 0 ? path : nil
    }

    /// Whether the ledger can hold any jobs: a private cluster that was never started cannot.
    static func mayHoldJobs(_ invocation: Invocation) throws -> Bool {
        guard try place(invocation) == .cluster else { return true }
        return access(try PrivateCluster(environment: invocation.environment).place.data, F_OK) == 0
    }

    private static func address(_ place: LedgerPlace, _ invocation: Invocation) throws -> LedgerConfiguration {
        switch place {
        case .url(let url, _): return try LedgerConfiguration(url: url, environment: invocation.environment)
        case .context(let context, _): return try context.configuration(invocation.environment)
        case .variables: return try LedgerConfiguration(environment: invocation.environment)
        case .cluster:
            let cluster = try PrivateCluster(environment: invocation.environment)
            _ = try cluster.ensureRunning()
            return try LocalPostgres.configuration(cluster.place)
        }
    }

    /// PostgreSQL's variables that name a server or a database. PGAPPNAME, PGSSLMODE and the like alone do not.
    static let naming = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE"]

    /// Whether PostgreSQL's variables name a server or a database.
    static func namesDatabase(_ environment: [String: String]) -> Bool {
        naming.contains { environment[$0]?.isEmpty == false }
    }

    /// The configuration of the selected ledger. Starts the private cluster if that is selected and not running.
    static func configuration(_ invocation: Invocation) throws -> LedgerConfiguration {
        let place = try place(invocation)
        var configuration = try address(place, invocation)
        // The user is waiting for the answer.
        configuration.reachTimeout = .seconds(5)
        configuration.schema = schemaInUse(at: place, invocation).name
        return configuration
    }

    // MARK: - Which schema

    /// What determined the schema.
    enum SchemaOrigin: Sendable, Hashable {
        case option
        case variable(String)
        case context(String)
        /// A line of a settings file.
        case setting(path: String, line: Int)
        case fallback
    }

    /// The schema of a ledger, and what determined it.
    ///
    /// A context brings its schema, at the context's own precedence. A schema variable belongs to an address in a
    /// variable, so it does not redirect a context that an option or a variable names.
    static func schemaInUse(at place: LedgerPlace, _ invocation: Invocation) -> (name: SchemaName, origin: SchemaOrigin)
    {
        schemaInUse(at: place, invocation[schema], invocation.origin(of: schema.form))
    }

    /// `said` and `by` are the value of the option or its variable, and which of the two it was.
    static func schemaInUse(
        at place: LedgerPlace,
        _ said: SchemaName?,
        _ by: Invocation.Origin?
    ) -> (name: SchemaName, origin: SchemaOrigin) {
        if let said, by == .commandLine { return (said, .option) }
        switch place {
        case .context(let context, by: .option), .context(let context, by: .variable):
            return (context.schema, .context(context.name))
        case .context, .url, .variables, .cluster: break
        }
        if let said, case .environment(let variable)? = by { return (said, .variable(variable)) }
        if let said, case .file(let path, let line)? = by { return (said, .setting(path: path, line: line)) }
        if let context = place.contextInUse { return (context.schema, .context(context.name)) }
        return (.standard, .fallback)
    }

    // MARK: - Other settings of a context

    /// The context in use; `nil` if the ledger was selected in another way.
    static func contextInUse(_ invocation: Invocation) throws -> LedgerContext? { try place(invocation).contextInUse }

    /// The roots that `--root` names, or else those of the context.
    static func roots(_ invocation: Invocation) throws -> [WorkerConfiguration.RootPlace] {
        let said = invocation.all(ServiceOptions.root)
        let place = try place(invocation)
        let places = try place.contextInUse?.rootPlaces ?? []
        guard !said.isEmpty else { return places }
        // A context that an option or a variable names comes before the lines of a settings file.
        if case .file? = invocation.origin(of: ServiceOptions.root.form), place.isNamedContext, !places.isEmpty {
            return places
        }
        return said
    }

    /// The same as `NAME=PATH`, without the rules, which only workers use.
    static func rootWords(_ invocation: Invocation) throws -> [String] {
        let said = invocation.all(SubmitOptions.root)
        return try said.isEmpty ? contextRootWords(invocation) : said
    }

    /// The roots of the context in use as `NAME=PATH`.
    static func contextRootWords(_ invocation: Invocation) throws -> [String] {
        try contextInUse(invocation)?.rootPlaces.map { "\($0.name)=\($0.path)" } ?? []
    }
}

extension ValueType where Value == SchemaName {
    static let schema = ValueType(placeholder: "NAME") { text throws(Misfit) in
        do {
            return try SchemaName(text)
        } catch {
            throw Misfit(why: "is not a valid schema name")
        }
    }
}
