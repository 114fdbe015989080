import Console
import Glibc
import Ledger
import LedgerClient
import LocalCluster
import Storage
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

    static let url = Option<String>(
        "url",
        .text.named("URL"),
        "the URL of a coordinator to ask instead of the database",
        environment: "SLUICE_URL",
        in: .ledger
    )
    static let tokenFile = Option<String>(
        "token-file",
        .file,
        "a file with the token for --url (or set SLUICE_TOKEN)",
        environment: "SLUICE_TOKEN_FILE",
        in: .ledger
    )
    static let insecure = Switch(
        "insecure-http",
        "send the token in clear text to another machine",
        in: .ledger
    )

    /// Of commands that need the database.
    static let databaseForms: [OptionForm] = [context.form, database.form, databaseFile.form, schema.form]
    /// Of commands that also work over HTTP.
    static let forms: [OptionForm] = databaseForms + [url.form, tokenFile.form, insecure.form]

    // MARK: - Which ledger

    /// `needsDatabase`: a coordinator that the machine's settings name cannot serve the command.
    static func place(_ invocation: Invocation, needsDatabase: Bool = false) throws -> LedgerPlace {
        func said(_ option: Option<String>) -> LedgerChoice.Said? {
            invocation[option].map { ($0, invocation.origin(of: option.form) ?? .commandLine) }
        }
        let choice = LedgerChoice(
            database: said(database),
            file: said(databaseFile),
            context: said(context),
            url: said(url),
            environment: invocation.environment,
            contexts: invocation.contexts,
            machine: { try ServiceFile.read(invocation) },
            needsDatabase: needsDatabase
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
        case .coordinator: throw needsDatabase(invocation)
        case .cluster:
            let cluster = try PrivateCluster(environment: invocation.environment)
            if cluster.runningState() == nil {
                try cluster.requireServer()
                CommandOutput(environment: invocation.environment).say(
                    "starting your private cluster in \(cluster.place.folder.printable); \"sluice down\" stops it"
                )
            }
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
        let place = try place(invocation, needsDatabase: true)
        if place.isUsual, invocation.environment[url.form.environment ?? ""]?.isEmpty == false {
            // The user has chosen a coordinator, and it is not known which database that uses.
            throw needsDatabase(invocation)
        }
        var configuration = try address(place, invocation)
        // The user is waiting for the answer.
        configuration.reachTimeout = .seconds(5)
        configuration.schema = try schemaInUse(at: place, invocation).name
        return configuration
    }

    private static func needsDatabase(_ invocation: Invocation) -> Refusal {
        Refusal(
            message: "\"\(invocation.path.joined(separator: " "))\" needs the database; SLUICE_URL does not serve it",
            hint: "name the database with --database, SLUICE_DATABASE_URL or a context",
            exitCode: .configuration
        )
    }

    // MARK: - A coordinator

    /// The coordinator in use; `nil` if the ledger is reached in another way. Throws if the token cannot be read, or
    /// must not be sent.
    static func coordinator(_ invocation: Invocation) throws -> CoordinatorPlace? {
        let file: LedgerChoice.Said? = invocation[tokenFile].map {
            ($0, invocation.origin(of: tokenFile.form) ?? .commandLine)
        }
        switch try place(invocation) {
        case .coordinator(let url, _):
            return try coordinator(url, tokenFile: file, isInsecure: invocation[insecure], invocation.environment)
        case .context(let context, _):
            return try coordinator(
                of: context,
                tokenFile: file,
                isInsecure: invocation[insecure],
                invocation.environment
            )
        case .url, .variables, .cluster: return nil
        }
    }

    /// The coordinator of a context; `nil` if it has none.
    ///
    /// A file that an option names comes before that of the context. The token of a variable belongs to the URL of a
    /// variable, and is for no other coordinator.
    static func coordinator(
        of context: LedgerContext,
        tokenFile: LedgerChoice.Said? = nil,
        isInsecure: Bool = false,
        _ environment: [String: String]
    ) throws -> CoordinatorPlace? {
        guard let known = context.coordinator else { return nil }
        let isSaid = tokenFile?.origin == .commandLine
        let takesVariables = known.tokenFile == nil && environment[url.form.environment ?? ""]?.isEmpty ?? true
        let own: LedgerChoice.Said? = known.tokenFile.map { ($0, .commandLine) }
        return try coordinator(
            known.url,
            tokenFile: isSaid || takesVariables ? tokenFile : own,
            isInsecure: isInsecure || known.isInsecure,
            takesVariables ? environment : [:]
        )
    }

    static func coordinator(
        _ url: CoordinatorURL,
        tokenFile: LedgerChoice.Said?,
        isInsecure: Bool,
        _ environment: [String: String]
    ) throws -> CoordinatorPlace {
        let (text, origin) = try tokenText(tokenFile, environment) ?? ("", "")
        guard !text.isEmpty else { return CoordinatorPlace(url: url, token: nil, userAgent: Version.userAgent) }
        guard !url.isReadableByOthers || isInsecure else {
            throw Refusal(
                message: "the token would pass to \(url) in clear text",
                hint: "use https, or permit it with \(insecure.form.word)",
                exitCode: .configuration
            )
        }
        do {
            return CoordinatorPlace(url: url, token: try AccessToken(text), userAgent: Version.userAgent)
        } catch let error as LedgerError {
            throw Refusal(message: "\(origin): \(error.detail)", exitCode: .configuration)
        }
    }

    /// The token, and what it comes from. A file that an option names comes before the variables.
    static func tokenText(_ file: LedgerChoice.Said?, _ environment: [String: String]) throws -> (String, String)? {
        let said = environment["SLUICE_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        if let said, file.map({ $0.origin != .commandLine }) ?? true { return (said, "SLUICE_TOKEN") }
        guard let path = file?.text else { return nil }
        let text = try SmallFile.read(path, for: "which holds the token for the coordinator")
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 1 else {
            throw Refusal(
                message: "\(path.printable) must hold one token and nothing else",
                hint: "\"sluice tokens create\" makes a token",
                exitCode: .configuration
            )
        }
        return (String(words[0]), path.printable)
    }

    /// The same; `nil` if only this machine's services may read the address of their ledger.
    static func readablePlace(_ invocation: Invocation) throws -> LedgerPlace? {
        do {
            return try place(invocation)
        } catch let refusal as Refusal where refusal.exitCode == .permission {
            return nil
        }
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

    /// The schema in the file that names this machine's ledger.
    private static func machineSchema(_ place: LedgerPlace) throws -> (name: SchemaName, origin: SchemaOrigin)? {
        guard let path = place.machineFile, let line = try ServiceFile.read(at: path).entries(of: schema.form).last
        else { return nil }
        return (try SchemaName(line.text), .setting(path: path, line: line.line))
    }

    /// The schema of a ledger, and what determined it.
    ///
    /// A context brings its schema, at the context's own precedence. A schema variable belongs to an address in a
    /// variable, so it does not redirect a context that an option or a variable names.
    static func schemaInUse(
        at place: LedgerPlace,
        _ invocation: Invocation
    ) throws -> (name: SchemaName, origin: SchemaOrigin) {
        try schemaInUse(at: place, invocation[schema], invocation.origin(of: schema.form))
    }

    /// `said` and `by` are the value of the option or its variable, and which of the two it was.
    static func schemaInUse(
        at place: LedgerPlace,
        _ said: SchemaName?,
        _ by: Invocation.Origin?
    ) throws -> (name: SchemaName, origin: SchemaOrigin) {
        if let said, by == .commandLine { return (said, .option) }
        switch place {
        case .context(let context, by: .option), .context(let context, by: .variable):
            return (context.schema, .context(context.name))
        case .context, .url, .variables, .coordinator, .cluster: break
        }
        if let said, case .environment(let variable)? = by { return (said, .variable(variable)) }
        if let said, case .file(let path, let line)? = by { return (said, .setting(path: path, line: line)) }
        if let context = place.contextInUse { return (context.schema, .context(context.name)) }
        return try machineSchema(place) ?? (.standard, .fallback)
    }

    // MARK: - Other settings of a context

    /// The context in use; `nil` if the ledger was selected in another way.
    static func contextInUse(_ invocation: Invocation) throws -> LedgerContext? { try place(invocation).contextInUse }

    /// The roots that `--root` names, or else those of the context. Unless buckets and web servers may be there, it refuses
    /// those that the user names for this command, and leaves out others.
    static func roots(
        _ invocation: Invocation,
        mayBeServers: Bool = false
    ) throws -> [WorkerConfiguration.RootPlace] {
        let roots = try placesOfRoots(invocation)
        guard !mayBeServers else { return roots }
        // The settings file of a machine is that of its worker, too, and a context is for all commands.
        guard invocation.origin(of: ServiceOptions.root.form) == .commandLine else {
            return roots.filter(\.isFolder)
        }
        if let other = roots.first(where: { !$0.isFolder }) {
            throw UsageError.server(other) { "a worker takes it: sluice worker \($0)" }
        }
        return roots
    }

    private static func placesOfRoots(_ invocation: Invocation) throws -> [WorkerConfiguration.RootPlace] {
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

    /// The roots that map paths of this machine to locations: those that `--root` names, or else the usual ones. Buckets and web
    /// servers are among them for a command that `findsSources`; other commands refuse those that `--root` names. Usual ones of
    /// them stay beside other roots that are named: they map no path.
    static func pathRoots(_ invocation: Invocation, findsSources: Bool = false) throws -> PathRoots {
        let said = try saidRoots(invocation)
        if let server = said.servers.first, !findsSources {
            throw UsageError.server(server) { _ in "leave it out: no output is there" }
        }
        let folders =
            try said.folders.isEmpty
            ? usualPathRoots(invocation, without: Set(said.servers.map(\.name)))
            : PathRoots(words: said.folders, environment: invocation.environment)
        guard findsSources else { return folders }
        let names = said.names
        let usual = try usualRootPlaces(invocation).filter { $0.isReadableServer && !names.contains($0.name) }
        let roots = try folders.adding(said.servers, areNamed: true, environment: invocation.environment)
        do throws(UsageError) {
            return try roots.adding(usual, areNamed: false, environment: invocation.environment)
        } catch {
            // The command line does not name them, so a mistake in an address is one of the file that does.
            let place = try place(invocation)
            let origin = place.contextInUse.map { "the context \($0.name)" } ?? place.machineFile ?? "the settings"
            throw UsageError("\(origin): \(error.message)".printable, hint: error.hint, exitCode: .configuration)
        }
    }

    /// What `--root` names: folders as they were written, and buckets and web servers.
    private struct SaidRoots {
        var folders: [String] = []
        var servers: [WorkerConfiguration.RootPlace] = []

        var names: Set<String> { Set(folders.map { String($0.prefix { $0 != "=" }) } + servers.map(\.name)) }
    }

    private static func saidRoots(_ invocation: Invocation) throws -> SaidRoots {
        var roots = SaidRoots()
        for word in invocation.all(SubmitOptions.root) {
            let place = try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(word)
            if place.isFolder { roots.folders.append(word) } else { roots.servers.append(place) }
        }
        return roots
    }

    /// The roots of `usualRootWords` except those of some names; without any, the usual root.
    static func usualPathRoots(_ invocation: Invocation, without names: Set<String> = []) throws -> PathRoots {
        let words = try usualRootWords(invocation).filter { !names.contains(String($0.prefix { $0 != "=" })) }
        let roots = try PathRoots(words: words, environment: invocation.environment)
        guard let own = try clusterRoots(invocation) else { return roots }
        return roots.ofPrivateCluster(changedBy: UpCommand.line(roots: own))
    }

    /// The roots of the private cluster, as its worker's options have them; `nil` if another ledger is in use.
    static func clusterRoots(_ invocation: Invocation) throws -> [String]? {
        guard try place(invocation) == .cluster else { return nil }
        do throws(ClusterError) {
            return try PrivateCluster(environment: invocation.environment).roots
        } catch {
            // What needs the cluster will say why there is none.
            return []
        }
    }

    /// The same as `NAME=PATH`, without the rules, which only workers use.
    static func rootWords(_ invocation: Invocation) throws -> [String] {
        let said = try saidRoots(invocation).folders
        return try said.isEmpty ? usualRootWords(invocation) : said
    }

    /// The folders of the context in use, of the file that names this machine's ledger, or of the private cluster, as
    /// `NAME=PATH`.
    static func usualRootWords(_ invocation: Invocation) throws -> [String] {
        // Paths are those of this machine.
        try usualRootPlaces(invocation).filter(\.isFolder).map { "\($0.name)=\($0.path)" }
    }

    private static func usualRootPlaces(_ invocation: Invocation) throws -> [WorkerConfiguration.RootPlace] {
        let place = try place(invocation)
        var places = try place.contextInUse?.rootPlaces ?? []
        if let path = place.machineFile {
            for line in try ServiceFile.read(at: path).entries(of: ServiceOptions.root.form) {
                places.append(try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(line.text))
            }
        }
        for word in try clusterRoots(invocation) ?? [] {
            places.append(try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(word))
        }
        return places
    }
}

extension WorkerConfiguration.RootPlace {
    fileprivate var isReadableServer: Bool { !isFolder && rules.mayRead }
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
