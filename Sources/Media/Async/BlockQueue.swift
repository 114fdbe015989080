import Conversion
import Synchronization

/// A bounded FIFO of blocks between the appending tasks and the writer. It holds at most `capacity` blocks.
///
/// Once the writer has failed, every operation reports that failure. The queue never looks merely full.
final class BlockQueue: Sendable {
    /// The result of offering a block.
    enum Offer { case taken(wakesWriter: Bool), full }

    private struct Waiter {
        let number: UInt64
        let block: PCMBlock
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var blocks: [PCMBlock] = []
        var waiters: [Waiter] = []
        /// Whether the writer is running and will check the queue again.
        var isDraining = false
        var isClosed = false
        var failure: MediaError?
        var nextNumber: UInt64 = 0
        var mostBlocks = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// The largest number of blocks that were queued at once.
    var mostBlocks: Int { state.withLock { $0.mostBlocks } }

    /// The number of suspended appends.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Why the queue takes no more blocks; `nil` while it works.
    var failure: MediaError? { state.withLock { $0.failure } }

    // MARK: Appending

    /// Takes `block` if there is space and no task is waiting. Throws if the writer has failed or finished.
    func offer(_ block: PCMBlock) throws -> Offer {
        try state.withLock { state in try offer(block, &state) }
    }

    /// Waits for space, then takes `block`. Returns `true` if the caller must wake the writer.
    ///
    /// If the task is cancelled, the block is not taken.
    func append(_ block: PCMBlock) async throws -> Bool {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        if case .taken(let wakesWriter) = try offer(block) { return wakesWriter }
        var wakesWriter = false
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer = enter(Waiter(number: number, block: block, continuation: continuation))
                switch answer {
                case nil: break
                case .success(let wakes)?:
                    wakesWriter = wakes
                    continuation.resume()
                case .failure(let error)?: continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            let left = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
            }
            left?.continuation.resume(throwing: CancellationError())
        }
        return wakesWriter
    }

    /// The result for a waiter that need not wait after all; `nil` if it must wait.
    private func enter(_ waiter: Waiter) -> Result<Bool, any Error>? {
        state.withLock { state in
            // Checked under the lock: a later cancellation finds the waiter in the list.
            if Task.isCancelled { return .failure(CancellationError()) }
            do {
                if case .taken(let wakesWriter) = try offer(waiter.block, &state) { return .success(wakesWriter) }
            } catch {
                return .failure(error)
            }
            state.waiters.append(waiter)
            return nil
        }
    }

    private func offer(_ block: PCMBlock, _ state: inout State) throws -> Offer {
        if let failure = state.failure { throw failure }
        if state.isClosed { throw MediaError(.alreadyFinished, at: .encode, "the output is already finished") }
        guard state.blocks.count < capacity, state.waiters.isEmpty else { return .full }
        state.blocks.append(block)
        state.mostBlocks = max(state.mostBlocks, state.blocks.count)
        let wakesWriter = !state.isDraining
        state.isDraining = true
        return .taken(wakesWriter: wakesWriter)
    }

    // MARK: The writer's side

    /// Removes the oldest block and gives its place to the task that has waited longest. `nil` if
    /// the queue is empty or has failed.
    func take() -> PCMBlock? {
        let (block, admitted) = state.withLock { state -> (PCMBlock?, Waiter?) in
            guard state.failure == nil, !state.blocks.isEmpty else {
                state.isDraining = false
                return (nil, nil)
            }
            let block = state.blocks.removeFirst()
            if state.waiters.isEmpty { return (block, nil) }
            let waiter = state.waiters.removeFirst()
            state.blocks.append(waiter.block)
            return (block, waiter)
        }
        admitted?.continuation.resume()
        return block
    }

    /// Takes no new blocks from now on. Blocks appended before, including those of waiting tasks, still come out.
    func close() throws {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            if state.isClosed { throw MediaError(.alreadyFinished, at: .finish, "the output is already finished") }
            state.isClosed = true
        }
    }

    /// Fails every waiting and every later append with `error`, and drops the queued blocks. The first failure wins.
    func fail(_ error: MediaError) {
        let (waiters, failure) = state.withLock { state in
            let failure = state.failure ?? error
            state.failure = failure
            state.blocks = []
            defer { state.waiters = [] }
            return (state.waiters, failure)
        }
        for waiter in waiters { waiter.continuation.resume(throwing: failure) }
    }
}
