import Foundation
import TestSupport
import Testing

/// A ledger, and coordinators that serve it on sockets of this machine.
final class RemoteBench {
    let bench: LedgerBench
    private var coordinators: [RunningSluice] = []

    init(_ bench: LedgerBench) { self.bench = bench }

    convenience init() throws { try self.init(LedgerBench()) }

    deinit { for coordinator in coordinators { coordinator.signal(SIGKILL) } }

    /// Starts a coordinator. Returns the URL for `SLUICE_URL`.
    func serve(_ words: String..., at name: String) throws -> String {
        _ = try start(words, at: name)
        return "unix:\(bench.folder.path)/\(name)"
    }

    /// Starts a coordinator that the test may stop.
    @discardableResult
    func start(_ words: [String], at name: String) throws -> RunningSluice {
        let coordinator = try RunningSluice(
            ["coordinator", "--listen", "\(bench.folder.path)/\(name)"] + words,
            in: bench.folder,
            environment: bench.environment
        )
        coordinators.append(coordinator)
        try coordinator.waitForTalk("\"listens\"")
        return coordinator
    }

    /// Runs a command over HTTP. The database is not in its environment.
    func run(_ words: [String], at url: String, environment more: [String: String] = [:]) throws -> Run {
        let environment = ["SLUICE_URL": url, "TZ": "UTC"].merging(more) { $1 }
        return try Sluice.run(words, in: bench.folder, environment: environment)
    }

    /// Runs a command on the database and over HTTP, and expects the same output and the same exit code.
    ///
    /// The commands of one list run both ways, one after the other: their output must not depend on the moment.
    @discardableResult
    func compare(_ words: [String], at url: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Run {
        var direct = try bench.run(words)
        let remote = try run(words, at: url)
        let line = words.joined(separator: " ")
        // A time such as "41 min" may have become another one between the two; then it is the same afterwards.
        if masked(remote.outputText) != masked(direct.outputText) { direct = try bench.run(words) }
        #expect(masked(remote.outputText) == masked(direct.outputText), "\(line)", sourceLocation: sourceLocation)
        #expect(masked(remote.errorText) == masked(direct.errorText), "\(line)", sourceLocation: sourceLocation)
        #expect(remote.status == direct.status, "\(line): \(remote.errorText)", sourceLocation: sourceLocation)
        return remote
    }

    /// Masks what differs from one moment to the next: the ledger's time, that of its last housekeeping, and times of less
    /// than two minutes ago. A coordinator does not tell where the ledger is.
    private func masked(_ text: String) -> String {
        text.replacing(#/"(time|keptHouseAt)":"[^"]*"/#) { "\"\($0.1)\":0" }.replacing(#/\b\d+s\b/#, with: "0s")
            .replacing(#/\b\d+ s\b/#, with: "0 s")
            .replacing(#/"(paceSeconds|lastMinuteSeconds)":[0-9.]+/#) { "\"\($0.1)\":0" }
            .replacing(#/(last minute|last hour) [0-9.]+ files\/s, [0-9.x]+/#) { String($0.1) }
            .replacing(#/"ledger":"[^"]*"/#, with: "\"ledger\":0")
            .replacing(#/ledger     postgres .*, from \w+/#, with: "ledger")
    }
}
