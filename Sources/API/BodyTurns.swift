import System

/// Lets few large bodies at a time be parsed and answered, one of each caller. Small ones do not wait for them.
///
/// A body of some megabytes takes seconds to be parsed, and many times its length in memory. Tasks share few threads, so
/// parsing has a thread of its own.
actor BodyTurns {
    private struct Waiter {
        let number: UInt64
        let account: String
        let turn: CheckedContinuation<Void, any Error>
    }

    private var running: Set<String> = []
    private var waiting: [Waiter] = []
    private var lastNumber: UInt64 = 0
    private let most: Int
    private let parsing = BlockingQueue("parsing")
    /// Bodies up to this length are small.
    static let smallBytes = 64 << 10

    init(most: Int = 2) { self.most = most }

    /// How many bodies wait for their turn.
    var waitingCount: Int { waiting.count }

    /// Parses `bytes` with `parse`, and answers with `run`. Others of the same account wait until it has ended. Throws
    /// `CancellationError` at once when the task is cancelled while it waits, so that bodies of clients that have left are
    /// not kept.
    nonisolated func answer<Value: Sendable, Answer: Sendable>(
        _ bytes: [UInt8],
        of account: String,
        parse: @escaping @Sendable ([UInt8]) -> Result<Value, Problem>,
        run: (Value) async throws -> Answer
    ) async throws -> Answer {
        guard bytes.count > Self.smallBytes else { return try await run(parse(bytes).get()) }
        try await begin(account)
        do {
            let answer = try await run(parsing.run { parse(bytes) }.get())
            await end(account)
            return answer
        } catch {
            await end(account)
            throw error
        }
    }

    private func begin(_ account: String) async throws {
        try Task.checkCancellation()
        if running.count < most, !running.contains(account) {
            running.insert(account)
            return
        }
        lastNumber += 1
        let number = lastNumber
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (turn: CheckedContinuation<Void, any Error>) in
                guard !Task.isCancelled else { return turn.resume(throwing: CancellationError()) }
                waiting.append(Waiter(number: number, account: account, turn: turn))
            }
        } onCancel: {
            Task { await self.leave(number) }
        }
    }

    private func leave(_ number: UInt64) {
        guard let place = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: place).turn.resume(throwing: CancellationError())
    }

    private func end(_ account: String) {
        running.remove(account)
        while running.count < most, let next = waiting.firstIndex(where: { !running.contains($0.account) }) {
            let waiter = waiting.remove(at: next)
            running.insert(waiter.account)
            waiter.turn.resume()
        }
    }
}
