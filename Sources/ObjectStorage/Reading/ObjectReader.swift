import Dispatch
import Synchronization
import System
package import WebClient

/// Reads one object by ranges, ahead of its reader where the reader goes straight on.
///
/// All ranges are of the object that was there at the beginning: if another one takes its place, reading fails as `changed`.
/// Its calls block. Memory is bounded: three blocks of at most 4 MiB.
package final class ObjectReader: Sendable {
    package let key: String
    package let facts: ObjectFacts

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

    private let client: StoreClient
    /// Held by the call that reads.
    private let state = Mutex(State())
    /// Ends the call that reads, from another thread.
    private let stop: WebStop
    private let aheadStop = Mutex<WebStop?>(nil)
    private static let threads = BlockingThreads("read ahead")

    /// Enough for the head of most files, and little enough for a probe that reads here and there.
    package static let shortest = 256 << 10
    package static let longest = 4 << 20
    /// The most attempts without a byte in between.
    private static let mostAttempts = 6

    private init(_ client: StoreClient, _ key: String, _ facts: ObjectFacts, first: [UInt8], _ stop: WebStop) {
        (self.client, self.key, self.facts, self.stop) = (client, key, facts, stop)
        state.withLock { $0.blocks = [Block(offset: 0, bytes: first)] }
    }

    /// Leaves `stop` alone: its owner may need it for other calls.
    deinit { aheadStop.withLock { $0?.stop() } }

    /// Opens the object, with one request that also has its first bytes. `stop` ends it from another thread.
    package static func open(
        _ key: String,
        in client: StoreClient,
        stop: WebStop = WebStop()
    ) throws(StoreError) -> ObjectReader {
        var fetch = Fetch(client: client, key: key, etag: nil, range: 0..<Int64(shortest), stop: stop)
        do throws(StoreError) {
            try fetch.run()
        } catch  where error.problem?.code == "InvalidRange" {
            // An empty object has no range.
            guard let facts = try client.facts(of: key, stop: stop), facts.byteCount == 0 else { throw error }
            return ObjectReader(client, key, facts, first: [], stop)
        }
        guard let facts = fetch.facts else {
            throw client.unexpected(StoreCall("GET", key, "read"), "it has no ETag or no length")
        }
        return ObjectReader(client, key, facts, first: fetch.bytes, stop)
    }

    /// Gives up the bytes in memory. A later call reads them again.
    package func forget() {
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
        guard !stop.isStopped else { throw StoreError(.stopped, "read", client.place(key), "stopped") }
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
            var fetch = Fetch(client: client, key: key, etag: facts.etag, range: range(offset, state), stop: stop)
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
        let (client, key, etag) = (client, key, facts.etag)
        Self.threads.run {
            var fetch = Fetch(client: client, key: key, etag: etag, range: ahead.range, stop: ahead.stop)
            do throws(StoreError) {
                try fetch.run()
                ahead.finish(.success(fetch.bytes))
            } catch {
                ahead.finish(.failure(error))
            }
        }
    }

    /// One range, fetched by as many requests as it takes.
    private struct Fetch {
        let client: StoreClient
        let key: String
        /// Of the object that was opened; `nil` for the request that opens it.
        var etag: String?
        var range: Range<Int64>
        let stop: WebStop
        var bytes: [UInt8] = []
        var facts: ObjectFacts?

        init(client: StoreClient, key: String, etag: String?, range: Range<Int64>, stop: WebStop) {
            (self.client, self.key, self.etag, self.range, self.stop) = (client, key, etag, range, stop)
        }

        mutating func run() throws(StoreError) {
            var attempts = 0
            while Int64(bytes.count) < Int64(range.count) {
                let before = bytes.count
                do throws(StoreError) {
                    try ask()
                } catch  where error.kind == .unavailable && bytes.count > before {
                    // The connection broke in the middle: the rest is asked for.
                    attempts = 0
                }
                attempts += bytes.count > before ? 0 : 1
                guard attempts < ObjectReader.mostAttempts else {
                    throw client.unexpected(StoreCall("GET", key, "read"), "it ends before its end")
                }
            }
        }

        private mutating func ask() throws(StoreError) {
            var call = StoreCall("GET", key, "read")
            let first = range.lowerBound + Int64(bytes.count)
            call.headers = [WebRequest.Header("Range", "bytes=\(first)-\(range.upperBound - 1)")]
            if let etag { call.headers.append(WebRequest.Header("If-Match", etag)) }
            var found: ObjectFacts?
            var refusal: String?
            var (bytes, end) = (self.bytes, range.upperBound)
            let start = range.lowerBound
            let most = range.upperBound - start
            var limit = most
            let isFirst = etag == nil
            let known = etag
            defer { self.bytes = bytes }
            do throws(StoreError) {
                _ = try client.send(call, stop: stop) { answer in
                    if isFirst, answer.status == 200, let facts = ObjectFacts(answer), facts.byteCount == 0 {
                        // Some stores send no range of an empty object, but all of it.
                        (found, end, limit) = (facts, start, 0)
                        return true
                    }
                    guard answer.status == 206, let facts = ObjectFacts(answer),
                        let sent = answer.header("content-range").flatMap({ ContentRange($0) })?.bytes
                    else {
                        refusal = "the store does not send ranges"
                        return false
                    }
                    guard sent.lowerBound == first, known == nil || facts.etag == known else {
                        refusal = "it is of another range or object than asked for"
                        return false
                    }
                    if isFirst { end = min(end, facts.byteCount) }
                    limit = min(most, sent.upperBound - start)
                    found = facts
                    return true
                } take: { piece in
                    guard Int64(bytes.count) + Int64(piece.count) <= limit else {
                        refusal = "it is longer than asked for"
                        return false
                    }
                    bytes.append(contentsOf: piece)
                    return true
                }
            } catch {
                note(found, end)
                throw translated(error, refusal)
            }
            note(found, end)
        }

        /// The first answer says which object it is, and how long.
        private mutating func note(_ found: ObjectFacts?, _ end: Int64) {
            guard let found, facts == nil else { return }
            facts = found
            etag = etag ?? found.etag
            range = range.lowerBound..<max(range.lowerBound, end)
        }

        private func translated(_ error: StoreError, _ refusal: String?) -> StoreError {
            var error = error
            if let refusal, error.kind == .stopped, !stop.isStopped {
                error.kind = .unexpectedAnswer
                error.detail = "the answer of the store is not what was asked for: \(refusal)"
            }
            // The object is gone, or another one has its key.
            let isOther =
                [.conditionFailed, .noSuchObject].contains(error.kind) || error.problem?.code == "InvalidRange"
            if etag != nil, isOther {
                error.kind = .changed
                error.detail = "the object has changed since it was opened"
            }
            return error
        }
    }
}
