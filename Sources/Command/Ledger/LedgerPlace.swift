import Ledger

/// Where the ledger is that a command works with, and who says so.
enum LedgerPlace: Sendable, Hashable {
    /// An address; what it leaves open, PostgreSQL's own variables say.
    case url(String, Invocation.Origin)
    /// A context of the user's configuration; what its address leaves open, PostgreSQL's own variables say.
    case context(LedgerContext, by: ContextOrigin)
    /// PostgreSQL's own variables alone.
    case variables
    /// No setting does: it is the address of the private cluster.
    case cluster

    /// Who named a context.
    enum ContextOrigin: Sendable, Hashable {
        case option
        case variable(String)
        /// It is the current one of this file.
        case file(String)
    }

    /// The context in use; `nil` where the ledger is named in another way.
    var contextInUse: LedgerContext? {
        if case .context(let context, _) = self { context } else { nil }
    }
}

/// What the command line and its variables say of the ledger.
struct LedgerChoice: Sendable {
    typealias Said = (text: String, origin: Invocation.Origin)

    /// `--database` or its variable, and `--context` or its variable.
    let database: Said?
    let context: Said?
    let environment: [String: String]
    let contexts: ContextMemory

    /// The option goes before the variables, and these before the current context. A context that a variable names goes before
    /// addresses in variables: it says more, and people set it for the moment.
    func place() throws -> LedgerPlace {
        if let database, database.origin == .commandLine {
            guard context?.origin != .commandLine else {
                throw UsageError(
                    "--database and --context exclude each other",
                    hint: "a context has an address of its own"
                )
            }
            return .url(database.text, .commandLine)
        }
        if let context { return try named(context) }
        if let database { return .url(database.text, database.origin) }
        if let url = environment["DATABASE_URL"], !url.isEmpty {
            return .url(url, .environment(variable: "DATABASE_URL"))
        }
        if LedgerOptions.namesDatabase(environment) { return .variables }
        let book = try contexts.book()
        guard let current = book.current, let file = contexts.file else { return .cluster }
        return .context(try book.context(named: current), by: .file(file.path))
    }

    private func named(_ said: Said) throws -> LedgerPlace {
        do {
            let context = try contexts.book().context(named: said.text)
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

    /// The variable that goes before the current context, if one does.
    static func overriding(_ environment: [String: String]) -> String? {
        let ours = [LedgerOptions.context.form.environment, LedgerOptions.database.form.environment].compactMap(\.self)
        return (ours + ["DATABASE_URL"] + LedgerOptions.naming).first { environment[$0]?.isEmpty == false }
    }
}
