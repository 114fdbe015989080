import Conversion
import Testing

@testable import Ledger

/// What submissions may keep while their jobs arrive.
struct SpoolSpaceTests {
    private func space() -> SpoolSpace {
        SpoolSpace(.init(bytesPerCaller: 100, bytes: 150, submissionsPerCaller: 2, submissions: 3, memoryBytes: 10))
    }

    private func code(_ body: () throws -> Void) -> FailureCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? LedgerError)?.code
        }
    }

    @Test func oneCallerAndAllTogetherHaveSoManySubmissions() throws {
        let space = space()
        do {
            let own = [try space.place(of: "a"), try space.place(of: "a")]
            let third = code { _ = try space.place(of: "a") }
            #expect(third == .ledgerQuotaExceeded)
            let other = try space.place(of: "b")
            let fourth = code { _ = try space.place(of: "c") }
            #expect(fourth == .ledgerExhausted)
            withExtendedLifetime((own, other)) {}
        }
        _ = try space.place(of: "c")
    }

    @Test func oneCallerAndAllTogetherHaveSoManyBytesAndGetThemBack() throws {
        let space = space()
        do {
            let (first, second) = (try space.place(of: "a"), try space.place(of: "b"))
            try first.take(100)
            let more = code { try first.take(1) }
            #expect(more == .ledgerQuotaExceeded)
            try second.take(50)
            let others = code { try second.take(1) }
            #expect(others == .ledgerExhausted)
            withExtendedLifetime(first) {}
        }
        try space.place(of: "c").take(100)
    }

    @Test func theJobsOfACallerAreRefusedWhenItsSpaceIsFull() throws {
        let space = SpoolSpace(.init(bytesPerCaller: 1_000, memoryBytes: 100))
        var spool = RequestSpool(Submission(), in: try space.place(of: "a"), folder: "/var/tmp")
        let refusal = code { for request in LedgerLab.requests(5_000) { try spool.add(request) } }
        #expect(refusal == .ledgerQuotaExceeded)
    }
}
