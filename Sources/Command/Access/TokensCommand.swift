import Console
import Conversion
import FoundationEssentials
import Ledger

/// `sluice tokens`: lists tokens, creates and revokes them.
enum TokensCommand {
    private static let which = Argument(
        name: "TOKEN",
        summary: "names or ids of tokens",
        count: .oneOrMore,
        completion: .ledger(.tokens)
    )
    private static let ended = Switch("ended", "also list tokens that have expired or were revoked", in: .output)
    private static let role = Option<AccessRole>(
        "role",
        .choice("ROLE") { role in
            switch role {
            case .viewer: "lists"
            case .submitter: "submits, lists, and changes its own jobs"
            case .operator: "lists, and changes all jobs, queues and workers"
            }
        },
        "what the token permits",
        in: .work
    )
    private static let name = Option<String>(
        "name",
        .name(LedgerRules.tokenName, of: "token"),
        "a name for lists and the audit",
        in: .work
    )
    private static let tenant = Option<String>(
        "tenant",
        .tenantName,
        "the tenant whose batches it sees and changes; by default all",
        in: .work
    )
    private static let queue = Option<String>(
        "queue",
        .queueName,
        "the only queue to which it submits and whose jobs it changes",
        in: .work
    )
    private static let expires = Option<Duration>(
        "expires",
        .duration,
        "how long it is valid; without it, until it is revoked",
        in: .work
    )

    static let value: Subcommand = Subcommand(
        name: "tokens",
        summary: "list tokens; create and revoke them",
        discussion: [
            "A token lets a program use the ledger through a coordinator, without a login of the database. "
                + "The ledger stores only a hash of it."
        ],
        options: ListOptions.databaseForms + [ended.form],
        examples: [Example(line: "sluice tokens", purpose: "all valid tokens")],
        children: [
            Subcommand(
                name: "create",
                summary: "create a token and print it, once",
                options: [role.form, name.form, tenant.form, queue.form, expires.form],
                leavesOut: [ended.form, ListOptions.quiet.form],
                examples: [
                    Example(
                        line: "sluice tokens create --role submitter --name ci --expires 90d",
                        purpose: "a token for a program"
                    )
                ],
                run: create
            ),
            Subcommand(
                name: "revoke",
                summary: "revoke tokens",
                arguments: [which],
                leavesOut: [ended.form],
                examples: [Example(line: "sluice tokens revoke ci", purpose: "from now on the token is refused")],
                run: revoke
            ),
        ],
        standsAlone: true,
        run: list
    )

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (now, tokens) = try LedgerWork.runOnDatabase(invocation) { ledger in
            (try await ledger.time(), try await ledger.tokens(withEnded: invocation[ended]))
        }
        try show(tokens, now, invocation, console)
        return .success
    }

    @Sendable private static func create(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        guard let role = invocation[role] else { throw UsageError("--role is missing: viewer, submitter or operator") }
        guard let name = invocation[name] else { throw UsageError("--name is missing") }
        guard role != .operator || invocation[tenant] == nil else {
            throw UsageError("--role operator: not with --tenant; the operators of a ledger belong to no tenant")
        }
        let tenant = invocation[tenant]
        let token = try LedgerWork.runOnDatabase(invocation) { ledger in
            try await ledger.createToken(
                named: name,
                role: role,
                tenant: tenant,
                queue: invocation[queue],
                validFor: invocation[expires]
            )
        }
        let isJSON = invocation[ListOptions.json]
        do {
            let record = NewToken(name: name, role: role.rawValue, token: token.text)
            try console.print(isJSON ? JSONText.line(record) : token.text)
        } catch {
            // A token that was never shown would stay valid, and its name would stay taken.
            try revokeUnread(name, invocation, console, because: error)
        }
        if !isJSON { console.say("this is the only time that the token is shown") }
        return .success
    }

    /// Revokes a token that could not be printed. Always throws: why it could not be printed, or that it is still valid.
    private static func revokeUnread(
        _ name: String,
        _ invocation: Invocation,
        _ console: CommandOutput,
        because failure: any Error
    ) throws -> Never {
        let word = name.printable
        do {
            _ = try LedgerWork.runOnDatabase(invocation) { ledger in try await ledger.revokeToken(name) }
        } catch {
            console.warn(
                "the token \"\(word)\" was created, but not printed, and could not be revoked: it is still valid; "
                    + "revoke it with \"sluice tokens revoke \(word)\""
            )
            throw failure
        }
        console.warn("the token \"\(word)\" could not be printed, so it was revoked")
        throw failure
    }

    @Sendable private static func revoke(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let words = invocation.words(which)
        let (now, tokens) = try LedgerWork.runOnDatabase(invocation) { ledger in
            let known = try await ledger.tokens(withEnded: true)
            // All are looked up first, so that a mistyped one changes nothing.
            for word in words where !known.contains(where: { $0.name == word || "\($0.id)" == word }) {
                throw Refusal(
                    message: "no such token \"\(word.printable)\"",
                    hint: "\"sluice tokens --ended\" lists them",
                    exitCode: .notFound
                )
            }
            var revoked: [TokenRecord] = []
            for word in words {
                if let token = try await ledger.revokeToken(word) { revoked.append(token) }
            }
            return (try await ledger.time(), revoked)
        }
        try show(tokens, now, invocation, console)
        return .success
    }

    private static func show(
        _ tokens: [TokenRecord],
        _ now: Date,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        try Listing(invocation, console).print(
            tokens,
            ids: { "\($0.id)" },
            empty: "no tokens; \"sluice tokens create\" creates one"
        ) { table(tokens, now).lines(for: console.data) }
    }

    private static func table(_ tokens: [TokenRecord], _ now: Date) -> TextTable {
        var table = TextTable([
            .init(title: "ID", isNumber: true), .init(title: "NAME", isElastic: true), .init(title: "ROLE"),
            .init(title: "TENANT", mayGo: true), .init(title: "QUEUE", mayGo: true), .init(title: "STATE"),
            .init(title: "EXPIRES", mayGo: true), .init(title: "USED"), .init(title: "CREATED BY", mayGo: true),
        ])
        for token in tokens {
            table.add([
                .init("\(token.id)"), .init(token.name), .init(token.role.rawValue), .init(token.tenant ?? "-"),
                .init(token.queue ?? "-"), .init(token.state.rawValue, token.state == .valid ? nil : .careful),
                .init(
                    token.expiresAt.map { $0 > now ? TimeWords.ahead($0, at: now) : TimeWords.ago($0, at: now) } ?? "-"
                ),
                .init(token.usedAt.map { TimeWords.ago($0, at: now) } ?? "never"), .init(token.createdBy),
            ])
        }
        return table
    }

    private struct NewToken: Encodable {
        let name: String
        let role: String
        let token: String
    }
}
