import Console
import Conversion
import Ledger
import LedgerClient
import System

/// Moves files between this machine and a coordinator, several at a time, each over one of as many connections.
struct ParallelTransfers: Sendable {
    let place: CoordinatorPlace
    /// How many files move at a time.
    static let width = 4
    /// For how long a file is tried again while the coordinator is away or overloaded.
    static let patience: Duration = .seconds(120)

    /// Calls `body` for each place in a list of `count`, and throws the first error, after which no other file begins.
    func run(
        _ count: Int,
        width: Int = Self.width,
        _ body: @escaping @Sendable (Int, RemoteLedger) async throws -> Void
    ) async throws {
        let next = Latest(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<min(width, count) {
                group.addTask {
                    let ledger = RemoteLedger(place)
                    while true {
                        try Task.checkCancellation()
                        let index = next.add(1) - 1
                        guard index < count else { return }
                        try await body(index, ledger)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Repeats `body` while the coordinator is away, for as long as a file may be tried again without any progress.
    /// `progress` tells how far the file is.
    static func repeating<Value: Sendable>(
        progress: @Sendable () -> Int64,
        _ body: () async throws -> Value
    ) async throws -> Value {
        var backOff = BackOff(first: .milliseconds(200), longest: .seconds(5))
        var (end, last): (ContinuousClock.Instant?, Int64) = (nil, progress())
        while true {
            do {
                return try await body()
            } catch let error as LedgerError where error.isTransient {
                let now = progress()
                if now > last { (end, last) = (nil, now) }
                let limit = end ?? .now + patience
                end = limit
                guard ContinuousClock.now < limit, await backOff.wait() else { throw error }
            }
        }
    }
}

extension FileRefusal {
    /// What to tell the user about a file that could not be moved. `what` continues "cannot": `send a.wav`.
    func refusal(_ what: String, details: [String] = []) -> Refusal {
        Refusal(message: "cannot \(what): \(message)".printable, details: details, hint: hint)
    }
}
