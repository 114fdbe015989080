import TestSupport
import Testing

/// A worker that alone loses sight of the ledger, and goes on while others are given its jobs.
@Suite(.serialized)
struct PartitionTests {
    /// What it sent meanwhile arrives when the network is mended: late beats, late claims, and orders for jobs that others have done.
    @Test func aWorkerThatIsCutOffPublishesNothingThatAnotherHas() async throws {
        let cluster = try await Cluster(lease: .seconds(1))
        let proxy = try DroppingProxy(before: cluster.server)
        let processes = try [
            cluster.startCoordinator(), cluster.startWorker("other"), cluster.startWorker("cut", url: proxy.url()),
        ]
        let cuts = Rounds.scaled(5)
        var jobs = 0
        for round in 0..<cuts {
            try await cluster.submit(40, "cut\(round)")
            jobs += 40
            try await cluster.untilEnded(jobs - 35)
            proxy.cut(true)
            // Its lease ends, and others do what it had in hand.
            try await cluster.untilAllEnded()
            proxy.cut(false)
        }
        for process in processes { try process.stop() }
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        FaultTable.note("one of two workers cut off from the ledger beyond its lease", times: cuts, counts)
    }
}
