/// What a login needs that the server has refused.
enum AccessHint {
    /// For a connection that was refused with `sqlState`, or with none because libpq itself gave up. `message` may be in
    /// any language.
    static func connecting(_ sqlState: String?, _ message: String, needsPassword: Bool, user: String) -> String? {
        switch sqlState {
        case nil where needsPassword:
            "the server asks for a password: write it into the address, or into ~/.pgpass"
        case "28P01":
            "check the user and the password of the address; an administrator sets a new one with \\password in psql"
        case "28000" where message.contains("pg_hba.conf"):
            "on the server, pg_hba.conf needs a line for this user, this database and this machine"
        case "28000" where message.lowercased().contains("peer") || message.lowercased().contains("ident"):
            "the server knows this user by the account of the system: sudo -u \(user) sluice ..., or another user"
        case "28000":
            "an administrator creates logins: sluice logins create \(user) --role submitter"
        // A migration does not create databases.
        case "3D000": "create the database, as with \"createdb NAME\", or correct its address"
        case "42501":
            "an administrator gives \(user) a role, as with \"grant sluice_viewer to \(user)\", or runs: "
                + "grant connect on database NAME to \(user)"
        default: nil
        }
    }

    /// For a statement that was refused, as with `permission denied for function cancel_jobs`: the server's words may be
    /// in any language, and the name is in them.
    static func using(_ message: String, user: String) -> String? {
        let words = message.split { !($0.isLetter || $0.isNumber || $0 == "_") }
        guard let roles = words.lazy.compactMap({ Self.roles[String($0)] }).first else { return nil }
        return
            "\(user) needs the role \(roles.joined(separator: " or ")): an administrator runs: grant \(roles[0]) to \(user)"
    }

    /// The roles that may use each function and view, the least powerful first, as `grants.sql` lists them.
    static let roles: [String: [String]] = {
        let order = ["sluice_viewer", "sluice_submitter", "sluice_operator", "sluice_worker", "sluice_face"]
        var found: [String: Set<String>] = [:]
        let text = LedgerFunctions.current.files.last?.sql ?? ""
        for statement in text.split(separator: "insert into permission").dropFirst() {
            // What stands between quotes: the roles, then the names.
            let words = statement.prefix { $0 != ";" }.split(separator: "'", omittingEmptySubsequences: false)
            let quoted = words.indices.filter { !$0.isMultiple(of: 2) }.map { String(words[$0]) }
            let roles = quoted.filter(order.contains)
            for name in quoted where !order.contains(name) { found[name, default: []].formUnion(roles) }
        }
        return found.mapValues { roles in order.filter(roles.contains) }
    }()
}
