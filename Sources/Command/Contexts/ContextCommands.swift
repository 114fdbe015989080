import API
import Console
import Conversion
import Ledger
import LedgerClient

/// `sluice config use`, `contexts`, `set-context` and `delete-context`.
enum ContextCommands {
    private static let known = Argument(
        name: "NAME",
        summary: "the context's name",
        count: .optional,
        completion: .ledger(.contexts)
    )
    private static let named = Argument(name: "NAME", summary: "the context's name", completion: .ledger(.contexts))
    private static let none = Switch(
        "none",
        "use no context: environment variables or the private cluster apply",
        in: .ledger
    )
    private static let root = Option<String>(
        "root",
        .rootWithRules,
        "a default root for commands; replaces all roots that the context had",
        isRepeatable: true,
        in: .ledger
    )
    private static let colour = Option<ContextColour>(
        "context-color",
        .choice("COLOR"),
        "the colour of its name",
        in: .ledger
    )

    static let use: Subcommand = Subcommand(
        name: "use",
        summary: "choose the context that commands use",
        arguments: [known],
        options: [none.form],
        leavesOut: LedgerOptions.forms + [ConfigCommand.origin.form, ConfigCommand.json.form],
        leavesOutHint: "give the context's name as an argument: sluice config use NAME",
        examples: [
            Example(line: "sluice config use staging", purpose: "use the context staging from now on"),
            Example(line: "sluice config use --none", purpose: "use the private cluster again"),
        ],
        run: choose
    )

    static let list: Subcommand = Subcommand(
        name: "contexts",
        summary: "list the contexts; * marks the current one",
        leavesOut: LedgerOptions.forms + [ConfigCommand.origin.form],
        examples: [Example(line: "sluice config contexts", purpose: "all contexts")],
        run: listAll
    )

    static let set: Subcommand = Subcommand(
        name: "set-context",
        summary: "add or change a context",
        discussion: [
            "A new context needs --database, or --url with the URL of a coordinator, or both: then only commands that "
                + "need the database use it. --token-file names the file with the token; the token itself is not "
                + "saved. Changing a context keeps the fields that you do not give. Keep passwords in ~/.pgpass: a "
                + "password in the address is saved in the file."
        ],
        arguments: [named],
        options: [root.form, colour.form],
        leavesOut: [LedgerOptions.context.form, ConfigCommand.origin.form, ConfigCommand.json.form],
        examples: [
            Example(
                line: "sluice config set-context prod --database postgresql://user@db/audio",
                purpose: "add the context prod"
            ),
            Example(
                line: "sluice config set-context radio --url https://sluice.example.org",
                purpose: "a context for a coordinator"
            ),
        ],
        run: write
    )

    static let remove: Subcommand = Subcommand(
        name: "delete-context",
        summary: "remove a context; its ledger is not changed",
        arguments: [named],
        leavesOut: LedgerOptions.forms + [ConfigCommand.origin.form, ConfigCommand.json.form],
        leavesOutHint: "give the context's name as an argument",
        examples: [Example(line: "sluice config delete-context staging", purpose: "remove the context staging")],
        run: forget
    )

    // MARK: - Switching

    @Sendable private static func choose(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let name = invocation.words(known).first
        guard (name == nil) == invocation[none] else {
            throw name == nil
                ? UsageError(
                    "NAME is missing",
                    hint: "\"sluice config contexts\" lists the contexts; --none uses no context"
                )
                : UsageError("NAME and --none cannot be combined")
        }
        let book = try change(invocation) { book in
            do throws(UnknownContext) {
                try book.use(name)
            } catch {
                throw error.refusal()
            }
        }
        if let name {
            let context = try book.context(named: name)
            try console.print("now using context \(name): \(try place(of: context, invocation))")
        } else {
            try console.print("now using no context")
        }
        remarkVariables(invocation, console)
        return .success
    }

    /// Warns if a variable overrides the current context.
    private static func remarkVariables(_ invocation: Invocation, _ console: CommandOutput) {
        guard let variable = LedgerChoice.overriding(invocation.environment) else { return }
        console.warn("\(variable) is set in the environment and overrides the current context")
    }

    // MARK: - Listing

    /// The JSON form of a context.
    private struct Record: Encodable {
        let context: String
        let isCurrent: Bool
        let database: String?
        let url: String?
        let tokenFile: String?
        let schema: String
        let roots: [String]
        let color: String?
    }

    @Sendable private static func listAll(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let book = try invocation.contexts.book()
        var table = TextTable([
            .init(title: ""), .init(title: "NAME"), .init(title: "LEDGER", isElastic: true), .init(title: "SCHEMA"),
            .init(title: "ROOTS", isElastic: true),
        ])
        for context in book.contexts {
            let isCurrent = context.name == book.current
            let environment = invocation.environment
            if ConfigCommand.isJSON(invocation) {
                let record = Record(
                    context: context.name,
                    isCurrent: isCurrent,
                    database: try context.server(environment),
                    url: context.coordinator?.url.description,
                    tokenFile: context.coordinator?.tokenFile,
                    schema: context.schema.text,
                    roots: context.roots,
                    color: context.colour?.rawValue
                )
                try console.print(JSONText.line(record))
            } else {
                table.add([
                    .init(isCurrent ? "*" : ""), .init(context.name, context.ink),
                    .init(try context.place(environment).printable),
                    .init(context.database == nil ? "-" : context.schema.text),
                    .init(context.roots.isEmpty ? "-" : context.roots.joined(separator: ", ")),
                ])
            }
        }
        if book.contexts.isEmpty {
            console.say("no contexts; add one with \"sluice config set-context NAME --database URL\", or --url URL")
        } else if !ConfigCommand.isJSON(invocation) {
            try console.print(table.lines(for: console.data).joined(separator: "\n"))
            if book.current != nil { remarkVariables(invocation, console) }
        }
        return .success
    }

    // MARK: - Adding, changing, removing

    @Sendable private static func write(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let name = try name(invocation)
        let database = said(LedgerOptions.database, invocation)
        // Before anything is written: reject an address that libpq cannot read now, rather than at every later
        // command.
        if let database { _ = try LedgerConfiguration(url: database) }
        let roots = try ServiceOptions.absoluteRoots(invocation.all(root), mayBeServers: true, invocation)
        let url = try said(LedgerOptions.url, invocation).map(coordinatorURL)
        let tokenFile = try absoluteTokenFile(invocation)
        let isInsecure = invocation.origin(of: LedgerOptions.insecure.form) == .commandLine
        let book = try change(invocation) { book in
            var context: LedgerContext
            if book.has(name) {
                context = try book.context(named: name)
                if let database { context.database = database }
            } else if let database {
                context = LedgerContext(name: name, database: database)
            } else if url != nil {
                context = LedgerContext(name: name)
            } else {
                throw UsageError("the new context \(name) needs an address", hint: "use --database URL or --url URL")
            }
            if let url {
                context.coordinator = context.coordinator ?? LedgerContext.Coordinator(url: url)
                context.coordinator?.url = url
            }
            if tokenFile != nil || isInsecure, context.coordinator == nil {
                throw UsageError("--token-file and --insecure-http need a coordinator", hint: "use --url URL")
            }
            if let tokenFile { context.coordinator?.tokenFile = tokenFile }
            if isInsecure { context.coordinator?.isInsecure = true }
            if let schema = said(LedgerOptions.schema, invocation) { context.schema = schema }
            if !roots.isEmpty { context.roots = roots }
            if let colour = invocation[colour] { context.colour = colour }
            book.set(context)
        }
        let context = try book.context(named: name)
        try console.print("context \(name): \(try place(of: context, invocation))")
        if database != nil, context.hasPassword, let file = invocation.contexts.file {
            console.warn(
                "the password is stored in \(file.path.printable), readable only by you; ~/.pgpass is a better place"
            )
        }
        if book.current != name { console.say("use it with \"sluice config use \(name)\"") }
        return .success
    }

    @Sendable private static func forget(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let name = try name(invocation)
        _ = try change(invocation) { book in
            // Commands would then go to another ledger that the user did not choose.
            guard book.current != name else {
                throw Refusal(
                    message: "\(name) is the current context",
                    hint: "first use another: sluice config use NAME, or --none"
                )
            }
            do throws(UnknownContext) {
                try book.remove(name)
            } catch {
                throw error.refusal()
            }
        }
        try console.print("removed context \(name); its ledger is unchanged")
        return .success
    }

    private static func name(_ invocation: Invocation) throws -> String {
        let word = invocation.word(named)
        do throws(Misfit) {
            return try ValueType<String>.contextName.read(word)
        } catch {
            throw UsageError("NAME \(word.printable): \(error.why)", hint: error.hint)
        }
    }

    /// The value from the command line only. Variables describe the current environment and are not saved.
    private static func said<Value>(_ option: Option<Value>, _ invocation: Invocation) -> Value? {
        invocation.origin(of: option.form) == .commandLine ? invocation[option] : nil
    }

    private static func coordinatorURL(_ text: String) throws -> CoordinatorURL {
        do throws(CoordinatorURLError) {
            return try CoordinatorURL(text)
        } catch {
            throw UsageError("\(LedgerOptions.url.form.word): \(error.why)")
        }
    }

    /// With its absolute path, so that it holds in every folder. The file need not exist yet.
    private static func absoluteTokenFile(_ invocation: Invocation) throws -> String? {
        guard let path = said(LedgerOptions.tokenFile, invocation) else { return nil }
        return try PathRoots(words: [], environment: invocation.environment).absolute(path)
    }

    private static func place(of context: LedgerContext, _ invocation: Invocation) throws -> String {
        let server = try context.server(invocation.environment).map { "\($0.printable), schema \(context.schema)" }
        return [context.coordinator?.url.description, server].compactMap(\.self).joined(separator: "; ")
    }

    private static func change(
        _ invocation: Invocation,
        _ body: (inout ContextBook) throws -> Void
    ) throws -> ContextBook {
        guard let file = invocation.contexts.file else {
            throw Refusal(
                message: "cannot find the configuration: neither XDG_CONFIG_HOME nor HOME is set",
                hint: "set XDG_CONFIG_HOME",
                exitCode: .configuration
            )
        }
        var changed = ContextBook()
        try file.change { book in
            try body(&book)
            changed = book
        }
        return changed
    }
}
