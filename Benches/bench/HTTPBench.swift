import Conversion
import Foundation
import TestSupport

/// Measures the HTTP API on a ledger with a past, beside the same calls by a client of PostgreSQL.
enum HTTPBench {
    private static let leastReads = 5_000.0
    private static let mostMillisecondsOfPage = 20.0
    private static let mostMillisecondsOfStatus = 5.0
    private static let mostSecondsOfStream = 3.0

    /// Requests that `wrk` makes.
    private struct Load: Sendable {
        let name: String
        let path: String
        let connections: Int
        let isWithin: @Sendable (Answer) -> Bool?
    }

    /// The line of JSON that the script of `wrk` prints.
    private struct Answer: Decodable {
        let requests: Int
        let seconds: Double
        /// In milliseconds.
        let p50: Double
        let p95: Double
        let errors: Int

        var rate: Double { Double(requests) / seconds }
    }

    private static let loads = [
        Load(name: "a job with its story", path: "/api/v1/jobs/JOB", connections: 64) { $0.rate >= leastReads },
        Load(name: "a job with its story", path: "/api/v1/jobs/JOB", connections: 1) { _ in nil },
        Load(name: "a page of 50 failed jobs", path: "/api/v1/jobs?state=failed", connections: 4) {
            $0.p95 <= mostMillisecondsOfPage
        },
        Load(name: "status", path: "/api/v1/status", connections: 1) { $0.p95 <= mostMillisecondsOfStatus },
        Load(name: "`/healthz`", path: "/healthz", connections: 8) { _ in nil },
    ]

    static func run(isQuick: Bool) async throws -> Section {
        let (jobs, seconds) = isQuick ? (50_000, 1) : (1_000_000, 10)
        let server = try LedgerServer.start()
        let ledger = try await BenchLedger.create(on: server.postgres)
        Bench.complain("\(jobs) finished jobs")
        try ledger.writePast(jobs)
        try server.settle()
        let folder = try BenchFolder.create(in: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        let log = folder.path + "/http.log"
        let sluice = try Workbench.builtSluice()
        let url = server.postgres.url(database: ledger.database)
        let coordinators = try ["viewer", "submitter"].map { role in
            let words = ["coordinator", "--listen", "0", "--open-role", role, "--database", url]
            return try Background.start(sluice, words, log: "\(log).\(role)")
        }
        let reading = try await port(in: "\(log).viewer")
        let submitting = try await port(in: "\(log).submitter")

        var section = Section(
            "http",
            """
            Requests to a coordinator for \(Plural.count(seconds, "second")) each, by wrk, on a ledger with \(jobs) finished jobs;
            PostgreSQL \(try server.version), \(server.place). All of it shares the cores. By psql: the calls of the ledger behind a
            story, in one transaction each, by pgbench. Milliseconds until the answer.
            """,
            columns: ["what", "connections", "a second", "p50", "p95"]
        )
        for load in loads {
            Bench.complain("\(load.name), \(Plural.count(load.connections, "connection"))")
            let answer = try measure(load, port: reading, jobs: jobs, seconds: seconds)
            section.add(
                [load.name, "\(load.connections)", answer.rate.fixed(0), answer.p50.fixed(2), answer.p95.fixed(2)],
                numbers: ["requestsPerSecond": answer.rate, "p50": answer.p50, "p95": answer.p95],
                isWithin: load.isWithin(answer)
            )
        }
        for connections in [8, 1] {
            let rate = try storiesByPgbench(connections, ledger, jobs: jobs, seconds: seconds, in: folder.path)
            section.add(
                ["a job with its story, by psql", "\(connections)", rate.fixed(0), "", ""],
                numbers: ["callsPerSecond": rate],
                isWithin: nil
            )
        }
        let took = try submitLines(port: submitting, count: 100_000, in: folder.path)
        section.add(
            ["100,000 jobs by one stream, seconds", "1", took.fixed(2), "", ""],
            numbers: ["seconds": took],
            isWithin: took <= mostSecondsOfStream
        )
        for coordinator in coordinators { try Background.stop(coordinator) }
        try await ledger.remove()
        return section
    }

    /// Waits until a coordinator's log says where it listens.
    private static func port(in log: String) async throws -> Int {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            // `try?`: the file may not be there yet.
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            if let found = text.firstMatch(of: /"127\.0\.0\.1:(\d+)"/), let port = Int(found.1) { return port }
            guard ContinuousClock.now < deadline else { throw SupportError("start a coordinator", text) }
            // A log that grows sends no event that this could wait for.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func measure(_ load: Load, port: Int, jobs: Int, seconds: Int) throws -> Answer {
        let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "http/requests.lua").path
        func wrk(_ seconds: Int) throws -> Answer {
            let words = [
                "--threads", "1", "--connections", "\(load.connections)", "--duration", "\(seconds)s", "--script",
                script,
                "http://127.0.0.1:\(port)", load.path, "\(jobs)",
            ]
            let text = try Run.program("wrk", words).checked().outputText
            guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("{") }) else {
                throw SupportError("read what wrk prints", text)
            }
            let answer = try JSONDecoder().decode(Answer.self, from: Data(line.utf8))
            guard answer.errors == 0, answer.requests > 0 else { throw SupportError("request \(load.path)", text) }
            return answer
        }
        // A warm-up: connections open, and plans are made.
        _ = try wrk(1)
        return try wrk(seconds)
    }

    /// Stories in a second, each by the calls that the ledger makes for one.
    private static func storiesByPgbench(
        _ connections: Int,
        _ ledger: BenchLedger,
        jobs: Int,
        seconds: Int,
        in folder: String
    ) throws -> Double {
        let calls = ["show_jobs", "list_attempts"]
        let script = folder + "/story.sql"
        let lines =
            ["\\set job random(1, \(jobs))"] + calls.map { "select * from sluice.\($0)(array[:job]::bigint[]);" }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: script))
        let words = [
            "--no-vacuum", "--client", "\(connections)", "--time", "\(seconds)", "--protocol", "prepared", "--file",
            script, ledger.server.url(database: ledger.database),
        ]
        let text = try Run.program("pgbench", words).checked().outputText
        guard let found = text.firstMatch(of: /tps = ([0-9.]+)/), let rate = Double(found.1) else {
            throw SupportError("read what pgbench prints", text)
        }
        return rate
    }

    /// Seconds to submit jobs as JSON Lines.
    private static func submitLines(port: Int, count: Int, in folder: String) throws -> Double {
        let file = folder + "/jobs.ndjson"
        let lines = (0..<count).map { number in
            let name = "show-\(number / 200)/2024/episode-\(number)-the-long-interview"
            return "{\"source\":\"podcasts:\(name).wav\",\"output\":\"out:\(name).mp3\",\"preset\":\"podcast-mp3\"}\n"
        }
        try Data(lines.joined().utf8).write(to: URL(filePath: file))
        let began = ContinuousClock.now
        let words = [
            "--silent", "--show-error", "--fail", "--header", "Content-Type: application/x-ndjson", "--data-binary",
            "@\(file)", "http://127.0.0.1:\(port)/api/v1/batches",
        ]
        try Run.program("curl", words).checked()
        return (.now - began) / .seconds(1)
    }
}
