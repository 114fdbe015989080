import Foundation
import TestSupport

/// Another job queue on the same PostgreSQL, from PyPI, run by the program `drain.py` in its folder of `Benches`.
struct RivalQueue {
    /// The options of the queue's program.
    struct Setting: Hashable {
        var options: [Option]

        struct Option: Hashable {
            let name: String
            let value: Int
        }

        init(_ options: KeyValuePairs<String, Int>) {
            self.options = options.map { Option(name: $0.key, value: $0.value) }
        }

        var words: [String] { options.flatMap { ["--\($0.name)", "\($0.value)"] } }
        var text: String { options.map { "\($0.value) \($0.name)" }.joined(separator: ", ") }
    }

    /// The line of JSON that the program prints.
    private struct Answer: Decodable {
        let seconds: Double
        let jobs: Int
        let cpuSeconds: Double
    }

    let name: String
    /// The settings to try in the search for the fastest.
    let settings: [Setting]
    private let package: String
    /// The host in the server's address, before the folder of its socket.
    private let host: String
    private let server: LedgerServer
    private let database: String
    private let python: String
    private let script: String

    /// pgqueuer: from its default batch size to large batches, on one core and on two.
    static func pgqueuer(on server: LedgerServer, isQuick: Bool) throws -> RivalQueue {
        let batches = isQuick ? [200] : [10, 50, 200, 500, 1_000]
        let shapes = isQuick ? [(1, 1)] : [(1, 1), (2, 2), (4, 2)]
        let settings = batches.flatMap { batch in
            shapes.map { Setting(["batch": batch, "connections": $0.0, "processes": $0.1]) }
        }
        return try RivalQueue("pgqueuer", package: "pgqueuer", python: "bench-python", settings, on: server)
    }

    /// pgqueuer with its default batch size, on both cores.
    static let usual = Setting(["batch": 10, "connections": 4, "processes": 2])

    /// awa: from 200 to 1,000 jobs at once, its queue in one stripe and in several, in one process and in two.
    static func awa(on server: LedgerServer, isQuick: Bool) throws -> RivalQueue {
        let workers = isQuick ? [200] : [200, 500, 1_000]
        let shapes = isQuick ? [(1, 1)] : [(1, 2), (4, 1), (4, 2), (8, 2)]
        let settings = workers.flatMap { workers in
            shapes.map { Setting(["workers": workers, "stripes": $0.0, "processes": $0.1]) }
        }
        // awa's parser rejects an address without a host; the connection uses the socket all the same.
        return try RivalQueue("awa", package: "awa-pg", python: "bench-awa", host: "localhost", settings, on: server)
    }

    /// Creates a separate database on `server`.
    private init(
        _ name: String,
        package: String,
        python environment: String,
        host: String = "",
        _ settings: [Setting],
        on server: LedgerServer
    ) throws {
        (self.name, self.package, self.host, self.settings, self.server) = (name, package, host, settings, server)
        database = try server.postgres.createDatabase()
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(filePath: program).deletingLastPathComponent()
        while folder.path.count > 1 {
            let script = folder.appending(path: "Benches/\(name)/drain.py").path
            let python = folder.appending(path: ".build/\(environment)/bin/python").path
            if FileManager.default.fileExists(atPath: script) {
                guard FileManager.default.isExecutableFile(atPath: python) else {
                    throw SupportError("find \(name)", "no \(python); run scripts/prepare bench")
                }
                (self.script, self.python) = (script, python)
                return
            }
            folder = folder.deletingLastPathComponent()
        }
        throw SupportError("find Benches/\(name)/drain.py", "in no folder above \(program)")
    }

    /// Processes jobs that do nothing.
    func drain(_ setting: Setting, jobs: Int) throws -> Drain.Outcome {
        let words = [
            script, "postgresql://postgres@\(host)/\(database)?host=\(server.postgres.folder)",
            "--server", "\(try server.processNumber)", "--jobs", "\(jobs)",
        ]
        let run = try Run.program(python, words + setting.words, limit: .seconds(900)).checked()
        let answer = try JSONDecoder().decode(Answer.self, from: run.stdout)
        let outcome = Drain.Outcome(jobs: answer.jobs, seconds: answer.seconds, cpuSeconds: answer.cpuSeconds)
        Bench.complain("\(name), \(setting.text): \(outcome.words)")
        return outcome
    }

    /// The setting with the highest rate. Tries each several times, because one run may come at a bad moment.
    func bestSetting(jobs: Int, times: Int) throws -> Setting {
        var best: (setting: Setting, rate: Double)?
        for _ in 0..<times {
            for setting in settings {
                let outcome = try drain(setting, jobs: jobs)
                if outcome.rate > best?.rate ?? 0 { best = (setting, outcome.rate) }
            }
        }
        guard let best else { preconditionFailure("there is a setting to try") }
        return best.setting
    }

    var version: String {
        get throws {
            let words = ["-c", "from importlib.metadata import version; print(version('\(package)'))"]
            return try Run.program(python, words).checked().outputText.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}
