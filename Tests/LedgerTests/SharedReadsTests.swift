import Conversion
import Synchronization
import TestSupport
import Testing

@testable import Ledger

/// Reads of one job that share calls.
struct SharedReadsTests {
    /// Calls that end when the test lets them.
    private final class Calls: Sendable {
        private let state = Mutex((groups: [[Int64]](), open: [CheckedContinuation<Void, Never>](), isOpen: false))

        var groups: [[Int64]] { state.withLock { $0.groups } }

        @Sendable func call(_ keys: [Int64]) async throws -> [Int64: String] {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    state.groups.append(keys)
                    if !state.isOpen { state.open.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
            if keys.contains(13) { throw LedgerError(.ledgerUnexpectedAnswer, during: "read", "13 cannot be read") }
            if keys.contains(99) { throw LedgerError(.ledgerCannotReach, during: "read", "away") }
            return Dictionary(uniqueKeysWithValues: keys.filter { $0 < 1_000 }.map { ($0, "\($0)") })
        }

        /// Lets this call and all later ones end.
        func release() {
            let open = state.withLock { state in
                state.isOpen = true
                defer { state.open = [] }
                return state.open
            }
            for continuation in open { continuation.resume() }
        }

        func wait(forCalls count: Int) async throws {
            while groups.count < count { try await pause() }
        }
    }

    private static func pause() async throws {
        // A task's start sends no event that a test could wait for.
        try await Task.sleep(for: .milliseconds(1))
    }

    private func value(of key: Int64, _ reads: SharedReads<String>, _ calls: Calls) async -> Result<String?, any Error>
    {
        do { return .success(try await reads.value(of: key, by: calls.call)) } catch { return .failure(error) }
    }

    @Test func readsThatArriveDuringCallsShareTheNext() async throws {
        let (reads, calls) = (SharedReads<String>(connections: 8, most: 50), Calls())
        try await withThrowingTaskGroup(of: (Int64, String?).self) { group in
            for key in Int64(1)...2 {
                group.addTask { (key, try await reads.value(of: key, by: calls.call)) }
                try await calls.wait(forCalls: Int(key))
            }
            for key in Int64(100)..<190 { group.addTask { (key, try await reads.value(of: key, by: calls.call)) } }
            // A key twice is read once.
            for _ in 0..<5 { group.addTask { (100, try await reads.value(of: 100, by: calls.call)) } }
            while reads.waitingCount < 95 { try await Self.pause() }
            #expect(calls.groups == [[1], [2]])
            calls.release()
            for try await (key, value) in group { #expect(value == "\(key)") }
        }
        #expect(calls.groups.count == 4)
        #expect(calls.groups.allSatisfy { $0.count <= 50 })
        #expect(Set(calls.groups.joined()).count == 92)
        #expect(try await reads.value(of: 7, by: calls.call) == "7")
        #expect(try await reads.value(of: 5_000, by: calls.call) == nil)
    }

    @Test func oneRowThatCannotBeReadFailsAlone() async throws {
        let (reads, calls) = (SharedReads<String>(connections: 1), Calls())
        async let first = value(of: 1, reads, calls)
        try await calls.wait(forCalls: 1)
        async let good = value(of: 2, reads, calls)
        async let bad = value(of: 13, reads, calls)
        while reads.waitingCount < 2 { try await Self.pause() }
        calls.release()
        #expect(try await first.get() == "1")
        #expect(try await good.get() == "2")
        let refused = await bad
        #expect(throws: LedgerError.self) { try refused.get() }
    }

    @Test func anOutageFailsAllThatShareTheCall() async throws {
        let (reads, calls) = (SharedReads<String>(connections: 1), Calls())
        async let first = value(of: 1, reads, calls)
        try await calls.wait(forCalls: 1)
        async let one = value(of: 2, reads, calls)
        async let other = value(of: 99, reads, calls)
        while reads.waitingCount < 2 { try await Self.pause() }
        calls.release()
        #expect(try await first.get() == "1")
        for result in await [one, other] { #expect(throws: LedgerError.self) { try result.get() } }
        #expect(calls.groups == [[1], [2, 99]])
        #expect(try await reads.value(of: 3, by: calls.call) == "3")
    }

    @Test func cancelledReadsEndAtOnce() async throws {
        let (reads, calls) = (SharedReads<String>(connections: 1), Calls())
        let underWay = Task { try await reads.value(of: 1, by: calls.call) }
        try await calls.wait(forCalls: 1)
        let waiting = Task { try await reads.value(of: 2, by: calls.call) }
        while reads.waitingCount < 1 { try await Self.pause() }
        // Neither waits for the call, which has not ended.
        for task in [waiting, underWay] {
            task.cancel()
            await #expect(throws: LedgerError.self) { try await task.value }
        }
        let late = Task {
            // Nothing else tells a task that it is cancelled before it begins to read.
            while !Task.isCancelled { await Task.yield() }
            return try await reads.value(of: 4, by: calls.call)
        }
        late.cancel()
        await #expect(throws: LedgerError.self) { try await late.value }
        calls.release()
        #expect(try await reads.value(of: 3, by: calls.call) == "3")
        #expect(calls.groups == [[1], [3]])
    }
}
