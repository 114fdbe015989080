import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The counters of the metrics equal what the rows of attempts say, never fall, and outlive the jobs.
struct MetricsTests {
    @Test(arguments: [1, 2] as [UInt64])
    func countersAreTheTruthAfterARandomWorkload(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', retry_base = '1 s', retry_cap = '20 s', max_attempts = 2")
        var worker = try await lab.worker()
        var (running, publishing): ([Fence], [Fence]) = ([], [])
        var claimed = 0
        var before = try await lab.ledger.metrics()
        func some(_ fences: inout [Fence]) -> [Fence] {
            fences.shuffle(using: &generator)
            let taken = Array(fences.prefix(generator.whole(in: 1..<8)))
            fences.removeFirst(taken.count)
            return taken
        }
        for _ in 0..<100 {
            switch generator.whole(in: 0..<12) {
            case 0, 1:
                try await lab.submit(generator.whole(in: 1..<20), Submission(queue: "q\(generator.whole(in: 0..<3))"))
            case 2, 3, 4:
                let claims = try await lab.claim(Int32(generator.whole(in: 1..<20)), for: worker)
                claimed += claims.count
                running += claims.map(\.fence)
            case 5, 6:
                let fences = some(&running)
                let answers = try await lab.ledger.publish(fences.map(LedgerLab.publication))
                publishing += zip(fences, answers).filter { $1 == .done }.map(\.0)
            case 7:
                // The second call changes nothing, as if the answer to the first had been lost.
                let fences = some(&publishing)
                try await lab.ledger.finish(fences)
                try await lab.ledger.finish(fences)
            case 8:
                let kinds = Failure.Kind.allCases
                try await lab.ledger.fail(
                    some(&running).map { fence in
                        let kind = kinds[generator.whole(in: 0..<kinds.count)]
                        return AttemptFailure(fence, LedgerLab.failure(kind, code: "code_\(kind)"))
                    }
                )
            case 9: try await lab.ledger.release(some(&running))
            case 10:
                let change: [JobChange] = [.cancel, .retry]
                let ids = (0..<6).map { _ in Int64(generator.whole(in: 1..<400)) }
                try await lab.ledger.apply(change[generator.whole(in: 0..<2)], to: JobFilter(ids: ids), chunk: 4)
            default:
                if generator.whole(in: 0..<4) == 0 {
                    try await lab.ledger.stop(worker.worker)
                    worker = try await lab.worker("new")
                }
                try await keepHouse(lab)
            }
            let now = try await lab.ledger.metrics()
            expectGrowth(from: before, to: now)
            before = now
        }
        for _ in 0..<2 {
            try await compare(lab, claimed: claimed)
            // Folding must not change them.
            try await keepHouse(lab)
        }
        let left: Int = try await lab.value("select count(*) from \(lab.schema).meter_delta")
        #expect(left == 0)
    }

    @Test func countersOutliveTheJobsThatTheyCounted() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', span_size = 1000, keep = '2 h'")
        for _ in 0..<4 { try await lab.submit(1_000) }
        try await keepHouse(lab)
        let worker = try await lab.worker()
        for _ in 0..<4 {
            let fences = try await lab.claim(1_000, for: worker).map(\.fence)
            try await lab.ledger.publish(fences.dropFirst().map(LedgerLab.publication))
            try await lab.ledger.finish(Array(fences.dropFirst()))
            try await lab.ledger.fail([AttemptFailure(fences[0], LedgerLab.failure(.permanent))])
        }
        try await lab.ledger.stop(worker.worker)
        let before = try await lab.ledger.metrics()
        #expect(before[.attempts, "default", "completed", ""] == 3_996)
        #expect(before[.failures, "corrupt_stream"] == 4)
        #expect(before[.bytes, "out"] == 4_931_064)
        #expect(before[.sourceSeconds, "none"] == 3_996)
        try await lab.age(by: .seconds(60 * 121))
        for _ in 0..<10 { try await keepHouse(lab, after: .seconds(400)) }
        let jobs: Int = try await lab.value("select count(*) from \(lab.schema).job")
        try #require(jobs <= 1_000)
        let groups = try await lab.ledger.failures().reduce(0) { $0 + ($1.attempts ?? 0) }
        try #require(groups < 4)
        let after = try await lab.ledger.metrics()
        expectGrowth(from: before, to: after)
        for family in MetricFamily.allCases where family.declaration.kind == .counter {
            #expect(after.samples[family] == before.samples[family], "\(family)")
        }
        #expect(after.histograms[.jobRun]?.count == 3_996 && after.histograms[.jobWait]?.count == 4_000)
        // The gauge of the same jobs does fall.
        let kept = try #require(after[.jobs, "default", "completed"])
        #expect(kept < 3_996)
    }

    @Test func aLostWorkerIsALostLeaseAndADeadRoomHasAReason() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(3)
        let worker = try await lab.worker()
        let fences = try await lab.claim(3, for: worker).map(\.fence)
        var failure = AttemptFailure(fences[0], LedgerLab.failure(.infrastructure, code: "room_crashed"))
        failure.isRoomDeath = true
        try await lab.ledger.fail([failure])
        try await lab.lab.run { connection in
            try connection.execute("select count(*) from \(lab.schema).begin_tick()")
            try connection.execute(
                "update \(lab.schema).worker set lease_until = lease_until - interval '2 h' where id = \(worker.worker)"
            )
            try connection.execute(
                "update \(lab.schema).house set quiet_until = '-infinity', tick_at = \(lab.schema).ledger_time()"
            )
        }
        #expect(try await lab.ledger.metrics()[.workers, "run"] == 0)
        for _ in 0..<2 {
            try await lab.lab.run { try $0.execute("select \(lab.schema).reap()") }
            let metrics = try await lab.ledger.metrics()
            #expect(metrics[.leasesLost] == 1)
            #expect(metrics[.attempts, "default", "lost", "infrastructure"] == 2)
            #expect(metrics[.failures, "worker_lost"] == 2 && metrics[.failures, "room_crashed"] == 1)
            #expect(metrics[.roomsEnded, "room_crashed"] == 1)
            #expect(metrics.samples[.roomsEnded]?.count == 1)
        }
    }

    @Test func gaugesAreThoseOfTheMoment() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        try await lab.submit(1, Submission(queue: "empty"))
        let (one, other) = (try await lab.worker("a"), try await lab.worker("b"))
        let fence = try #require(try await lab.claim(1, for: one, from: ["empty"]).first?.fence)
        try await lab.ledger.publish([LedgerLab.publication(fence)])
        _ = try await lab.heartbeat.beat(
            one.worker,
            status: WorkerStatus(busySlots: 3, pausedBecause: "not mounted", pausedRoots: ["archive"])
        )
        let denied = UnwritableRoot(name: "out", path: "/srv/out", reason: "permission_denied", seconds: 5)
        _ = try await lab.heartbeat.beat(
            other.worker,
            status: WorkerStatus(busySlots: 99, pausedBecause: "full", unwritableRoots: [denied])
        )
        try await lab.age(by: .seconds(90))
        let metrics = try await lab.ledger.metrics()
        #expect(metrics[.jobs, "default", "waiting"] == 2 && metrics[.jobs, "empty", "publishing"] == 1)
        #expect(metrics[.publishPending] == 1)
        let oldest = try #require(metrics[.oldestWaiting, "default"])
        #expect((90..<600).contains(oldest))
        #expect(metrics[.oldestWaiting, "empty"] == 0)
        #expect(metrics[.workers, "run"] == 1 && metrics[.workers, "paused"] == 1 && metrics[.workers, "quiet"] == 0)
        // No worker has more busy slots than slots.
        #expect(metrics[.slots, "busy"] == 7 && metrics[.slots, "free"] == 1)
        #expect(metrics[.pausedRoots, "archive"] == 1 && metrics[.pausedRoots, "out"] == 1)
        #expect(metrics[.deadRows, "waiting"] != nil)
        #expect(metrics[.housekeeping] == nil)
        try await keepHouse(lab)
        let kept = try #require(try await lab.ledger.metrics()[.housekeeping])
        #expect(abs(kept - (try await lab.ledger.time()).timeIntervalSince1970) < 60)
    }

    @Test func theAgeOfTheOldestTransactionNeedsARight() async throws {
        let lab = try await LedgerLab()
        #expect(try await lab.ledger.metrics()[.snapshotAge] != nil)
        let name = PrivatePostgres.freshName("user")
        try lab.lab.server.run("create role \(name) login in role sluice_viewer")
        let viewer = try lab.ledger(as: name)
        let plain = try await viewer.metrics()
        #expect(plain[.snapshotAge] == nil && plain[.workers, "run"] == 0)
        try lab.lab.server.run("grant pg_read_all_stats to \(name)")
        try await lab.whileOpen(["select count(*) from \(lab.schema.text).setting"]) {
            let age = try #require(try await viewer.metrics()[.snapshotAge])
            #expect(age > 0)
        }
        await viewer.close()
    }

    /// A time that equals a limit belongs to the bucket below it.
    @Test func bucketsHaveTheSameLimitsInBothLanguages() async throws {
        let lab = try await LedgerLab()
        for (place, limit) in SpanHistogram.limits.enumerated() {
            for (seconds, bucket) in [(limit.nextDown, place), (limit, place), (limit.nextUp, place + 1)] {
                let found: Int = try await lab.value("select \(lab.schema).span_bucket(\(seconds))::bigint")
                #expect(found == bucket, "\(seconds)")
            }
        }
    }

    @Test(
        arguments: [
            ([], "none"), (["recipe:1", "root:a"], "none"), (["codec:flac", "recipe:1"], "flac"),
            (["codec:flac", "codec:mp3"], "several"),
        ] as [([String], String)]
    )
    func aLaneHasOneCodec(needs: [String], codec: String) async throws {
        let lab = try await LedgerLab()
        let found: String = try await lab.value("select \(lab.schema).lane_codec(\(needs))")
        #expect(found == codec)
    }

    @Test func furtherOutputsHaveBytes() async throws {
        let lab = try await LedgerLab()
        let bytes: Int = try await lab.value(
            "select \(lab.schema).further_bytes('[{\"digest\": \"aa\", \"bytes\": 5}, null, {\"bytes\": 7}]')::bigint"
        )
        #expect(bytes == 12)
    }

    // MARK: - Truth

    private func keepHouse(_ lab: LedgerLab, after pause: Duration = .seconds(5)) async throws {
        try await lab.age(by: pause)
        let report = try await lab.ledger.keepHouse()
        #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
    }

    private func expectGrowth(from before: LedgerMetrics, to now: LedgerMetrics) {
        for family in MetricFamily.allCases where family.declaration.kind == .counter {
            for sample in before.samples[family] ?? [] {
                let value = now.samples[family]?.first { $0.labels == sample.labels }?.value
                #expect(value.map { $0 >= sample.value } == true, "\(family) \(sample.labels)")
            }
        }
        for (family, histogram) in before.histograms {
            let later = now.histograms[family] ?? SpanHistogram()
            #expect(zip(histogram.counts, later.counts).allSatisfy { $0 <= $1 } && histogram.seconds <= later.seconds)
        }
    }

    private func compare(_ lab: LedgerLab, claimed: Int) async throws {
        let metrics = try await lab.ledger.metrics()
        var attempts: [[String]: Double] = [:]
        var failures: [[String]: Double] = [:]
        try await lab.lab.run { connection in
            try connection.rows(
                """
                select q.name, a.outcome::text, case when a.outcome = 'cancelled' then '' else coalesce(a.class::text, '') end,
                       count(*)::double precision
                from \(lab.schema).attempt a join \(lab.schema).job j on j.id = a.job
                join \(lab.schema).lane l on l.id = j.lane join \(lab.schema).queue q on q.id = l.queue group by 1, 2, 3
                """
            ) { row -> ([String], Double) in ([try row[0], try row[1], try row[2]], try row[3]) }
        }.forEach { attempts[$0] = $1 }
        try await lab.lab.run { connection in
            try connection.rows(
                """
                select a.code, count(*)::double precision from \(lab.schema).attempt a where a.outcome = 'failed' group by 1
                """
            ) { row -> ([String], Double) in ([try row[0]], try row[1]) }
        }.forEach { failures[$0] = $1 }
        func found(_ family: MetricFamily) -> [[String]: Double] {
            let pairs = (metrics.samples[family] ?? []).filter { $0.value != 0 }.map { ($0.labels, $0.value) }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        #expect(found(.attempts) == attempts && !attempts.isEmpty)
        #expect(found(.failures) == failures && failures.count == 3)
        #expect(metrics.histograms[.jobWait]?.count == Double(claimed))
        let run = try #require(metrics.histograms[.jobRun])
        for (limit, count) in run.cumulative {
            let truth: Int = try await lab.value(
                """
                select count(*) from \(lab.schema).attempt
                where outcome = 'completed' and greatest(0, date_part('epoch', ended_at - started_at)) <= \(limit)
                """
            )
            #expect(Double(truth) == count, "\(limit)")
        }
        let seconds: Double = try await lab.value(
            """
            select coalesce(sum(date_part('epoch', ended_at - started_at)), 0) from \(lab.schema).attempt
            where outcome = 'completed'
            """
        )
        #expect(abs(seconds - run.seconds) < 0.001)
        let completed = attempts.filter { $0.key[1] == "completed" }.values.reduce(0, +)
        #expect(metrics[.sourceSeconds, "none"] == completed && metrics[.bytes, "out"] == completed * 1_234)
    }
}
