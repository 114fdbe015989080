import Foundation
import Ledger
import TestSupport
import Testing

/// The server dies, and a replica that has not received the last commits takes over.
@Suite(.serialized)
struct FailoverTests {
    /// Workers claim jobs again whose outputs were already published, and find their own files at the destination.
    @Test func jobsThatTheLedgerForgotAdoptTheirOutputs() async throws {
        let cluster = try await Cluster(clips: [0.2, 0.4, 0.9], hasReplica: true)
        let replica = try #require(cluster.replica)
        let processes = try [
            cluster.startCoordinator(), cluster.startWorker("w0"), cluster.startWorker("w1"),
        ]
        // The replica has received all jobs, and the completion of the first 200.
        let (known, forgotten) = (200, 400)
        let jobs = known + forgotten
        try await cluster.submit(known, "known")
        try await cluster.untilEnded(known)
        try await cluster.ledger.setPaused(true, queue: "default")
        try await cluster.submit(forgotten, "forgotten")
        try cluster.server.waitForReplica(replica)
        try replica.stopReceiving()
        try await cluster.ledger.setPaused(false, queue: "default")
        try await cluster.untilEnded(known + 200)
        let done = try Self.completed(on: cluster.server)
        try cluster.server.kill()
        try replica.promote()
        // The replica also missed that the queue was resumed.
        try await cluster.ledger.setPaused(false, queue: "default")
        try await cluster.untilAllEnded()
        for process in processes { try process.stop() }

        let counts = try Checker(cluster: cluster, server: replica).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        #expect(try replica.run("select count(*) from sluice.attempt where code = 'destination_exists'") == "0")
        let adopted = Int(try replica.run("select count(*) from sluice.finished where placement = 'adopted'"))
        #expect(try #require(adopted) >= done - known, "workers adopted the outputs of the lost commits")
        FaultTable.note("failover that lost \(done - known) completed jobs", times: 1, counts)
    }

    private static func completed(on server: PrivatePostgres) throws -> Int {
        let text = try server.run("select count(*) from sluice.finished where state = 'completed'")
        return try #require(Int(text))
    }
}
