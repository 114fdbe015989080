import API
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// `status`, `workers`, `watch` and `doctor` agree on the number of workers in each state.
struct WorkerCensusTests {
    let bench: LedgerBench

    init() throws {
        Locale.useUTF8()
        bench = try LedgerBench()
    }

    private func expect(_ states: [String: Int], alive: Int, busy: Int, _ words: String) async throws {
        let status = try #require(try bench.records("status").first)
        let listed = try bench.records("workers")
        #expect(status["workerStates"] as? [String: Int] == states)
        let named: [String] = listed.compactMap { $0["state"] as? String }
        var counted: [String: Int] = [:]
        for state in named { counted[state, default: 0] += 1 }
        #expect(counted == states)
        let living = listed.filter { $0["state"] as? String != "unheard" }
        #expect(status["workers"] as? Int == alive && living.count == alive)
        let slots = living.compactMap { $0["slots"] as? Int }.reduce(0, +)
        #expect(status["slots"] as? Int == slots && slots == 4 * alive)
        #expect(status["busySlots"] as? Int == busy)
        #expect(try bench.output("status").contains("\nworkers    \(words)"))
        let doctor = try bench.run("doctor").outputText
        #expect(alive == 0 || doctor.contains("workers") && doctor.contains(words))

        let facts = try await WatchFacts.look(at: bench.ledger, WatchQuery(list: .workers))
        #expect(WorkerCensus(facts.workers, at: facts.status.time).byName == states)
        let screen = WatchState(facts, filter: WatchFilter()).screen(250, 60).joined(separator: "\n")
        let rows = try bench.output("workers").split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
        #expect(rows.count == listed.count)
        for row in rows {
            let (name, state, slots, busy) = (row[1], row[3], row[4], row[5])
            let shown = try Regex(
                "\(name) [^0-9a-z]*\(busy)/\(slots)" + (state == "works" ? "(?! [a-z])" : " \(state)")
            )
            #expect(screen.firstMatch(of: shown) != nil, "\(row): \(screen)")
        }
    }

    @Test func statusWorkersAndWatchCountAlike() async throws {
        try await expect([:], alive: 0, busy: 0, "0 alive (0 slots)\n")
        _ = try await bench.worker("gone")
        try bench.age(seconds: 665)
        try await expect(["unheard": 1], alive: 0, busy: 0, "0 alive (0 slots); 1 unheard\n")

        try await bench.submit(6)
        let one = try await bench.worker("one")
        let fences = try await bench.claim(2, for: one)
        // The worker has not reported its busy slots yet.
        try await expect(["works": 1, "unheard": 1], alive: 1, busy: 2, "1 alive (4 slots, 2 busy); 1 more unheard")
        let running = fences.map { RunningJob($0) }
        _ = try await bench.heartbeat.beat(one, running, status: WorkerStatus(busySlots: 1))
        try await expect(["works": 1, "unheard": 1], alive: 1, busy: 1, "1 alive (4 slots, 1 busy); 1 more unheard")

        let (two, three, four) = (
            try await bench.worker("two"), try await bench.worker("three"), try await bench.worker("four")
        )
        let five = try await bench.worker("five")
        _ = try await bench.ledger.wish(.drain, of: two)
        _ = try await bench.ledger.wish(.quiet, of: three)
        _ = try await bench.heartbeat.beat(
            four,
            [],
            status: WorkerStatus(busySlots: 0, pausedBecause: "the disk is full")
        )
        _ = try await bench.heartbeat.beat(
            five,
            [],
            status: WorkerStatus(busySlots: 3, pausedBecause: "in is gone", pausedRoots: ["in"])
        )
        try await expect(
            ["works": 1, "draining": 1, "quiet": 1, "paused": 1, "partly": 1, "unheard": 1],
            alive: 5,
            busy: 4,
            "5 alive (20 slots, 4 busy), 1 of them partly, 1 paused, 1 quiet, 1 draining; 1 more unheard"
        )
        _ = try await bench.ledger.stop(one)
        _ = try await bench.ledger.stop(two)
        try await expect(
            ["quiet": 1, "paused": 1, "partly": 1, "unheard": 1],
            alive: 3,
            busy: 3,
            "3 alive (12 slots, 3 busy), 1 of them partly, 1 paused, 1 quiet; 1 more unheard"
        )
    }
}
