import Foundation
import TestSupport
import Testing

/// The ledger's server fails under load and comes back.
@Suite(.serialized)
struct DatabaseDeathTests {
    @Test func connectionsMayBeCutAtAnyMoment() async throws {
        let cluster = try await Cluster()
        let cuts = Rounds.scaled(100)
        let (jobs, processes) = try await underLoad(cluster) { generator in
            try await RandomMoment.wait(milliseconds: 20..<200, &generator)
            let cut = try cluster.server.run(
                """
                select count(pg_terminate_backend(pid)) from (
                    select pid from pg_stat_activity
                    where backend_type = 'client backend' and pid <> pg_backend_pid() and \(Self.jobsRun)
                    order by random() limit 3
                ) c
                """
            )
            return cut != "0"
        } rounds: {
            cuts
        }
        try await finish(cluster, processes)
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        FaultTable.note("connections cut (3 at a time)", times: cuts, counts)
    }

    /// If SIGKILL ends one backend, the server disconnects all clients and recovers.
    @Test func theServerMayCrashAndRecover() async throws {
        let cluster = try await Cluster()
        let crashes = Rounds.scaled(10)
        let (jobs, processes) = try await underLoad(cluster) { generator in
            try await RandomMoment.wait(milliseconds: 200..<800, &generator)
            // The server may still be recovering from the last crash.
            try await cluster.server.untilItAnswers()
            let victims = try cluster.server.run(
                """
                select pid from pg_stat_activity
                where backend_type = 'client backend' and pid <> pg_backend_pid() and \(Self.jobsRun)
                """
            ).split(separator: "\n")
            guard let victim = victims.first else { return false }
            return try Run.program("kill", ["-9", String(victim)]).status == .exited(0)
        } rounds: {
            crashes
        }
        try await finish(cluster, processes)
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        FaultTable.note("kill -9 of a PostgreSQL backend", times: crashes, counts)
    }

    @Test func theServerMayBeStoppedAtOnceAndStarted() async throws {
        let cluster = try await Cluster()
        let restarts = Rounds.scaled(10)
        let (jobs, processes) = try await underLoad(cluster) { generator in
            try await RandomMoment.wait(milliseconds: 200..<800, &generator)
            guard try cluster.server.run("select \(Self.jobsRun)") == "t" else { return false }
            try cluster.server.restart(.immediate)
            return true
        } rounds: {
            restarts
        }
        try await finish(cluster, processes)
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        // An outage shorter than a lease costs no worker its running jobs.
        FaultTable.note("immediate stop and restart of PostgreSQL", times: restarts, counts)
    }

    @Test func workGoesOnThroughAnOutageShorterThanALease() async throws {
        let cluster = try await Cluster(lease: .seconds(30), clips: [60])
        let coordinator = try cluster.startCoordinator()
        let worker = try cluster.startWorker("w")
        try await cluster.submit(12, "through")
        try await cluster.untilEnded(1)
        try cluster.server.stop(.immediate)
        try await worker.waits(for: "ledger_away")
        try cluster.server.start()
        try await cluster.untilAllEnded()
        try worker.stop()
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: 12)
        // No job was started twice.
        #expect(counts.attempts == 12)
        FaultTable.note("outage until the worker notices it, lease of 30 s", times: 1, counts)
    }

    /// `SLUICE_OUTAGE_SECONDS` makes the outages longer.
    @Test func anOutageLongerThanALeaseCostsNoAttempt() async throws {
        // No attempt may be lost by a pause of the machine either.
        let cluster = try await Cluster(lease: .seconds(10))
        let seconds = ProcessInfo.processInfo.environment["SLUICE_OUTAGE_SECONDS"].flatMap { Int($0) } ?? 12
        try await throughOutages(cluster, 2, of: seconds, "outage of \(seconds) s, lease of 10 s") {
            try cluster.server.stop(.immediate)
        } ending: {
            try cluster.server.start()
        }
    }

    /// The server executes the requests that were in flight, long after their sender has given up on them.
    @Test(arguments: [(lease: 30, length: 3), (lease: 10, length: 12)])
    func theServerMayStandStill(lease: Int, length: Int) async throws {
        let cluster = try await Cluster(lease: .seconds(lease))
        try await throughOutages(cluster, 1, of: length, "server frozen for \(length) s, lease of \(lease) s") {
            try cluster.server.freeze()
        } ending: {
            try cluster.server.thaw()
        }
    }

    // MARK: - Outages

    /// Runs two workers and a coordinator, and takes the server away `times` times for `seconds` each.
    private func throughOutages(
        _ cluster: Cluster,
        _ times: Int,
        of seconds: Int,
        _ name: String,
        beginning begin: () throws -> Void,
        ending end: () throws -> Void
    ) async throws {
        let coordinator = try cluster.startCoordinator()
        let workers = try (0..<2).map { try cluster.startWorker("w\($0)") }
        let outages = Rounds.scaled(times)
        var jobs = 0
        for round in 0..<outages {
            try await cluster.submit(60, "away\(round)")
            jobs += 60
            try await cluster.untilEnded(jobs - 50)
            try await cluster.until("jobs run at the begin of the outage") {
                jobs += try await cluster.keepLoad("more\(jobs)")
                return try cluster.server.run("select \(Self.jobsRun)") == "t"
            }
            try begin()
            // The length of the outage is the test's input: the workers measure their leases in real time.
            try await Task.sleep(for: .seconds(seconds))
            try end()
        }
        try await finish(cluster, workers + [coordinator])
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        #expect(counts.lostAttempts == 0, "running jobs continued through the outage")
        FaultTable.note(name, times: outages, counts)
    }

    // MARK: - Load

    /// A condition in SQL that holds while a job runs.
    private static let jobsRun = "exists (select from sluice.running)"

    /// Runs two workers and a coordinator and injects `fault` until it has hit them in `rounds` while jobs ran: it
    /// returns whether it has. Returns the number of jobs and the processes.
    private func underLoad(
        _ cluster: Cluster,
        _ fault: (inout SeededGenerator) async throws -> Bool,
        rounds: () -> Int
    ) async throws -> (jobs: Int, processes: [ClusterProcess]) {
        let processes = try [
            cluster.startCoordinator(), cluster.startWorker("w0"), cluster.startWorker("w1"),
        ]
        // A process that does not reach the ledger at its start ends soon.
        for process in processes { try await process.waits(for: "started") }
        var generator = SeededGenerator(seed: 8)
        var jobs = 0
        for round in 0..<rounds() {
            try await cluster.until("fault \(round) hits processes that work") {
                // The submission is subject to the same faults; its key prevents a second batch.
                jobs += try await cluster.keepLoad("load\(jobs)")
                return try await fault(&generator)
            }
        }
        return (jobs, processes)
    }

    private func finish(_ cluster: Cluster, _ processes: [ClusterProcess]) async throws {
        try await cluster.untilAllEnded()
        for process in processes { try process.stop() }
    }
}
