import Conversion
import Dispatch
import Synchronization

/// Passes jobs from an async sequence to a connection's thread, which may block.
///
/// One task fills it and one thread empties it. It holds at most two chunks in memory.
final class JobFeed: Sequence, IteratorProtocol, Sendable {
    typealias Element = Result<JobRequest, any Error>

    private struct State {
        /// The chunk being read, in reverse order.
        var chunk: [Element] = []
        /// The chunk that follows it.
        var next: [Element]?
        var isEnded = false
        /// The filling task while it waits for space. `true` tells it that its chunk is already placed.
        var filler: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())
    private let change = DispatchSemaphore(value: 0)
    private let deadline: ContinuousClock.Instant
    private static let chunkCount = 256

    init(until deadline: ContinuousClock.Instant) { self.deadline = deadline }

    // MARK: - Filling

    /// Reads the whole sequence. An error becomes the last element.
    func fill<Jobs: AsyncSequence>(from jobs: Jobs) async where Jobs.Element == JobRequest {
        var chunk: [Element] = []
        do {
            for try await job in jobs {
                chunk.append(.success(job))
                if chunk.count == Self.chunkCount {
                    await put(chunk)
                    chunk = []
                }
            }
        } catch {
            chunk.append(.failure(error))
        }
        await put(chunk)
        end()
    }

    private func put(_ chunk: [Element]) async {
        guard !chunk.isEmpty else { return }
        let isPlaced = await withCheckedContinuation { filler in
            let isPlaced: Bool? = state.withLock { state in
                if state.isEnded { return true }  // the reader has stopped
                if state.next == nil {
                    state.next = chunk
                    return true
                }
                state.filler = filler
                return nil
            }
            if let isPlaced { filler.resume(returning: isPlaced) }
        }
        if !isPlaced {
            state.withLock { state in
                if !state.isEnded { state.next = chunk }
            }
        }
        change.signal()
    }

    private func end() {
        state.withLock { $0.isEnded = true }
        change.signal()
    }

    /// Stops the reader: drops the remaining elements and ends the sequence with an error.
    func stop() {
        let filler = state.withLock { state in
            state.isEnded = true
            state.chunk = []
            state.next = [.failure(Self.error(.cancelled, "the task was cancelled"))]
            defer { state.filler = nil }
            return state.filler
        }
        filler?.resume(returning: false)
        change.signal()
    }

    // MARK: - Emptying

    func next() -> Element? {
        while true {
            let (element, isEnded, filler) = state.withLock { state in
                var filler: CheckedContinuation<Bool, Never>?
                if state.chunk.isEmpty, let next = state.next {
                    state.chunk = next.reversed()
                    state.next = nil
                    filler = state.filler
                    state.filler = nil
                }
                return (state.chunk.popLast(), state.isEnded, filler)
            }
            filler?.resume(returning: false)
            if let element { return element }
            if isEnded { return nil }
            let left = deadline - .now
            guard left > .zero else { return .failure(Self.error(.ledgerTimedOut, "the operation timed out")) }
            _ = change.wait(timeout: .now() + .nanoseconds(Int(clamping: Int64(left / .nanoseconds(1)))))
        }
    }

    private static func error(_ code: FailureCode, _ detail: String) -> LedgerError {
        LedgerError(code, during: "submit jobs", detail)
    }
}
