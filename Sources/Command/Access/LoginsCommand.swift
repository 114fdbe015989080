import Console
import Conversion
import Ledger
import Worker

/// `sluice logins`: lists the logins of the database that may use the ledger, creates and removes them.
enum LoginsCommand {
    private static let name = Argument(name: "NAME", summary: "the login's name", completion: .nothing)
    private static let role = Option<LoginRole>(
        "role",
        .choice("ROLE") { role in
            switch role {
            case .viewer: "lists"
            case .submitter: "submits, lists, and changes its own jobs"
            case .operator: "lists, and changes all jobs, queues and workers"
            case .worker: "runs workers and coordinators"
            case .face: "runs a coordinator that serves the HTTP API"
            }
        },
        "what the login permits; may be given several times",
        isRepeatable: true,
        in: .work
    )
    private static let noPassword = Switch(
        "no-password",
        "give it no password: the server knows it in another way, such as peer",
        in: .work
    )
    private static let print = Switch(
        "print",
        "print the statements for psql, and contact no server",
        in: .output
    )

    static let value: Subcommand = Subcommand(
        name: "logins",
        summary: "list the database's logins; create and remove them",
        discussion: [
            "A login of the database lets a person or a service use the ledger without a coordinator. Creating one needs "
                + "the right to create logins, which the server's administrator has: sudo -u postgres sluice logins ..."
        ],
        options: ListOptions.databaseForms,
        examples: [Example(line: "sluice logins", purpose: "who may use the ledger")],
        children: [
            Subcommand(
                name: "create",
                summary: "create a login and print its address, once",
                arguments: [name],
                options: [role.form, noPassword.form, print.form],
                leavesOut: [ListOptions.quiet.form],
                examples: [
                    Example(line: "sluice logins create ada --role submitter", purpose: "for a person who submits"),
                    Example(
                        line: "sluice logins create pump --role worker --role viewer",
                        purpose: "for a machine's services and doctor"
                    ),
                    Example(
                        line: "sluice logins create ada --role submitter --print",
                        purpose: "what an administrator runs in psql"
                    ),
                ],
                run: create
            ),
            Subcommand(
                name: "remove",
                summary: "remove a login that is only for the ledger",
                arguments: [name],
                leavesOut: [ListOptions.quiet.form, ListOptions.json.form],
                examples: [Example(line: "sluice logins remove ada", purpose: "she can connect no more")],
                run: remove
            ),
        ],
        standsAlone: true,
        run: list
    )

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let logins = try LedgerWork.runOnDatabase(invocation) { try await $0.logins() }
        try Listing(invocation, console).print(
            logins,
            ids: \.name,
            empty: "no logins besides the owner; \"sluice logins create NAME --role submitter\" creates one"
        ) {
            var table = TextTable([.init(title: "NAME", isElastic: true), .init(title: "ROLES", isElastic: true)])
            for login in logins { table.add([.init(login.name), .init(login.roles.joined(separator: ", "))]) }
            return table.lines(for: console.data)
        }
        return .success
    }

    @Sendable private static func create(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let name = invocation.word(name)
        try UsageError.check(name, in: Self.name, .name(LedgerRules.loginName, of: "login"))
        let roles = invocation.all(role).reduce(into: [LoginRole]()) { if !$0.contains($1) { $0.append($1) } }
        guard !roles.isEmpty else {
            let known = LoginRole.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--role is missing", hint: "one or more of \(known)")
        }
        if invocation[print] {
            try console.print(statements(name, roles, hasPassword: !invocation[noPassword]).joined(separator: "\n"))
            return .success
        }
        let password = invocation[noPassword] ? nil : newPassword()
        let (isNew, server) = try administrating(invocation) { ledger in
            (try await ledger.createLogin(name, roles, password: password), ledger.configuration.server)
        }
        guard isNew else {
            throw Refusal(
                message: "there is a login or role \"\(name)\" already",
                hint: "grant it a role in psql: grant \(roles[0].databaseRole) to \(quoted(name))"
            )
        }
        let address = address(of: server, name, password)
        let record = NewLogin(name: name, roles: roles.map(\.databaseRole), address: address)
        let isJSON = invocation[ListOptions.json]
        do {
            try console.print(isJSON ? JSONText.line(record) : address)
        } catch {
            // The user has not seen the password. The login would be useless, and its name taken.
            _ = try LedgerWork.runOnDatabase(invocation) { try await $0.removeLogin(name) }
            throw error
        }
        guard !isJSON else { return .success }
        console.say(
            (password == nil ? "" : "this is the only time that the password is shown; ")
                + "\(name) uses it with \"sluice config set-context NAME --database ADDRESS\""
        )
        return .success
    }

    @Sendable private static func remove(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let name = invocation.word(name)
        let wasThere = try administrating(invocation) { try await $0.removeLogin(name) }
        guard wasThere else {
            throw Refusal(
                message: "no such login \"\(name.printable)\"",
                hint: "\"sluice logins\" lists them",
                exitCode: .notFound
            )
        }
        console.say("removed the login \(name.printable)")
        return .success
    }

    /// Does what only an administrator of the server may do.
    private static func administrating<Value: Sendable>(
        _ invocation: Invocation,
        _ body: @escaping @Sendable (JobLedger) async throws -> Value
    ) throws -> Value {
        do {
            return try LedgerWork.runOnDatabase(invocation, body)
        } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
            throw Refusal(
                message: "your login may not create or remove logins: \(error.detail.printable)",
                hint:
                    "the server's administrator may, such as: sudo -u postgres sluice logins ...; \"create --print\" shows "
                    + "the statements",
                exitCode: .permission
            )
        }
    }

    private struct NewLogin: Encodable {
        let name: String
        let roles: [String]
        let address: String
    }

    // MARK: - Texts

    /// What creates the login in psql, which asks for the password and sends only what the server stores of it.
    static func statements(_ name: String, _ roles: [LoginRole], hasPassword: Bool) -> [String] {
        ["create role \(quoted(name)) login;"]
            + roles.map { "grant \($0.databaseRole) to \(quoted(name));" }
            + LoginRole.limits(of: roles).map { "alter role \(quoted(name)) set \($0);" }
            + (hasPassword ? ["\\password \(quoted(name))"] : [])
    }

    /// The rule for names permits no quotes.
    private static func quoted(_ name: String) -> String { "\"\(name)\"" }

    /// 24 letters and digits: 142 bits.
    private static func newPassword() -> String {
        let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789")
        var random = SystemRandomNumberGenerator()
        return String((0..<24).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] })
    }

    /// The address of `server`, as `postgresql://postgres@db/audio`, for another login. Other machines cannot reach a
    /// socket, so its place is taken by this machine's name.
    static func address(
        of server: String,
        _ name: String,
        _ password: String?,
        host: String = WorkerConfiguration.hostName
    )
        -> String
    {
        let scheme = "postgresql://"
        let rest = server.hasPrefix(scheme) ? server.dropFirst(scheme.count) : server[...]
        let place = rest.firstIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest
        let slash = place.firstIndex(of: "/") ?? place.endIndex
        var hosts = place[..<slash]
        if hosts.isEmpty || hosts.hasPrefix("%2F") {
            let port = hosts.lastIndex(of: ":").map { hosts[$0...] } ?? ""
            hosts = Substring(host + (port == ":5432" ? "" : port))
        }
        let secret = password.map { ":\($0)" } ?? ""
        return "\(scheme)\(name)\(secret)@\(hosts)\(place[slash...])"
    }
}
