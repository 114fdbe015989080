import Foundation
import Testing
import TestSupport

/// Checks every promise, once no job is open.
struct Checker {
    let cluster: Cluster
    /// The server that holds the ledger.
    let server: PrivatePostgres

    init(cluster: Cluster, server: PrivatePostgres? = nil) {
        self.cluster = cluster
        self.server = server ?? cluster.server
    }

    /// The counts for the table.
    struct Counts {
        var jobs = 0
        var completed = 0
        var failed = 0
        var attempts = 0
        var lostAttempts = 0
        var spentBesides = 0
        /// Attempts that workers have handed back, by their reasons, for messages.
        var handedBack = ""
    }

    /// One ended job.
    private struct Ended {
        var job: Int
        var state: String
        var epoch: Int
        var spent: Int
        var digest: String
        var size: Int
        var output: String
        var source: String
    }

    /// Checks that all jobs ended `completed`, unless `mayFail`; that each output exists once, whole, and as the
    /// ledger describes it; that no other file exists; and that every claim has left the record of an attempt.
    @discardableResult
    func check(
        jobs expected: Int,
        mayFail: Bool = false,
        _ location: SourceLocation = #_sourceLocation
    ) throws -> Counts {
        let ended = try ended()
        var counts = Counts(jobs: ended.count)
        #expect(ended.count == expected, "jobs that ended", sourceLocation: location)
        let completed = ended.filter { $0.state == "completed" }
        counts.completed = completed.count
        counts.failed = ended.count { $0.state == "failed" }
        counts.spentBesides = completed.reduce(0) { $0 + $1.spent - 1 }
        if !mayFail {
            let others = ended.filter { $0.state != "completed" }.map { "job \($0.job) \($0.state), epoch \($0.epoch)" }
            let failures = try failures()
            #expect(others.isEmpty, "\(failures)", sourceLocation: location)
        }
        try checkFiles(completed, location)
        try checkAttempts(&counts, location)
        return counts
    }

    private func ended() throws -> [Ended] {
        try server.run(
            """
            select f.job, f.state, f.epoch, f.spent, encode(f.digest, 'hex'), coalesce(f.size, 0),
                j.recipe #>> '{outputs,0,location}', j.source
            from sluice.finished f join sluice.job j on j.id = f.job order by f.job
            """
        ).split(separator: "\n").map { line in
            let parts = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 8, let job = Int(parts[0]), let epoch = Int(parts[2]), let spent = Int(parts[3]),
                let size = Int(parts[5])
            else { throw SupportError("read the finished jobs", String(line)) }
            return Ended(
                job: job,
                state: parts[1],
                epoch: epoch,
                spent: spent,
                digest: parts[4],
                size: size,
                output: String(parts[6].dropFirst("out:".count)),
                source: parts[7]
            )
        }
    }

    private func checkFiles(_ completed: [Ended], _ location: SourceLocation) throws {
        let out = cluster.folder.path("out")
        let present: Set<String> = Set(try FileManager.default.contentsOfDirectory(atPath: out))
        let wanted: Set<String> = Set(completed.map(\.output))
        let leftOver: [String] = present.subtracting(wanted).sorted()
        #expect(leftOver == [], "files left over", sourceLocation: location)
        let missing: [String] = wanted.subtracting(present).sorted()
        #expect(missing == [], "completed without an output", sourceLocation: location)
        let digests = try SHA256.digests(in: out, wanted.intersection(present).sorted())
        let references = Dictionary(uniqueKeysWithValues: cluster.references.map { ($0.source, $0.digest) })
        let torn = completed.filter { digests[$0.output] != $0.digest || digests[$0.output] != references[$0.source] }
        #expect(
            torn.map(\.output) == [],
            "differs from the ledger or from an undisturbed conversion",
            sourceLocation: location
        )
        let counts = try cluster.watch.counts()
        let notOnce = wanted.filter { counts[$0] != 1 }
        #expect(notOnce.sorted() == [], "not published exactly once", sourceLocation: location)
    }

    /// Each claim raises the epoch by one, so the number of a job's attempts equals its epoch, starting from 1.
    private func checkAttempts(_ counts: inout Counts, _ location: SourceLocation) throws {
        let gaps = try server.run(
            """
            select f.job from sluice.finished f
            left join lateral (select count(*) as n, max(epoch) as last from sluice.attempt a where a.job = f.job) a on true
            where a.n <> f.epoch or coalesce(a.last, 0) <> f.epoch
            """
        )
        #expect(gaps == "", "jobs with a claim that left no record", sourceLocation: location)
        let numbers = try server.run(
            "select count(*), count(*) filter (where outcome = 'lost') from sluice.attempt"
        ).split(separator: "|").compactMap { Int($0) }
        (counts.attempts, counts.lostAttempts) = (numbers[0], numbers[1])
        counts.handedBack = try server.run(
            "select code, message, count(*) from sluice.attempt where outcome = 'released' group by code, message"
        )
    }

    /// The failures and their reasons, for messages.
    private func failures() throws -> String {
        try server.run(
            "select job, epoch, outcome, code, stage, message from sluice.attempt where outcome = 'failed' limit 10"
        )
    }
}
