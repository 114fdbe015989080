import Console
import Ledger
import LedgerClient
import Storage

/// The ledger that a command uses, and what selected it.
enum LedgerPlace: Sendable, Hashable {
    /// An address. PostgreSQL's variables supply what it leaves out.
    case url(String, AddressOrigin)
    /// A context of the user's configuration. PostgreSQL's variables supply what its address leaves out.
    case context(LedgerContext, by: ContextOrigin)
    /// A coordinator, which is asked over HTTP.
    case coordinator(CoordinatorURL, AddressOrigin)
    /// PostgreSQL's variables alone.
    case variables
    /// No setting selects a ledger: the private cluster.
    case cluster

    /// What gave an address.
    enum AddressOrigin: Sendable, Hashable {
        case option(String)
        case variable(String)
        /// A line of a settings file.
        case setting(path: String, line: Int)
        /// A credential of the service manager.
        case credential(String)
    }

    /// What selected a context.
    enum ContextOrigin: Sendable, Hashable {
        case option
        case variable(String)
        /// It is the current context of this file.
        case file(String)
    }

    /// The context in use; `nil` if the ledger was selected in another way.
    var contextInUse: LedgerContext? {
        if case .context(let context, _) = self { context } else { nil }
    }

    /// The file that set up this machine's services, if it names the ledger.
    var machineFile: String? {
        switch self {
        case .url(_, .setting(let path, _)), .coordinator(_, .setting(let path, _)): path
        case .url, .coordinator, .context, .variables, .cluster: nil
        }
    }

    /// What selected the ledger, where a user may have forgotten it; `nil` for what stands on the command line, and for
    /// contexts, which are named anyway.
    var reason: String? {
        switch self {
        case .url(_, let origin), .coordinator(_, let origin):
            switch origin {
            case .option: nil
            case .variable(let name): name
            case .setting(let path, _): path
            case .credential: "a credential of the service"
            }
        case .variables: "PostgreSQL's variables"
        case .context, .cluster: nil
        }
    }

    /// Whether it is used because nothing else was chosen: the current context, or the private cluster.
    var isUsual: Bool {
        switch self {
        case .context(_, by: .file), .cluster: true
        case .context(_, by: .option), .context(_, by: .variable), .url, .coordinator, .variables: false
        }
    }

    /// Whether an option or a variable names a context.
    var isNamedContext: Bool {
        switch self {
        case .context(_, by: .option), .context(_, by: .variable): true
        case .context(_, by: .file), .url, .coordinator, .variables, .cluster: false
        }
    }
}

/// The settings of the command line and the environment that select a ledger.
struct LedgerChoice: Sendable {
    typealias Said = (text: String, origin: Invocation.Origin)

    /// `--database`, `--database-file` and `--context`, each with its variable.
    let database: Said?
    var file: Said?
    let context: Said?
    /// `--url`, for commands that have it.
    var url: Said?
    let environment: [String: String]
    let contexts: ContextMemory
    /// The settings of this machine's services, for commands that have not read them: they name the ledger if nothing
    /// else does.
    var machine: (@Sendable () throws -> SettingsFile?)?
    /// Whether this machine's coordinator cannot serve the command.
    var needsDatabase = false

    /// The context that always exists, unless the user has another one of that name: the private cluster.
    static let privateContext = "private"

    /// Applies the precedence: options, then variables, then the current context, then this machine's settings. Among
    /// variables, one that names a context comes before addresses: a context sets more, and users set it for the moment.
    /// A coordinator comes before the address of a database, which services of the same machine may have in their
    /// environment.
    func place() throws -> LedgerPlace {
        try refuseTwoOptions()
        // The address in a file is read only if it is used.
        let addresses: [(said: Said, isFile: Bool)] = [database.map { ($0, false) }, file.map { ($0, true) }]
            .compactMap(\.self)
        if let first = addresses.first(where: { $0.said.origin == .commandLine }) { return try address(first) }
        if let url, url.origin == .commandLine { return try coordinator(url) }
        if let context { return try named(context) }
        if let url { return try coordinator(url) }
        if let first = addresses.first(where: { !Self.isFromFile($0.said.origin) }) { return try address(first) }
        if let url = environment["DATABASE_URL"], !url.isEmpty { return .url(url, .variable("DATABASE_URL")) }
        if LedgerOptions.namesDatabase(environment) { return .variables }
        if let path = LedgerOptions.credential(environment) {
            return .url(try LedgerOptions.address(in: path), .credential(path))
        }
        if let first = addresses.first { return try address(first) }
        let book = try contexts.book()
        guard let current = book.current, let file = contexts.file else { return try ofMachine() ?? .cluster }
        return .context(try book.context(named: current), by: .file(file.path))
    }

    /// The ledger of this machine's services; `nil` if the machine is not set up for one.
    private func ofMachine() throws -> LedgerPlace? {
        do {
            guard let file = try machine?() else { return nil }
            func said(_ form: OptionForm) -> Said? {
                file.entries(of: form).last.map { ($0.text, .file(path: file.path, line: $0.line)) }
            }
            if !needsDatabase, let url = said(LedgerOptions.url.form) { return try coordinator(url) }
            if let database = said(LedgerOptions.database.form) { return try address((database, false)) }
            // The packages name a file that the administrator has yet to write.
            guard let named = said(LedgerOptions.databaseFile.form) else { return nil }
            let isThere = FileFacts.of(path: named.text, followingLinks: true) != nil
            return isThere || !FileFacts.isMissing ? try address((named, true)) : nil
        } catch let refusal as Refusal where refusal.exitCode == .permission {
            throw Refusal(
                message: "this machine's services have a ledger, but you may not read its address: \(refusal.message)",
                hint:
                    "name the ledger with your own login: \"sluice config set-context NAME --database URL\", or --url "
                    + "URL of a coordinator; \"--context \(Self.privateContext)\" uses a private cluster of yours",
                exitCode: .permission
            )
        }
    }

    /// No message quotes the URL: it may contain a password that the user has put there.
    private func coordinator(_ said: Said) throws -> LedgerPlace {
        do throws(CoordinatorURLError) {
            return .coordinator(try CoordinatorURL(said.text), Self.source(said.origin, of: LedgerOptions.url.form))
        } catch {
            let word = LedgerOptions.url.form.word
            switch said.origin {
            case .environment(let variable):
                throw Refusal(message: "\(variable) in the environment: \(error.why)", exitCode: .configuration)
            case .file(let path, let line):
                throw Refusal(message: "\(path.printable):\(line): \(error.why)", exitCode: .configuration)
            case .commandLine, .fallback: throw UsageError("\(word): \(error.why)")
            }
        }
    }

    private static func source(_ origin: Invocation.Origin, of form: OptionForm) -> LedgerPlace.AddressOrigin {
        switch origin {
        case .environment(let variable): .variable(variable)
        case .file(let path, let line): .setting(path: path, line: line)
        case .commandLine, .fallback: .option(form.word)
        }
    }

    private static func isFromFile(_ origin: Invocation.Origin) -> Bool {
        if case .file = origin { true } else { false }
    }

    private func refuseTwoOptions() throws(UsageError) {
        let said = [
            (LedgerOptions.database.form, database?.origin), (LedgerOptions.databaseFile.form, file?.origin),
            (LedgerOptions.context.form, context?.origin), (LedgerOptions.url.form, url?.origin),
        ].filter { $0.1 == .commandLine }.map(\.0)
        guard said.count > 1 else { return }
        throw UsageError(
            "\(said[0].word) and \(said[1].word) cannot be combined",
            hint: said[1].name == LedgerOptions.url.form.name
                ? "a coordinator knows its database"
                : said[1].name == LedgerOptions.context.form.name
                    ? "the context already has an address" : "the file already has an address"
        )
    }

    private func address(_ chosen: (said: Said, isFile: Bool)) throws -> LedgerPlace {
        let (text, origin) = chosen.said
        let form = chosen.isFile ? LedgerOptions.databaseFile.form : LedgerOptions.database.form
        return .url(chosen.isFile ? try LedgerOptions.address(in: text) : text, Self.source(origin, of: form))
    }

    private func named(_ said: Said) throws -> LedgerPlace {
        do {
            let book = try contexts.book()
            if said.text == Self.privateContext, !book.contexts.contains(where: { $0.name == said.text }) {
                return .cluster
            }
            let context = try book.context(named: said.text)
            guard case .environment(let variable) = said.origin else { return .context(context, by: .option) }
            return .context(context, by: .variable(variable))
        } catch let error as UnknownContext {
            guard case .environment(let variable) = said.origin else { throw error.refusal() }
            throw Refusal(
                message: "\(variable) in the environment: \(error.message)",
                hint: error.hint,
                exitCode: .configuration
            )
        }
    }

    /// The variable that overrides the current context; `nil` if none does.
    static func overriding(_ environment: [String: String]) -> String? {
        let ours = [
            LedgerOptions.context.form, LedgerOptions.url.form, LedgerOptions.database.form,
            LedgerOptions.databaseFile.form,
        ].compactMap(\.environment)
        return (ours + ["DATABASE_URL"] + LedgerOptions.naming).first { environment[$0]?.isEmpty == false }
    }
}
