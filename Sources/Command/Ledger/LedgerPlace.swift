import Console
import Ledger

/// The ledger that a command uses, and what selected it.
enum LedgerPlace: Sendable, Hashable {
    /// An address. PostgreSQL's variables supply what it leaves out.
    case url(String, Invocation.Origin)
    /// A context of the user's configuration. PostgreSQL's variables supply what its address leaves out.
    case context(LedgerContext, by: ContextOrigin)
    /// PostgreSQL's variables alone.
    case variables
    /// No setting selects a ledger: the private cluster.
    case cluster

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
}

/// The settings of the command line and the environment that select a ledger.
struct LedgerChoice: Sendable {
    typealias Said = (text: String, origin: Invocation.Origin)

    /// `--database` and `--context`, each with its variable.
    let database: Said?
    let context: Said?
    let environment: [String: String]
    let contexts: ContextMemory

    /// Applies the precedence: options, then variables, then the current context. Among variables, one that names a
    /// context comes before addresses: a context sets more, and users set it for the moment.
    func place() throws -> LedgerPlace {
        if let database, database.origin == .commandLine {
            guard context?.origin != .commandLine else {
                throw UsageError(
                    "--database and --context cannot be combined",
                    hint: "the context already has an address"
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

    /// The variable that overrides the current context; `nil` if none does.
    static func overriding(_ environment: [String: String]) -> String? {
        let ours = [LedgerOptions.context.form.environment, LedgerOptions.database.form.environment].compactMap(\.self)
        return (ours + ["DATABASE_URL"] + LedgerOptions.naming).first { environment[$0]?.isEmpty == false }
    }
}
