import Synchronization
import Testing

@testable import Ledger

extension LedgerLab {
    private static let gates = Atomic<Int32>(0)

    /// Calls `body` while another session has run `statements` in a transaction and has not committed it.
    ///
    /// The transaction commits when `body` returns. Needs a connection of the lab for each call that is open.
    func whileOpen(_ statements: [String], _ body: () async throws -> Void) async throws {
        let number = Self.gates.add(1, ordering: .relaxed).newValue
        let gate = try await Connection.open(lab.configuration, until: .now + Lab.farTooLong)
        try await gate.run("close a gate", within: Lab.farTooLong) {
            try $0.execute("select pg_advisory_lock(4711, \(number))")
        }
        let wait = "select pg_advisory_xact_lock(4711, \(number))"
        let source = lab.source
        let session = Task {
            try await source.run("hold", within: Lab.farTooLong) { connection in
                try connection.transaction {
                    for statement in statements + [wait] { try connection.execute(Statement(stringLiteral: statement)) }
                }
            }
        }
        let result: Result<Void, any Error>
        do {
            try await lab.untilRunning(wait, waitsFor: "advisory")
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        await gate.close()
        _ = try await session.value
        try result.get()
    }
}
