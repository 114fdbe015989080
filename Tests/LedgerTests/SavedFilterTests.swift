import Conversion
import TestSupport
import Testing

@testable import Ledger

/// Filters that have names: who shares them, and what is refused.
struct SavedFilterTests {
    @Test func aNameHasOneFilter() async throws {
        let lab = try await LedgerLab()
        try await lab.ledger.saveFilter("b", "state=failed")
        try await lab.ledger.saveFilter("a", "code=truncated")
        try await lab.ledger.saveFilter("b", "state=waiting")
        let filters = try await lab.ledger.filters()
        #expect(filters.map(\.name) == ["a", "b"])
        #expect(filters.map(\.query) == ["code=truncated", "state=waiting"])
        #expect(try await lab.ledger.removeFilter("b"))
        #expect(try await !lab.ledger.removeFilter("b"))
        #expect(try await lab.ledger.filters().map(\.name) == ["a"])
    }

    @Test func thoseWhoSeeTheSameJobsShareThem() async throws {
        let lab = try await LedgerLab()
        for name in ["radio", "press"] { _ = try await lab.ledger.createTenant(name) }
        func ledger(_ name: String, _ role: AccessRole, _ tenant: String? = nil) throws -> JobLedger {
            try lab.ledger.acting(for: Principal(name: name, role: role, tenant: tenant))
        }
        try await ledger("ops", .operator).saveFilter("damaged", "state=failed")
        try await ledger("ci", .submitter, "radio").saveFilter("ours", "queue=radio")
        let seen = try await ledger("look", .viewer).filters()
        #expect(seen.map(\.name) == ["damaged"] && seen.map(\.savedBy) == ["token:ops"])
        #expect(try await ledger("other", .viewer, "radio").filters().map(\.name) == ["ours"])
        let other = try ledger("ci", .submitter, "press")
        #expect(try await other.filters().isEmpty)
        #expect(try await !other.removeFilter("ours"))
        let viewer = try ledger("look", .viewer)
        let refused = try await failure(of: { try await viewer.saveFilter("mine", "state=failed") })
        #expect(refused.code == .ledgerPermissionDenied)
    }

    @Test func whoSeesOnlyItsOwnJobsHasFiltersOfItsOwn() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createTenant("a")
        func ledger(_ name: String, _ role: AccessRole, _ tenant: String? = nil) throws -> JobLedger {
            try lab.ledger.acting(for: Principal(name: name, role: role, tenant: tenant))
        }
        let (ops, a, b) = (try ledger("ops", .operator), try ledger("a", .submitter), try ledger("b", .submitter))
        try await ops.saveFilter("damaged", "source-contains=embargo")
        try await lab.set("submitters_see = 'own'")
        for submitter in [a, b] {
            #expect(try await submitter.filters().isEmpty)
            #expect(try await !submitter.removeFilter("damaged"))
        }
        try await a.saveFilter("damaged", "state=failed")
        #expect(try await b.filters().isEmpty)
        #expect(try await a.filters().map(\.query) == ["state=failed"])
        #expect(try await ops.filters().map(\.query) == ["source-contains=embargo"])
        #expect(try await ledger("look", .viewer).filters().map(\.query) == ["source-contains=embargo"])
        // A tenant may have the name of a submitter.
        #expect(try await ledger("x", .submitter, "a").filters().isEmpty)
        #expect(try await a.removeFilter("damaged"))
    }

    @Test func thereIsAnEndToThem() async throws {
        let lab = try await LedgerLab()
        let long = String(repeating: "x", count: 4_001)
        for (name, query) in [("", "a=b"), (String(long.prefix(61)), "a=b"), ("a", ""), ("a", long)] {
            let refused = try await failure(of: { try await lab.ledger.saveFilter(name, query) })
            #expect(refused.code == .ledgerRefused)
        }
        for number in 1...100 { try await lab.ledger.saveFilter("filter \(number)", "state=failed") }
        let refused = try await failure(of: { try await lab.ledger.saveFilter("one more", "state=failed") })
        #expect(refused.code == .ledgerQuotaExceeded)
        // Those that there are can be replaced.
        try await lab.ledger.saveFilter("filter 7", "state=waiting")
        #expect(try await lab.ledger.filters().count == 100)
    }
}
