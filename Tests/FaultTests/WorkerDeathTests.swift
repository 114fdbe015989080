import Foundation
import Glibc
import Ledger
import TestSupport
import Testing

/// Processes of the cluster die at random moments under load, and the checker finds nothing wrong.
@Suite(.serialized)
struct WorkerDeathTests {
    @Test func workersMayBeKilledAtAnyMoment() async throws {
        let cluster = try await Cluster()
        let coordinator = try cluster.startCoordinator()
        let kills = Rounds.scaled(200)
        var generator = SeededGenerator(seed: 5)
        var workers = try (0..<3).map { try cluster.startWorker("w\($0)") }
        var jobs = 0
        for round in 0..<kills {
            if round % 10 == 0 {
                try await cluster.submit(40, "kill\(round)")
                jobs += 40
            }
            try await RandomMoment.wait(milliseconds: 20..<400, &generator)
            let victim = generator.whole(in: 0..<workers.count)
            workers[victim].kill()
            workers[victim] = try cluster.startWorker("w\(victim)")
        }
        try await cluster.untilAllEnded()
        for worker in workers { try worker.stop() }
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        // A lost worker does not count against its jobs.
        #expect(counts.spentBesides == 0)
        #expect(counts.lostAttempts > 0)
        FaultTable.note("kill -9 of a worker", times: kills, counts)
    }

    /// Only a job in a room can have felled its worker. What else a dead worker held goes back at once, unspent, and does
    /// not run one job at a time afterwards.
    @Test func aDeadWorkerNeverSlowsTheOthers() async throws {
        let cluster = try await Cluster(clips: [0.3])
        let coordinator = try cluster.startCoordinator()
        let slots = 2
        let others = try (0..<3).map { try cluster.startWorker("other\($0)", slots: slots) }
        let deaths = Rounds.scaled(5)
        var jobs = 0
        for round in 0..<deaths {
            let victim = try cluster.startWorker("victim\(round)", slots: slots)
            try await cluster.until("victim \(round) holds more than its rooms") {
                if try await cluster.ledger.status().jobs.waiting < 100 {
                    try await cluster.submit(200, "storm\(jobs)")
                    jobs += 200
                }
                let workers = try await cluster.ledger.workers()
                return workers.contains { $0.name == "victim\(round)" && $0.holds > 3 * slots }
            }
            victim.kill()
        }
        try await cluster.untilAllEnded()
        for worker in others { try worker.stop() }
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        #expect(counts.lostAttempts > slots * deaths, "the dead held jobs beside those in their rooms")
        let suspects = try cluster.server.run("select count(*) from sluice.suspect")
        #expect(try #require(Int(suspects.trimmingCharacters(in: .whitespacesAndNewlines))) <= slots * deaths)
        FaultTable.note("kill -9 of a worker that holds many jobs", times: deaths, counts)
    }

    @Test func roomsMayBeKilledAtAnyMoment() async throws {
        // A killed room looks like one that died of its work, so the jobs may lose many rooms.
        let cluster = try await Cluster(lease: .seconds(60), settings: "room_deaths_allowed = 1000")
        let coordinator = try cluster.startCoordinator()
        let kills = Rounds.scaled(100)
        var generator = SeededGenerator(seed: 6)
        let workers = try (0..<2).map { try cluster.startWorker("w\($0)") }
        var jobs = 0
        var killed = 0
        while killed < kills {
            if try await cluster.ledger.status().jobs.open < 10 {
                try await cluster.submit(40, "room\(jobs)")
                jobs += 40
            }
            try await RandomMoment.wait(milliseconds: 20..<200, &generator)
            let rooms = try workers.flatMap { try $0.rooms() }
            guard !rooms.isEmpty else { continue }
            killed += Glibc.kill(rooms[generator.whole(in: 0..<rooms.count)], SIGKILL) == 0 ? 1 : 0
        }
        try await cluster.untilAllEnded()
        for worker in workers { try worker.stop() }
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.lostAttempts == 0)
        FaultTable.note("kill -9 of a pump room or a fork server", times: killed, counts)
    }

    @Test func aDeploySpendsNoAttempt() async throws {
        let cluster = try await Cluster(lease: .seconds(60))
        let coordinator = try cluster.startCoordinator()
        let deploys = Rounds.scaled(20)
        var generator = SeededGenerator(seed: 7)
        var workers = try (0..<2).map { try cluster.startWorker("w\($0)") }
        var jobs = 0
        for round in 0..<deploys {
            try await cluster.submit(30, "deploy\(round)")
            jobs += 30
            try await RandomMoment.wait(milliseconds: 20..<500, &generator)
            let old = workers[round % 2]
            try await cluster.until("w\(round % 2) holds jobs") {
                jobs += try await cluster.keepLoad("more\(jobs)")
                return try await cluster.holdsJobs("w\(round % 2)")
            }
            try old.askToEnd()
            workers[round % 2] = try cluster.startWorker("w\(round % 2)")
            try old.waitForGoodEnd()
        }
        try await cluster.untilAllEnded()
        for worker in workers { try worker.stop() }
        try coordinator.stop()
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.spentBesides == 0)
        #expect(counts.lostAttempts == 0)
        FaultTable.note("SIGTERM under load (a deploy)", times: deploys, counts)
    }

    /// Coordinators may die, and there may be several of them, or none: workers then do the housekeeping.
    @Test func coordinatorsMayBeKilledAndBeMany() async throws {
        let cluster = try await Cluster(lease: .seconds(60))
        var coordinators = try (0..<3).map { try cluster.startCoordinator("c\($0)") }
        let worker = try cluster.startWorker("w")
        var jobs = 0
        let kills = Rounds.scaled(20)
        var generator = SeededGenerator(seed: 10)
        for round in 0..<kills {
            jobs += try await cluster.keepLoad("c\(jobs)")
            try await RandomMoment.wait(milliseconds: 20..<180, &generator)
            coordinators[round % 3].kill()
            coordinators[round % 3] = try cluster.startCoordinator("c\(round % 3)")
        }
        for coordinator in coordinators { coordinator.kill() }
        try await cluster.submit(50, "alone")
        try await cluster.untilAllEnded()
        try worker.stop()
        jobs += 50
        let counts = try Checker(cluster: cluster).check(jobs: jobs)
        #expect(counts.lostAttempts == 0 && counts.spentBesides == 0)
        #expect(counts.attempts == jobs, "\(counts.handedBack)")
        FaultTable.note("kill -9 of a coordinator", times: kills, counts)
    }
}
