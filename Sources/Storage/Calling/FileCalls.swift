import Synchronization
import System

/// Runs file calls, which block, on threads of their own, and gives up those that wait for a root that does not answer.
///
/// While the server of a network file system is silent, the kernel does not return from calls to its files, and nothing
/// can interrupt them. Each call names the roots that it touches. Once a root counts as silent, the callers of its calls
/// go on without a result, and no further call to it begins. So the threads that are left behind are as many as there
/// were calls at that moment.
package final class FileCalls: Sendable {
    private struct Call {
        let roots: Set<String>
        /// When it began, or when it last said that it goes on.
        var since = ContinuousClock.now
        /// The root whose files it has said to touch.
        var place: String?
        let giveUp: @Sendable () -> Void
    }

    private struct State {
        var lastNumber: UInt64 = 0
        /// Calls whose callers wait.
        var awaited: [UInt64: Call] = [:]
        /// The roots of calls that were given up and have not returned.
        var stuck: [UInt64: Set<String>] = [:]
        var silent: Set<String> = []
        /// Work without a waiting caller, by the roots that it touches.
        var left: [Set<String>: [@Sendable () -> Void]] = [:]
        /// The roots for which a thread runs what was left.
        var clearing: Set<Set<String>> = []
        var isStopped = false

        mutating func giveUp(_ isMeant: (UInt64, Call) -> Bool) -> [Call] {
            let meant = awaited.filter { isMeant($0.key, $0.value) }
            for (number, call) in meant {
                awaited[number] = nil
                stuck[number] = call.roots
            }
            return Array(meant.values)
        }
    }

    private let state = Mutex(State())
    private let threads = BlockingThreads("files")
    /// Given whenever a call that was given up returns, or all is done that was left.
    private let returns = WakeSignal()

    package init() {}

    // MARK: - Calls

    /// Runs `body`, which touches files below `roots`, and returns its result; `nil` if it was given up, or not begun,
    /// because one of the roots is silent.
    ///
    /// `body` may still return after it was given up. `late` then undoes on the same thread what it has done.
    package func run<Value: Sendable>(
        in roots: Set<String>,
        _ body: @escaping @Sendable () -> Value,
        late: @escaping @Sendable (Value) -> Void = { _ in }
    ) async -> Value? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let call = Call(roots: roots) { continuation.resume(returning: nil) }
            guard let number = begin(call) else { return continuation.resume(returning: nil) }
            threads.run {
                let value = Self.$progress.withValue({ self.goOn(number, at: $0) }) { body() }
                // A call is taken off the list once, by this thread or by `giveUp`, and that resumes the caller.
                if self.state.withLock({ $0.awaited.removeValue(forKey: number) }) != nil {
                    continuation.resume(returning: value)
                } else {
                    late(value)
                    self.state.withLock { _ = $0.stuck.removeValue(forKey: number) }
                    self.returns.send()
                }
            }
        }
    }

    /// What a call says on its thread when it goes on.
    @TaskLocal private static var progress: (@Sendable (String?) -> Void)?

    /// For a call that takes long because a file is large, so that it is not taken for one that does not return: says that
    /// the file system has answered. Does nothing on other threads.
    static func goesOn() { progress?(nil) }

    /// The same for a call that goes on with files below `root`, so that no other of its roots is blamed.
    package static func touches(_ root: String) { progress?(root) }

    private func goOn(_ number: UInt64, at root: String?) {
        state.withLock { state in
            state.awaited[number]?.since = .now
            if let root { state.awaited[number]?.place = root }
        }
    }

    /// The number of the call; `nil` if it must not begin.
    private func begin(_ call: Call) -> UInt64? {
        state.withLock { state in
            guard !state.isStopped, state.silent.isDisjoint(with: call.roots) else { return nil }
            state.lastNumber += 1
            state.awaited[state.lastNumber] = call
            return state.lastNumber
        }
    }

    /// Runs `body`, which touches files below `roots`, at some time, and does not wait for it. While one of the roots is
    /// silent, `body` waits for its return.
    package func leave(in roots: Set<String>, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.left[roots, default: []].append(body) }
        clear(roots)
    }

    /// Runs what was left for these roots, one after the other, so that it takes one thread at most.
    private func clear(_ roots: Set<String>) {
        let isMine = state.withLock { state in
            guard state.left[roots] != nil, state.silent.isDisjoint(with: roots) else { return false }
            return state.clearing.insert(roots).inserted
        }
        guard isMine else { return }
        threads.run {
            while let bodies = self.takeLeft(roots) {
                for body in bodies { body() }
            }
            self.returns.send()
        }
    }

    private func takeLeft(_ roots: Set<String>) -> [@Sendable () -> Void]? {
        state.withLock { state in
            if state.silent.isDisjoint(with: roots), let bodies = state.left.removeValue(forKey: roots) {
                return bodies
            }
            state.clearing.remove(roots)
            return nil
        }
    }

    // MARK: - Silent roots

    /// Gives up all calls that touch the root, and begins no more.
    package func silence(_ root: String) {
        let given = state.withLock { state in
            state.silent.insert(root)
            return state.giveUp { $1.roots.contains(root) }
        }
        for call in given { call.giveUp() }
    }

    /// The root answers again: does what was left for it, and begins calls again.
    package func resume(_ root: String) {
        let keys = state.withLock { state in
            state.silent.remove(root)
            return state.left.keys.filter { $0.contains(root) }
        }
        for roots in keys { clear(roots) }
    }

    /// Silences all roots of calls that have taken longer than `limit`, and returns those that were not silent before.
    package func silenceRoots(ofCallsLongerThan limit: Duration) -> Set<String> {
        let start = ContinuousClock.now - limit
        let lost = state.withLock { state in
            state.awaited.values.filter { $0.since < start }.reduce(into: Set()) { $0.formUnion($1.roots) }
                .subtracting(state.silent)
        }
        for root in lost { silence(root) }
        return lost
    }

    /// Whether a call at this root has not gone on for longer than `limit`. One that touches several roots counts for the one
    /// that it is at.
    package func isHeldUp(_ root: String, longerThan limit: Duration) -> Bool {
        let start = ContinuousClock.now - limit
        return state.withLock { state in
            state.awaited.values.contains { $0.since < start && ($0.roots == [root] || $0.place == root) }
        }
    }

    /// Begins calls again to the silent roots whose calls have all returned.
    package func resumeReturned() {
        let back = state.withLock { state in
            state.silent.filter { root in !state.stuck.values.contains { $0.contains(root) } }
        }
        for root in back { resume(root) }
    }

    package var silentRoots: Set<String> { state.withLock { $0.silent } }

    /// The first of the roots that is silent; `nil` if none is.
    package func silent(of roots: Set<String>) -> String? {
        state.withLock { $0.silent.isEmpty ? nil : $0.silent.intersection(roots).min() }
    }

    /// Waits until all calls to a silent root have returned. Cancellation ends the wait.
    package func haveReturned(from root: String) async {
        while !Task.isCancelled {
            let seen = returns.count
            let isOver = state.withLock { state in
                !state.stuck.values.contains { $0.contains(root) } && !state.clearing.contains { $0.contains(root) }
            }
            if isOver { return }
            await returns.wait(since: seen)
        }
    }

    // MARK: - The end

    /// Gives up the calls that are under way now and are not done after `grace`. Returns at once.
    package func giveUp(after grace: Duration) {
        let last = state.withLock { $0.lastNumber }
        Task {
            // Nothing cancels this task.
            try? await Task.sleep(for: grace, clock: .continuous)
            let given = state.withLock { $0.giveUp { number, _ in number <= last } }
            for call in given { call.giveUp() }
        }
    }

    /// Gives up all calls, and begins no more.
    package func stop() {
        let given = state.withLock { state in
            state.isStopped = true
            return state.giveUp { _, _ in true }
        }
        for call in given { call.giveUp() }
    }

    /// After `stop`: waits up to `limit` for calls to return and for what was left. What is not done by then stays as it
    /// is until the process ends.
    package func settle(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        while .now < end {
            let seen = returns.count
            if state.withLock({ $0.clearing.isEmpty && $0.stuck.isEmpty }) { break }
            await returns.wait(since: seen, until: end)
        }
        // What was left holds open files of silent roots. To close one would block the thread that frees it.
        if state.withLock({ !$0.left.isEmpty }) { _ = Unmanaged.passRetained(self) }
    }
}
