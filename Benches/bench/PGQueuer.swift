import Foundation
import TestSupport

/// pgqueuer, a job queue in Python on the same PostgreSQL, as `Benches/pgqueuer/drain.py` runs it.
struct PGQueuer {
    /// How it is run: how many jobs it fetches at a time, and over how many connections in how many processes.
    struct Setting: Hashable {
        let batch: Int
        let connections: Int
        let processes: Int

        /// A batch of the size that it comes with, on both cores.
        static let usual = Setting(batch: 10, connections: 4, processes: 2)

        var text: String { "batch \(batch), \(connections) connections, \(processes) processes" }
    }

    /// What its program says.
    private struct Answer: Decodable {
        let seconds: Double
        let jobs: Int
        let cpuSeconds: Double
    }

    private let server: LedgerServer
    private let database: String
    private let python: String
    private let script: String

    /// With a database of its own on `server`.
    init(on server: LedgerServer) throws {
        self.server = server
        database = try server.postgres.createDatabase()
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(filePath: program).deletingLastPathComponent()
        while folder.path.count > 1 {
            let script = folder.appending(path: "Benches/pgqueuer/drain.py").path
            let python = folder.appending(path: ".build/bench-python/bin/python").path
            if FileManager.default.fileExists(atPath: script) {
                guard FileManager.default.isExecutableFile(atPath: python) else {
                    throw SupportError("find pgqueuer", "no \(python); run scripts/prepare bench")
                }
                (self.script, self.python) = (script, python)
                return
            }
            folder = folder.deletingLastPathComponent()
        }
        throw SupportError("find Benches/pgqueuer/drain.py", "in no folder above \(program)")
    }

    /// Works off jobs that do nothing.
    func drain(_ setting: Setting, jobs: Int) throws -> Drain.Outcome {
        let words = [
            script, "postgresql://postgres@/\(database)?host=\(server.postgres.folder)",
            "--server", "\(try server.processNumber)", "--jobs", "\(jobs)", "--batch", "\(setting.batch)",
            "--connections", "\(setting.connections)",
            "--processes", "\(setting.processes)",
        ]
        let run = try Run.program(python, words, limit: .seconds(900)).checked()
        let answer = try JSONDecoder().decode(Answer.self, from: run.stdout)
        return Drain.Outcome(jobs: answer.jobs, seconds: answer.seconds, cpuSeconds: answer.cpuSeconds)
    }

    var version: String {
        get throws {
            let words = ["-c", "from importlib.metadata import version; print(version('pgqueuer'))"]
            return try Run.program(python, words).checked().outputText.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// What is tried: from its own defaults to large batches, on one core and on two.
    static func settings(isQuick: Bool) -> [Setting] {
        let batches = isQuick ? [200] : [10, 50, 200, 500, 1_000]
        let shapes = isQuick ? [(1, 1)] : [(1, 1), (2, 2), (4, 2)]
        return batches.flatMap { batch in
            shapes.map { Setting(batch: batch, connections: $0.0, processes: $0.1) }
        }
    }
}
