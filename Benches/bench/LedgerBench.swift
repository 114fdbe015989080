import Conversion
import Foundation
import Ledger
import TestSupport

/// The ledger end to end on one server: jobs that do nothing, submitting, and the delay until a job is claimed.
enum LedgerBench {
    private static let leastJobsPerSecond = 20_000.0
    private static let leastTimesPGQueuer = 5.0
    private static let leastTimesAwa = 1.0
    private static let mostMicroseconds = 40.0
    private static let mostBytes = 1_300.0
    private static let leastSubmittedPerSecond = 150_000.0
    private static let leastSubmissionsPerSecond = 5_000.0
    private static let mostMilliseconds = 15.0

    static func run(isQuick: Bool) async throws -> [Section] {
        let server = try LedgerServer.start()
        let place = "PostgreSQL \(try server.version), \(server.place)"
        return try await [
            throughput(on: server, place, isQuick),
            submitting(on: server, place, isQuick),
        ]
    }

    /// Jobs that are submitted one at a time: how many, and how soon a worker has them.
    static func runSingles(isQuick: Bool) async throws -> [Section] {
        let server = try LedgerServer.start()
        let place = "PostgreSQL \(try server.version), \(server.place)"
        return try await [
            submittingOneByOne(on: server, place, isQuick),
            pickingUp(on: server, place, isQuick),
        ]
    }

    // MARK: Jobs per second

    private static func throughput(on server: LedgerServer, _ place: String, _ isQuick: Bool) async throws -> Section {
        let (jobs, rounds) = isQuick ? (10_000, 1) : (50_000, 5)
        let theirJobs = isQuick ? 2_000 : 20_000
        let shapes: [(connections: Int, group: Int32)] = [(1, 100), (2, 100), (4, 100), (8, 100), (2, 500), (4, 500)]
        let bench = try await BenchLedger.create(on: server.postgres)
        let (queuer, awa) = (
            try RivalQueue.pgqueuer(on: server, isQuick: isQuick), try RivalQueue.awa(on: server, isQuick: isQuick)
        )
        let (triedJobs, tries) = isQuick ? (1_000, 1) : (10_000, 2)
        let best = try queuer.bestSetting(jobs: triedJobs, times: tries)
        let bestOfAwa = try awa.bestSetting(jobs: triedJobs, times: tries)

        // Ours and the others take turns, so that a slow phase of the machine affects all of them.
        var ours: [[Drain.Outcome]] = []
        var others: [Drain.Outcome] = []
        var defaults: [Drain.Outcome] = []
        var awas: [Drain.Outcome] = []
        var bytes: [[Double]] = []
        _ = try await measure(bench, server, jobs: jobs / 10, connections: 2, group: 100)
        for round in 1...rounds {
            Bench.complain("round \(round) of \(rounds)")
            var found: [(outcome: Drain.Outcome, bytes: Double)] = []
            for shape in shapes {
                found.append(
                    try await measure(bench, server, jobs: jobs, connections: shape.connections, group: shape.group)
                )
            }
            ours.append(found.map(\.outcome))
            bytes.append(found.map(\.bytes))
            others.append(try queuer.drain(best, jobs: theirJobs))
            defaults.append(try queuer.drain(RivalQueue.usual, jobs: theirJobs))
            awas.append(try awa.drain(bestOfAwa, jobs: theirJobs))
        }
        try await bench.remove()

        var section = Section(
            "ledger jobs",
            """
            Jobs that do nothing: claim, publish and finish in groups; \(jobs) at a time;
            \(place). One worker per connection. Medians of \(Plural.count(rounds, "round")), in turns with
            pgqueuer \(try queuer.version) on the same server at its best setting: \(best.text);
            with its default batch size; and with awa \(try awa.version) at its best setting: \(bestOfAwa.text).
            CPU is that of workers and server together, in microseconds per job. WAL is what a job writes from its submission to its end.
            Targets, at the best number of connections and size of groups: \(Int(leastJobsPerSecond)) per second,
            \(Int(mostMicroseconds)) us and \(Int(mostBytes)) B, shown in the row of the fastest; \(Int(leastTimesPGQueuer)) times pgqueuer and
            once awa at their best settings, shown in their rows.
            """,
            columns: [
                "connections, group", "jobs/s", "times pgqueuer [min..max]", "CPU us", "pgqueuer/ours", "WAL B/job",
            ]
        )
        let medians = shapes.indices.map { index in Ratio(ours.map { $0[index].rate }).median }
        let fastest = medians.indices.max { medians[$0] < medians[$1] }
        for (index, shape) in shapes.enumerated() {
            let ratio = Ratio(zip(ours, others).map { $0[index].rate / $1.rate })
            let time = Ratio(ours.map { $0[index].cpuMicrosecondsPerJob }).median
            let times = Ratio(zip(ours, others).map { $1.cpuMicrosecondsPerJob / $0[index].cpuMicrosecondsPerJob })
            let written = Ratio(bytes.map { $0[index] }).median
            section.add(
                [
                    "\(shape.connections), \(shape.group)", medians[index].fixed(0), ratio.text, time.fixed(0),
                    times.text, written.fixed(0),
                ],
                numbers: [
                    "connections": Double(shape.connections), "group": Double(shape.group),
                    "jobsPerSecond": medians[index], "timesPGQueuer": ratio.median,
                    "lowest": ratio.lowest, "highest": ratio.highest, "cpuMicroseconds": time,
                    "cpuTimes": times.median, "walBytesPerJob": written,
                ],
                isWithin: index == fastest
                    ? medians[index] >= leastJobsPerSecond && time <= mostMicroseconds && written <= mostBytes : nil
            )
        }
        let theirs = [
            ("pgqueuer at its best", others, leastTimesPGQueuer),
            ("its batch of 10", defaults, leastTimesPGQueuer),
            ("awa at its best", awas, leastTimesAwa),
        ]
        for (name, outcomes, least) in theirs {
            let rate = Ratio(outcomes.map(\.rate)).median
            let time = Ratio(outcomes.map(\.cpuMicrosecondsPerJob)).median
            let ratio = Ratio(zip(outcomes, others).map { $0.rate / $1.rate })
            let times = Ratio(zip(outcomes, others).map { $1.cpuMicrosecondsPerJob / $0.cpuMicrosecondsPerJob })
            let oursOverIt = fastest.map { best in Ratio(zip(ours, outcomes).map { $0[best].rate / $1.rate }).median }
            section.add(
                [name, rate.fixed(0), ratio.text, time.fixed(0), times.text, ""],
                numbers: [
                    "jobsPerSecond": rate, "cpuMicroseconds": time, "timesPGQueuer": ratio.median,
                    "oursOverIt": oursOverIt ?? .nan,
                ],
                isWithin: oursOverIt.map { $0 >= least }
            )
        }
        return section
    }

    /// One run over new jobs, and the bytes of write-ahead log per job.
    private static func measure(
        _ bench: BenchLedger,
        _ server: LedgerServer,
        jobs: Int,
        connections: Int,
        group: Int32
    ) async throws -> (outcome: Drain.Outcome, bytes: Double) {
        try server.settle()
        let before = try server.writtenAhead()
        try await bench.submit(jobs)
        let submitted = try server.writtenAhead()
        try server.settle()
        let settled = try server.writtenAhead()
        let outcome = try await Drain.run(bench, on: server, connections: connections, group: group)
        guard outcome.jobs == jobs else {
            throw SupportError("work off \(jobs) jobs", "\(outcome.jobs) were done")
        }
        say("\(connections) connections, groups of \(group)", outcome)
        return (outcome, (try server.writtenAhead() - settled + submitted - before) / Double(jobs))
    }

    private static func say(_ name: String, _ outcome: Drain.Outcome) {
        Bench.complain("\(name): \(outcome.words)")
    }

    // MARK: Submitting

    private static func submitting(on server: LedgerServer, _ place: String, _ isQuick: Bool) async throws -> Section {
        let bench = try await BenchLedger.create(on: server.postgres)
        var section = Section(
            "ledger submit",
            """
            Jobs submitted per second, from recipe values to the answer after the commit, by one submitter and by
            several at once with a connection and a part of the jobs each; \(place).
            Target, for all of them together on these cores: \(Int(leastSubmittedPerSecond)), shown in the row of the fastest.
            """,
            columns: ["jobs, submitters", "submitted/s [min..max]", "seconds", "WAL B/job"]
        )
        let (jobs, rounds) = isQuick ? (100_000, 1) : (400_000, 5)
        let crowds = [1, 2, 4]
        // Creates the first partitions; from then on housekeeping creates them ahead of time.
        try await bench.submit(1_000)
        var seconds: [[Double]] = []
        var bytes: [[Double]] = []
        // In turns, so that a slow phase of the machine affects all of them.
        for _ in 0..<rounds {
            var found: [(seconds: Double, bytes: Double)] = []
            for submitters in crowds {
                _ = try await bench.ledger.keepHouse()
                try server.settle()
                let before = try server.writtenAhead()
                let began = ContinuousClock.now
                try await bench.submit(jobs, submitters: submitters)
                let took = (ContinuousClock.now - began) / .seconds(1)
                found.append((took, (try server.writtenAhead() - before) / Double(jobs)))
                Bench.complain("\(jobs) submitted by \(submitters) in \(took.fixed(2)) s")
            }
            seconds.append(found.map(\.seconds))
            bytes.append(found.map(\.bytes))
        }
        let rates = crowds.indices.map { place in Ratio(seconds.map { Double(jobs) / $0[place] }) }
        let fastest = crowds.indices.max { rates[$0].median < rates[$1].median }
        for (place, submitters) in crowds.enumerated() {
            let rate = rates[place]
            let written = Ratio(bytes.map { $0[place] }).median
            section.add(
                [
                    "\(jobs), \(submitters)",
                    "\(rate.median.fixed(0)) [\(rate.lowest.fixed(0))..\(rate.highest.fixed(0))]",
                    Ratio(seconds.map { $0[place] }).median.fixed(2), written.fixed(0),
                ],
                numbers: [
                    "jobs": Double(jobs), "submitters": Double(submitters), "perSecond": rate.median,
                    "lowest": rate.lowest, "highest": rate.highest, "walBytesPerJob": written,
                ],
                isWithin: place == fastest ? rate.median >= leastSubmittedPerSecond : nil
            )
        }
        try await bench.remove()
        return section
    }

    private static func submittingOneByOne(on server: LedgerServer, _ place: String, _ isQuick: Bool) async throws
        -> Section
    {
        let bench = try await BenchLedger.create(on: server.postgres)
        let (sessions, count, rounds) = (8, isQuick ? 1_000 : 10_000, isQuick ? 1 : 5)
        try await bench.submit(1_000)
        var rates: [(told: Double, quiet: Double)] = []
        for _ in 0..<rounds {
            _ = try await bench.ledger.keepHouse()
            let told = try await bench.submitOneByOne(count, sessions: sessions, wakesWorkers: true)
            let quiet = try await bench.submitOneByOne(count, sessions: sessions, wakesWorkers: false)
            Bench.complain("one-job submits: \(told.fixed(0)) per second, \(quiet.fixed(0)) without waking workers")
            rates.append((told, quiet))
        }
        try await bench.remove()
        var section = Section(
            "ledger submits",
            """
            One-job submits a second from \(sessions) sessions, \(count) in all, each answered after its commit; \(place). Where
            workers are told of them, and where they are not. Target: \(Int(leastSubmissionsPerSecond)).
            """,
            columns: ["workers", "submits/s [min..max]"]
        )
        for (name, rate, isGoal) in [
            ("woken", Ratio(rates.map(\.told)), true), ("not woken", Ratio(rates.map(\.quiet)), false),
        ] {
            section.add(
                [name, "\(rate.median.fixed(0)) [\(rate.lowest.fixed(0))..\(rate.highest.fixed(0))]"],
                numbers: ["perSecond": rate.median, "lowest": rate.lowest, "highest": rate.highest],
                isWithin: isGoal ? rate.median >= leastSubmissionsPerSecond : nil
            )
        }
        return section
    }

    // MARK: Picking up

    private static func pickingUp(on server: LedgerServer, _ place: String, _ isQuick: Bool) async throws -> Section {
        let (rate, seconds) = (300, isQuick ? 5 : 60)
        let bench = try await BenchLedger.create(on: server.postgres)
        // A warm-up: opens connections and makes plans.
        _ = try await PickUp.run(bench, rate: rate, seconds: 2)
        try server.settle()
        let measured = try await PickUp.run(bench, rate: rate, seconds: seconds)
        try await bench.remove()
        var section = Section(
            "ledger pick-up",
            """
            \(rate) submissions of one job per second for \(seconds) s, two workers that wait for the ledger's
            wake-ups; \(place).
            Milliseconds until a claim with the job was received, from the call of submit and from its answer (less
            than nothing where the worker was told before the submitter). Target: p99 at most \(mostMilliseconds.fixed(0)).
            """,
            columns: ["from", "p50 ms", "p95 ms", "p99 ms", "most ms"]
        )
        let found = [("the call", measured.fromCall, true), ("the answer", measured.fromAnswer, false)]
        for (name, times, isGoal) in found {
            section.add(
                [name] + [0.5, 0.95, 0.99, 1].map { times.quantile($0).fixed(2) },
                numbers: [
                    "p50": times.quantile(0.5), "p95": times.quantile(0.95), "p99": times.quantile(0.99),
                    "most": times.quantile(1),
                ],
                isWithin: isGoal ? times.quantile(0.99) <= mostMilliseconds : nil
            )
        }
        return section
    }
}

extension [Double] {
    /// The value that this share of the elements does not exceed. The elements must be sorted.
    func quantile(_ share: Double) -> Double {
        isEmpty ? .nan : self[Swift.min(count - 1, Int((Double(count) * share).rounded(.up)) - 1)]
    }
}
