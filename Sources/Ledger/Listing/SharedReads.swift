import Conversion
import Synchronization

/// Groups the reads of one thing each that arrive while others are under way.
///
/// A read costs the server a transaction and the start of several functions, which is more than the rows themselves.
/// So only a few calls are under way at once. What arrives meanwhile shares the next one, which begins after it has
/// arrived, and so returns nothing older.
final class SharedReads<Value: Sendable>: Sendable {
    typealias Call = @Sendable (_ keys: [Int64]) async throws -> [Int64: Value]

    private struct Read {
        let number: UInt64
        let key: Int64
    }

    private struct State {
        var calls = 0
        var lastNumber: UInt64 = 0
        /// In the order of arrival, also those whose callers no longer wait.
        var waiting: [Read] = []
        /// The callers that wait, for a call to begin or to end.
        var callers: [UInt64: CheckedContinuation<Value?, any Error>] = [:]
    }

    private let state = Mutex(State())
    private let callLimit: Int
    private let most: Int

    /// `connections`: the size of the pool, which other operations use too. `most`: how many reads share a call; their
    /// answers are in memory together.
    init(connections: Int, most: Int = 64) {
        (callLimit, self.most) = (min(connections, max(2, connections / 4)), most)
    }

    /// The reads for which no call has begun, for tests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// The value of `key`, read by a call that begins now or later.
    func value(of key: Int64, by call: @escaping Call) async throws -> Value? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isCancelled, begins) = state.withLock { state in
                    if Task.isCancelled { return (true, false) }
                    state.callers[number] = continuation
                    state.waiting.append(Read(number: number, key: key))
                    guard state.calls < callLimit else { return (false, false) }
                    state.calls += 1
                    return (false, true)
                }
                if isCancelled { continuation.resume(throwing: Self.cancellation) }
                if begins { Task { await makeCalls(call) } }
            }
        } onCancel: {
            answer(number, .failure(Self.cancellation))
        }
    }

    /// Makes calls until no read waits.
    private func makeCalls(_ call: Call) async {
        while true {
            let group = state.withLock { state in
                state.waiting.removeAll { state.callers[$0.number] == nil }
                let group = Array(state.waiting.prefix(most))
                state.waiting.removeFirst(group.count)
                if group.isEmpty { state.calls -= 1 }
                return group
            }
            guard !group.isEmpty else { return }
            do {
                let values = try await call(Set(group.map(\.key)).sorted())
                for read in group { answer(read.number, .success(values[read.key])) }
            } catch let error as LedgerError where error.code == .ledgerUnexpectedAnswer && group.count > 1 {
                // One row that cannot be read must not fail the reads of others.
                for read in group { await makeCall(for: read, call) }
            } catch {
                for read in group { answer(read.number, .failure(error)) }
            }
        }
    }

    private func makeCall(for read: Read, _ call: Call) async {
        do {
            answer(read.number, .success(try await call([read.key])[read.key]))
        } catch {
            answer(read.number, .failure(error))
        }
    }

    /// Resumes the caller, unless it no longer waits.
    private func answer(_ number: UInt64, _ result: Result<Value?, any Error>) {
        state.withLock { $0.callers.removeValue(forKey: number) }?.resume(with: result)
    }

    private static var cancellation: LedgerError {
        LedgerError(.cancelled, during: "read", "the task was cancelled")
    }
}
