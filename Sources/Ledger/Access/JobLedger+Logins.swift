import Conversion

/// What a login of the database may do with the ledger.
public enum LoginRole: String, Sendable, Hashable, Codable, CaseIterable {
    case viewer, submitter, `operator`
    /// Claims, converts and publishes jobs.
    case worker
    /// Acts for others: a coordinator that serves the HTTP API.
    case face

    /// The role of the database.
    public var databaseRole: String { "sluice_\(rawValue)" }

    /// The settings of a new login with these roles, as `login_limits` in the ledger gives them, without that which only a
    /// superuser may set.
    public static func limits(of roles: [LoginRole]) -> [String] {
        [
            "idle_in_transaction_session_timeout = '5min'",
            "statement_timeout = '\(roles.allSatisfy { $0 == .viewer } ? "5min" : "1h")'",
        ]
    }
}

/// A login of the database, and its roles of the ledger.
public struct LoginRecord: Sendable, Hashable {
    public var name = ""
    /// `sluice_submitter`
    public var roles: [String] = []

    package init() {}
}

extension LoginRecord: LedgerRecord {
    package static var blank: LoginRecord { LoginRecord() }

    package static let fields: [RecordField<LoginRecord>] = [
        .always("name", \.name, .text, "its name"),
        .always("roles", \.roles, .texts, "its roles of the ledger, as the database names them"),
    ]
}

/// Only who may create logins of the server may change them.
extension JobLedger {
    /// Creates a login. False if there is a login or role with that name. Without a password, the server has to recognise
    /// the login in another way, such as by the user's name on its machine.
    public func createLogin(_ name: String, _ roles: [LoginRole], password: String?) async throws -> Bool {
        try await settle("create a login") { connection, mayHaveHappened in
            let verifier = try password.map { try connection.verifier(of: $0, for: name) }
            let isNew: Bool = try connection.value(
                "select \(schema).create_login(\(name), \(roles.map(\.databaseRole)), \(verifier))"
            )
            return isNew || mayHaveHappened
        }
    }

    /// All logins with roles of the ledger, by name.
    public func logins() async throws -> [LoginRecord] {
        try await look("list logins") { connection in
            try connection.rows("select * from \(schema).list_logins()", LoginRecord.init(reading:))
        }
    }

    /// Removes a login that is only for the ledger. False if there is none of that name.
    public func removeLogin(_ name: String) async throws -> Bool {
        try await settle("remove a login") { connection, mayHaveHappened in
            let wasThere: Bool = try connection.value("select \(schema).remove_login(\(name))")
            return wasThere || mayHaveHappened
        }
    }
}
