import Conversion
import Foundation
import TestSupport

/// A fleet of workers on one ledger: what the server spends, how long claims take, and whether leases hold.
///
/// The workers are simulated (`SimulatedWorker`): they decide and call the ledger as real ones, and convert nothing.
enum FleetBench {
    private static let mostMilliseconds = 100.0
    private static let leastBusyShare = 0.95

    static func run(isQuick: Bool, only words: String?) async throws -> [Section] {
        var outcomes: [FleetOutcome] = []
        for scenario in isQuick ? quick : whole where words.map(scenario.name.contains) ?? true {
            Bench.complain(scenario.name)
            let outcome = try await FleetRun.run(scenario)
            let tally = outcome.tally
            if let failure = tally.firstFailure {
                Bench.complain("\(Plural.count(tally.failedCalls, "call")) failed; the first: \(failure)")
            }
            guard tally.registrations >= scenario.workers else {
                throw SupportError("start \(scenario.workers) workers", "\(tally.registrations) registered")
            }
            outcomes.append(outcome)
        }
        guard !outcomes.isEmpty else { throw SupportError("choose a fleet", "no fleet is called \(words ?? "")") }
        return [results(outcomes), costs(outcomes), calls(outcomes)]
    }

    // MARK: - Fleets

    private static let whole = [
        fleet(300, "2-minute jobs", seconds: 120, isBounced: false, start: 40, settle: 35, measured: 45),
        fleet(1_000, "2-minute jobs", seconds: 120, isBounced: true, start: 40, settle: 35, measured: 60),
        fleet(200, "1-second jobs", seconds: 1, isBounced: false, start: 15, settle: 15, measured: 30),
        fleet(200, "1-second jobs", seconds: 1, isBounced: true, start: 10, settle: 10, measured: 30),
        beating(5_000, start: 25, settle: 15, measured: 30),
        idle(5_000, start: 25, settle: 15, measured: 30),
    ]

    private static let quick = [
        fleet(20, "2-minute jobs", seconds: 120, isBounced: false, start: 2, settle: 2, measured: 10),
        fleet(20, "1-second jobs", seconds: 1, isBounced: true, start: 2, settle: 2, measured: 10),
        beating(100, start: 2, settle: 2, measured: 15),
        idle(100, start: 2, settle: 2, measured: 10),
    ]

    private static func fleet(
        _ workers: Int,
        _ jobs: String,
        seconds: Double,
        isBounced: Bool,
        start: Double,
        settle: Double,
        measured: Double
    ) -> FleetScenario {
        FleetScenario(
            name: "\(workers) workers, \(jobs), \(isBounced ? "PgBouncer" : "direct")",
            workers: workers,
            slots: 16,
            jobSeconds: seconds,
            calls: .all,
            isBounced: isBounced,
            hasJobs: true,
            startSeconds: start,
            settleSeconds: settle,
            seconds: measured
        )
    }

    private static func beating(_ workers: Int, start: Double, settle: Double, measured: Double) -> FleetScenario {
        FleetScenario(
            name: "\(workers) workers, beats only, PgBouncer",
            workers: workers,
            slots: 16,
            jobSeconds: 1,
            calls: .beats,
            isBounced: true,
            hasJobs: false,
            startSeconds: start,
            settleSeconds: settle,
            seconds: measured
        )
    }

    private static func idle(_ workers: Int, start: Double, settle: Double, measured: Double) -> FleetScenario {
        FleetScenario(
            name: "\(workers) workers, no jobs, PgBouncer",
            workers: workers,
            slots: 16,
            jobSeconds: 1,
            calls: .all,
            isBounced: true,
            hasJobs: false,
            startSeconds: start,
            settleSeconds: settle,
            seconds: measured
        )
    }

    // MARK: - Tables

    private static func results(_ outcomes: [FleetOutcome]) -> Section {
        var section = Section(
            "fleet",
            """
            Simulated workers of 16 slots with a lease of 30 s on one server. Their decisions and calls are real, and jobs take
            a drawn time. Server and simulation share the machine. A worker has three connections, or two through PgBouncer,
            where a pool of 20 leads to the server. A beat is late if it is answered a third of a lease after its time. Targets:
            p99 of claims with jobs at most \(mostMilliseconds.fixed(0)) ms, no lease lost, and with 2-minute jobs \
            \((leastBusyShare * 100).fixed(0)) % of the slots busy.
            """,
            columns: [
                "fleet", "jobs/s", "slots busy", "claim p50 ms", "p99 ms", "beats/s", "latest beat s", "late",
                "leases lost", "connections",
            ]
        )
        for outcome in outcomes {
            let (tally, scenario) = (outcome.tally, outcome.scenario)
            let claims = tally.claims.sorted()
            let (median, slow) = (claims.quantile(0.5), claims.quantile(0.99))
            let isFast = claims.isEmpty || slow <= mostMilliseconds
            let isBusy = scenario.jobSeconds < 60 || outcome.busyShare >= leastBusyShare
            section.add(
                [
                    scenario.name, outcome.jobsPerSecond.fixed(0), "\((outcome.busyShare * 100).fixed(0)) %",
                    claims.isEmpty ? "" : median.fixed(1), claims.isEmpty ? "" : slow.fixed(1),
                    (Double(tally.beats) / outcome.seconds).fixed(0), tally.longestBeatSeconds.fixed(2),
                    "\(tally.lateBeats)", "\(tally.lostLeases)", "\(outcome.connections)",
                ],
                numbers: [
                    "workers": Double(scenario.workers), "jobsPerSecond": outcome.jobsPerSecond,
                    "demandedPerSecond": scenario.demand, "busyShare": outcome.busyShare,
                    "claims": Double(claims.count), "emptyClaims": Double(tally.emptyClaims.count),
                    "claimMedian": claims.isEmpty ? 0 : median, "claimP99": claims.isEmpty ? 0 : slow,
                    "beats": Double(tally.beats), "lateBeats": Double(tally.lateBeats),
                    "longestBeatSeconds": tally.longestBeatSeconds, "leasesOverdue": Double(tally.overdueLeases),
                    "leasesLost": Double(tally.lostLeases), "failedCalls": Double(tally.failedCalls),
                    "connections": Double(outcome.connections),
                ],
                isWithin: isFast && isBusy && tally.lostLeases == 0
            )
        }
        return section
    }

    private static func costs(_ outcomes: [FleetOutcome]) -> Section {
        var section = Section(
            "fleet costs",
            """
            The same runs: cores that the server, PgBouncer and the simulation used on average; the server's processor time,
            divided by the seconds of all workers and by finished jobs; write-ahead log; memory of one connection alone.
            """,
            columns: [
                "fleet", "server", "PgBouncer", "simulation", "us/worker/s", "us/job", "jobs/claim", "WAL KiB/s",
                "MiB/connection",
            ]
        )
        for outcome in outcomes {
            let (tally, seconds) = (outcome.tally, outcome.seconds)
            let perWorker = outcome.serverSeconds * 1_000_000 / seconds / Double(outcome.scenario.workers)
            let perJob = outcome.serverSeconds * 1_000_000 / Double(max(1, tally.finishedJobs))
            let perClaim = Double(tally.claimedJobs) / Double(max(1, tally.claims.count))
            let isIdle = tally.finishedJobs == 0
            let uses = outcome.mebibytes.sorted { $0.key > $1.key }
            let memory =
                outcome.scenario.isBounced
                ? Ratio(uses.map(\.value)).highest.fixed(1)
                : uses.map { "\($0.key) \($0.value.fixed(1))" }.joined(separator: ", ")
            section.add(
                [
                    outcome.scenario.name, (outcome.serverSeconds / seconds).fixed(2),
                    outcome.scenario.isBounced ? (outcome.bouncerSeconds / seconds).fixed(2) : "",
                    (tally.cpuSeconds / seconds).fixed(2), perWorker.fixed(0), isIdle ? "" : perJob.fixed(0),
                    isIdle ? "" : perClaim.fixed(1), (outcome.writtenAhead / seconds / 1_024).fixed(0),
                    memory,
                ],
                numbers: [
                    "serverCores": outcome.serverSeconds / seconds, "bouncerCores": outcome.bouncerSeconds / seconds,
                    "simulationCores": tally.cpuSeconds / seconds, "microsecondsPerWorkerSecond": perWorker,
                    "microsecondsPerJob": isIdle ? 0 : perJob, "jobsPerClaim": isIdle ? 0 : perClaim,
                    "walBytesPerSecond": outcome.writtenAhead / seconds,
                ].merging(outcome.mebibytes.map { ("mebibytes \($0)", $1) }) { $1 },
                isWithin: nil
            )
        }
        return section
    }

    /// The calls that took at least a hundredth of the time of all calls.
    private static func calls(_ outcomes: [FleetOutcome]) -> Section {
        var section = Section(
            "fleet calls",
            "The same runs: calls to the server, and the mean time of a call inside the server, with its waits.",
            columns: ["fleet", "call", "calls/s", "ms"]
        )
        for outcome in outcomes {
            let total = outcome.calls.reduce(0) { $0 + $1.perSecond * $1.milliseconds }
            for call in outcome.calls where call.perSecond * call.milliseconds >= total / 100 {
                section.add(
                    [outcome.scenario.name, call.name, call.perSecond.fixed(1), call.milliseconds.fixed(3)],
                    numbers: ["perSecond": call.perSecond, "milliseconds": call.milliseconds],
                    isWithin: nil
                )
            }
        }
        return section
    }
}
