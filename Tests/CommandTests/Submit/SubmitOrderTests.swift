import Foundation
import Ledger
import TestSupport
import Testing

/// A submission asks the ledger before it looks for files: the search for millions of them takes minutes.
///
/// A folder that does not exist shows the order: its error tells that the search has begun.
struct SubmitOrderTests {
    private let words = ["submit", "-r", "gone"] + LedgerBench.usual

    @Test func aServerThatIsAwayIsToldBeforeTheSearch() throws {
        let folder = try TemporaryFolder.create()
        let away = ["SLUICE_DATABASE_URL": "postgresql://localhost/x?host=/nowhere"]
        let run = try Sluice.run(words, in: folder, environment: away)
        #expect(run.status == .exited(5) && run.errorText.contains("code ledger_cannot_reach"), "\(run.errorText)")
    }

    @Test func aDatabaseWithoutALedgerIsToldBeforeTheSearch() throws {
        let folder = try TemporaryFolder.create()
        let server = try PrivatePostgres.shared()
        let empty = ["SLUICE_DATABASE_URL": server.url(database: try server.createDatabase())]
        let run = try Sluice.run(words, in: folder, environment: empty)
        #expect(run.status == .exited(7) && !run.errorText.contains("gone does not exist"), "\(run.errorText)")
    }

    @Test func limitsOfTheTenantAreToldBeforeTheSearch() throws {
        let remote = try RemoteBench()
        let bench = remote.bench
        try bench.run("tenants", "create", "radio").checked()
        try bench.run(["tenants", "limit", "radio", "--top-priority", "5", "--max-attempts", "2"]).checked()
        let made = try bench.output("tokens", "create", "--role", "submitter", "--name", "ci", "--tenant", "radio")
        let token = made.trimmingCharacters(in: .whitespacesAndNewlines)
        let url = try remote.serve(at: "socket")
        let search = ["submit", "-r", "gone", "--root", "in=gone", "--to", "out:{stem}.mp3"]
        func submit(_ more: String...) throws -> Run {
            try remote.run(search + more, at: url, environment: ["SLUICE_TOKEN": token])
        }
        for more in [["--priority", "6"], ["--max-attempts", "3"]] {
            let run = try submit(more[0], more[1])
            #expect(run.status == .exited(6) && run.errorText.contains("the tenant radio may "), "\(run.errorText)")
        }
        let allowed = try submit("--priority", "5")
        #expect(allowed.status == .exited(4) && allowed.errorText.contains("gone does not exist"))
    }

    @Test func aLedgerThatWouldTakeTheJobsIsAskedNothingElse() async throws {
        let bench = try LedgerBench()
        let run = try bench.run(words + ["--queue", "new", "--key", "k"])
        #expect((run.status, run.errorText) == (.exited(4), "error: gone does not exist\n"))
        #expect(try await bench.ledger.batches().isEmpty)
        #expect(try await !bench.ledger.queues().contains { $0.name == "new" })
    }
}
