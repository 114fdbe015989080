import Dispatch
import Synchronization
import System
package import WebClient

/// Reads one object by ranges, ahead of its reader where the reader goes straight on.
///
/// All ranges are of the object that was there at the beginning: if another one takes its place, reading fails as `changed`.
/// Its calls block. Memory is bounded: three blocks of at most 4 MiB, or all of an object that the server sends without
/// ranges, up to a limit.
package final class ObjectReader: Sendable {
    package let key: String
    package let facts: SourceFacts
    /// Whether all bytes are in memory, because the server sends no ranges.
    package let isWhole: Bool

    private struct State {
        /// The block that was read last, and the one before, for readers that step back.
        var blocks: [Block] = []
        /// What a thread fetches meanwhile.
        var ahead: Ahead?
        /// The length of the next block.
        var length = ObjectReader.shortest
        /// Where a reader that goes straight on reads next.
        var next: Int64 = 0
    }

    private struct Block {
        let offset: Int64
        let bytes: [UInt8]
        var end: Int64 { offset + Int64(bytes.count) }
        func contains(_ place: Int64) -> Bool { place >= offset && place < end }
    }

    /// A block on its way.
    private final class Ahead: Sendable {
        let range: Range<Int64>
        let stop = WebStop()
        private let result = Mutex<Result<[UInt8], StoreError>?>(nil)
        private let isDone = DispatchSemaphore(value: 0)

        init(_ range: Range<Int64>) { self.range = range }

        func finish(_ result: Result<[UInt8], StoreError>) {
            self.result.withLock { $0 = result }
            isDone.signal()
        }

        /// Call it once. Ends the fetch when `caller` is stopped.
        func wait(_ caller: WebStop) throws(StoreError) -> [UInt8] {
            // In slices, because `caller` knows nothing of this fetch.
            while isDone.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
                if caller.isStopped { stop.stop() }
            }
            guard let result = result.withLock({ $0 }) else { preconditionFailure("a fetch ends with a result") }
            return try result.get()
        }
    }

    private let server: any RangeServer
    /// Held by the call that reads.
    private let state = Mutex(State())
    /// Ends the call that reads, from another thread.
    private let stop: WebStop
    private let aheadStop = Mutex<WebStop?>(nil)
    private static let threads = BlockingThreads("read ahead")

    /// Enough for the head of most files, and little enough for a probe that reads here and there.
    package static let shortest = 256 << 10
    package static let longest = 4 << 20
    /// The most bytes of objects without ranges for one job.
    package static let longestWhole: Int64 = 64 << 20

    private init(
        _ server: any RangeServer,
        _ key: String,
        _ facts: SourceFacts,
        first: [UInt8],
        isWhole: Bool = false,
        _ stop: WebStop
    ) {
        (self.server, self.key, self.facts, self.isWhole, self.stop) = (server, key, facts, isWhole, stop)
        state.withLock { $0.blocks = [Block(offset: 0, bytes: first)] }
    }

    /// Leaves `stop` alone: its owner may need it for other calls.
    deinit { aheadStop.withLock { $0?.stop() } }

    /// Opens the object, with one request that also has its first bytes. `stop` ends it from another thread.
    ///
    /// If the server sends all of the object instead of a range, up to `wholeLimit` bytes are taken and kept; `nil` if it must
    /// send ranges. No request begins later than `timeLimit` after the first one.
    package static func open(
        _ key: String,
        in server: any RangeServer,
        wholeLimit: Int64? = nil,
        timeLimit: Duration? = nil,
        stop: WebStop = WebStop()
    ) throws(StoreError) -> ObjectReader {
        var fetch = RangeFetch(server: server, key: key, known: nil, range: 0..<Int64(shortest), stop: stop)
        (fetch.wholeLimit, fetch.timeLimit) = (wholeLimit, timeLimit)
        do throws(StoreError) {
            try fetch.run()
        } catch  where error.problem?.code == "InvalidRange" {
            // An empty object has no range.
            guard let facts = try server.currentFacts(of: key, stop: stop), facts.byteCount == 0 else { throw error }
            return ObjectReader(server, key, facts, first: [], stop)
        }
        guard let facts = fetch.facts else { throw server.unexpected(key, "it has no ETag or no length") }
        return ObjectReader(server, key, facts, first: fetch.bytes, isWhole: fetch.isWhole, stop)
    }

    /// Whether the server still has what was opened. Bytes that are all in memory are of one answer.
    package func isUnchanged() throws(StoreError) -> Bool {
        guard !isWhole else { return true }
        return try server.currentFacts(of: key, stop: nil)?.isSame(as: facts) == true
    }

    /// Gives up the bytes in memory. A later call reads them again. Those of an object without ranges are kept.
    package func forget() {
        guard !isWhole else { return }
        state.withLock { state in
            state.ahead?.stop.stop()
            (state.ahead, state.blocks, state.length) = (nil, [], Self.shortest)
        }
    }

    /// Ends the call that reads, and all later ones.
    package func cancel() {
        stop.stop()
        aheadStop.withLock { $0?.stop() }
    }

    /// Reads bytes from `offset` on. Returns their number, which is 0 at the end of the object and else at least 1.
    package func read(at offset: Int64, into room: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
        // A number from a room or a file is checked by the caller; only its own error comes here.
        precondition(offset >= 0, "an object begins at 0")
        guard !stop.isStopped else { throw StoreError(.stopped, "read", server.place(key), "stopped") }
        guard offset < facts.byteCount, !room.isEmpty else { return 0 }
        return try state.withLock { state throws(StoreError) in
            if !state.blocks.contains(where: { $0.contains(offset) }) { try fetch(offset, &state) }
            guard let block = state.blocks.last(where: { $0.contains(offset) }) else {
                preconditionFailure("a fetched block has the byte that it was fetched for")
            }
            let count = Int(min(Int64(room.count), block.end - offset))
            block.bytes.withUnsafeBytes { bytes in
                let start = Int(offset - block.offset)
                room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<(start + count)]))
            }
            state.next = offset + Int64(count)
            return count
        }
    }

    /// Has the block with the byte at `offset` read, and the one behind it begun.
    private func fetch(_ offset: Int64, _ state: inout State) throws(StoreError) {
        let goesOn = offset == state.next
        let bytes: [UInt8]
        if let ahead = state.ahead, ahead.range.contains(offset) {
            state.ahead = nil
            bytes = try ahead.wait(stop)
            add(Block(offset: ahead.range.lowerBound, bytes: bytes), &state)
        } else {
            state.ahead?.stop.stop()
            state.ahead = nil
            // A reader that jumps needs little at each place.
            state.length = goesOn ? min(state.length * 2, Self.longest) : Self.shortest
            var fetch = RangeFetch(server: server, key: key, known: facts, range: range(offset, state), stop: stop)
            try fetch.run()
            add(Block(offset: offset, bytes: fetch.bytes), &state)
        }
        guard goesOn, let end = state.blocks.last?.end, end < facts.byteCount else { return }
        state.length = min(state.length * 2, Self.longest)
        begin(Ahead(range(end, state)), &state)
    }

    private func range(_ offset: Int64, _ state: State) -> Range<Int64> {
        // Summed up in this way, because a store may say that the object has almost 2^63 bytes.
        offset..<(offset + min(facts.byteCount - offset, Int64(state.length)))
    }

    private func add(_ block: Block, _ state: inout State) {
        state.blocks.append(block)
        if state.blocks.count > 2 { state.blocks.removeFirst() }
    }

    private func begin(_ ahead: Ahead, _ state: inout State) {
        state.ahead = ahead
        aheadStop.withLock { $0 = ahead.stop }
        // A cancellation before that has not found it.
        if stop.isStopped { ahead.stop.stop() }
        let (server, key, facts) = (server, key, facts)
        Self.threads.run {
            var fetch = RangeFetch(server: server, key: key, known: facts, range: ahead.range, stop: ahead.stop)
            do throws(StoreError) {
                try fetch.run()
                ahead.finish(.success(fetch.bytes))
            } catch {
                ahead.finish(.failure(error))
            }
        }
    }
}
