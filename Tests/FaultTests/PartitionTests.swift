import TestSupport
import Testing

/// One worker loses its connection to the ledger and carries on, while the ledger gives its jobs to others.
@Suite(.serialized)
struct PartitionTests {
    /// Once the network is back, everything that the worker sent meanwhile arrives: late heartbeats, late claims,
    /// and publishing orders for jobs that other workers have done.
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
            try await cluster.until("the worker holds jobs") {
                jobs += try await cluster.keepLoad("more\(jobs)")
                return try await cluster.holdsJobs("cut")
            }
            proxy.cut(true)
            // The worker's lease ends, and the other worker does its jobs.
            try await cluster.untilAllEnded()
            proxy.cut(false)
        }
        for process in processes { try process.stop() }
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        #expect(counts.lostAttempts > 0)
        FaultTable.note("one of two workers cut off from the ledger beyond its lease", times: cuts, counts)
    }
}
