import Conversion
import TestSupport
import Testing

@testable import Ledger

/// How callers share a pool.
struct ConnectionSharesTests {
    private typealias Share = ConnectionShares.Share

    private func granted(_ share: Share?, _ shares: inout ConnectionShares, of count: Int) -> Int {
        var granted = 0
        for _ in 0..<count where shares.permit(share) {
            shares.take(share)
            granted += 1
        }
        return granted
    }

    @Test(arguments: [(1, 1), (2, 1), (4, 3), (8, 6), (100, 75)])
    func oneCallerLeavesSomeForOthers(connections: Int, most: Int) {
        var shares = ConnectionShares(connections: connections)
        let taken = granted(Share(account: "a", isLong: false), &shares, of: 200)
        #expect(taken == most)
        let other = Share(account: "b", isLong: false)
        #expect(shares.permit(other))
    }

    @Test func longRunsOfAllCallersLeaveHalf() {
        var shares = ConnectionShares(connections: 8)
        for account in ["a", "b", "c"] { _ = granted(Share(account: account, isLong: true), &shares, of: 3) }
        let (long, short) = (Share(account: "d", isLong: true), Share(account: "d", isLong: false))
        #expect(!shares.permit(long))
        let rest = granted(short, &shares, of: 4)
        #expect(rest == 4)
        shares.release(Share(account: "a", isLong: true))
        #expect(shares.permit(long))
    }

    @Test func theLoginItselfHasNoShare() {
        var shares = ConnectionShares(connections: 2)
        let own = granted(nil, &shares, of: 10)
        #expect(own == 10)
    }

    @Test func theCallerWithTheFewestConnectionsIsNext() {
        var shares = ConnectionShares(connections: 8)
        let (busy, quiet) = (Share(account: "busy", isLong: false), Share(account: "quiet", isLong: false))
        shares.take(busy)
        #expect(shares.next(of: [busy, busy, quiet, quiet]) == 2)
        #expect(shares.next(of: [busy, busy]) == 0)
        _ = granted(busy, &shares, of: 8)
        #expect(shares.next(of: [busy, busy]) == nil)
        #expect(shares.next(of: []) == nil)
    }

    @Test func aCallerThatHoldsItsShareDoesNotKeepOthersWaiting() async throws {
        let lab = try await Lab { $0.connectionLimit = 2 }
        func run(_ account: String, _ sql: String) -> Task<Void, any Error> {
            Task {
                let opening = TransactionOpening(settings: [("sluice.acting_for", account)], account: account)
                try await lab.source.run("test", opening: opening) { try $0.execute(Statement(stringLiteral: sql)) }
            }
        }
        let held = (0..<2).map { _ in run("a", "select pg_sleep(600)") }
        try await lab.untilRunning("%pg_sleep(600)%")
        // The other connection is not for the second run of the same caller.
        for _ in 0..<20 { try await run("b", "select 1").value }
        for task in held { task.cancel() }
        for task in held { #expect(try await failure { try await task.value }.code == .cancelled) }
        try await run("a", "select 1").value
    }
}
