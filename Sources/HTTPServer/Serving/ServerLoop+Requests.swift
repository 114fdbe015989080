import CMicroHTTPD
import Glibc
import System

/// How a request moves through its phases. Each function is called by the library and returns its answer to it: whether
/// the connection stays.
extension ServerLoop {
    /// The header is complete.
    func receive(_ exchange: Exchange, _ raw: RequestGuard.Raw) -> MHD_Result {
        guard let sender = visitor(exchange.connection) else { return .NO }
        if let why = sender.refusal { return refuse(exchange, .forbidden, why) }
        var head: RequestHead
        switch RequestGuard.check(raw) {
        case .success(let checked): head = checked
        case .failure(let refusal): return refuse(exchange, refusal.status, refusal.why)
        }
        head.network = sender.network
        switch setup.service.receive(head) {
        case .answer(var answer):
            // The library closes the connection if an answer is queued before the request is complete.
            guard head.bodyLength == 0 else {
                answer.closes = true
                return queue(answer, for: exchange)
            }
            exchange.phase = .answered(answer)
            return .YES
        case .run(let run):
            guard head.bodyLength == 0 else { return refuse(exchange, .badRequest, "this request takes no body") }
            // The library calls again for the end of the request, and only then the connection may rest.
            exchange.phase = .waiting
            answer(exchange) { await run() }
        case .collect(let limit, let permit):
            guard head.bodyLength <= limit else {
                return refuse(exchange, .contentTooLarge, "the body may have \(limit) bytes")
            }
            guard head.bodyLength > 0 else {
                exchange.phase = .waiting
                answer(exchange) {
                    switch await permit() {
                    case .refused(let answer): return answer
                    case .granted(_, let run): return await run([])
                    }
                }
                return .YES
            }
            exchange.phase = .permitting(limit: limit)
            let (server, number) = (server, exchange.number)
            awaitDemand(exchange, head, droppedBytes: limits.droppedBytes)
            exchange.task = Task {
                switch await permit() {
                case .refused(let answer): server.post(.answer(number, answer))
                case .granted(let account, let run): server.post(.collect(number, account: account, run: run))
                }
            }
        case .stream(let run):
            let (server, number) = (server, exchange.number)
            let body = BodyStream { server.post(.wake(number)) }
            exchange.phase = .streaming(body)
            awaitDemand(exchange, head, droppedBytes: limits.droppedFileBytes)
            answer(exchange) { await run(body) }
        }
        return .YES
    }

    /// Lets the connection rest until a task asks for the body or refuses it. A refused body of at most `droppedBytes` is
    /// read to its end.
    private func awaitDemand(_ exchange: Exchange, _ head: RequestHead, droppedBytes: Int) {
        exchange.bodyLength = Int(clamping: head.bodyLength)
        exchange.awaitsDemand = true
        exchange.mayDrop = head.field("expect") == nil && head.bodyLength <= droppedBytes
        // The library calls again for the header when the connection goes on.
        suspend(exchange)
    }

    /// A task wants the body of a request.
    func collect(_ exchange: Exchange, account: String, _ run: @escaping @Sendable ([UInt8]) async -> HTTPAnswer) {
        guard case .permitting(let limit) = exchange.phase else { return }
        exchange.phase = .collecting(limit: limit, run: run)
        exchange.account = account
    }

    /// Keeps a piece of a body. Returns false if too much is kept already.
    private func keep(_ piece: UnsafeRawBufferPointer, of exchange: Exchange) -> Bool {
        let ofAccount = collectedByAccount[exchange.account, default: 0] + piece.count
        guard collectedBytes + piece.count <= limits.collectedBytes, ofAccount <= limits.collectedBytesPerAccount else {
            return false
        }
        let needed = exchange.body.count + piece.count
        if needed > exchange.body.capacity {
            // It grows with what has arrived, and never beyond what the header announces.
            exchange.body.reserveCapacity(max(needed, min(exchange.bodyLength, 2 * needed)))
        }
        exchange.body += piece
        collectedBytes += piece.count
        collectedByAccount[exchange.account] = ofAccount
        return true
    }

    /// Forgets what was collected of a body.
    func dropBody(of exchange: Exchange) {
        guard !exchange.body.isEmpty else { return }
        collectedBytes -= exchange.body.count
        let left = collectedByAccount[exchange.account, default: 0] - exchange.body.count
        collectedByAccount[exchange.account] = left > 0 ? left : nil
        exchange.body = []
    }

    /// A piece of the body. `taken` says that it was used.
    func receive(_ exchange: Exchange, _ piece: UnsafeRawBufferPointer, taken: () -> Void) -> MHD_Result {
        guard !isStopping else { return .NO }
        switch exchange.phase {
        case .collecting(let limit, _):
            guard exchange.body.count + piece.count <= limit else { return .NO }
            if !keep(piece, of: exchange) {
                var answer = setup.service.refusal(.serviceUnavailable, "too many large requests at once")
                answer.closes = true
                exchange.phase = .answered(answer)
                dropBody(of: exchange)
            }
            taken()
        case .streaming(let body):
            if body.offer(piece) {
                exchange.pace?.bytes += piece.count
                taken()
            } else {
                suspend(exchange)
            }
        case .new, .permitting, .waiting, .answered, .sending:
            // An answer was made before the end of the body. It can be sent only after it.
            exchange.dropped += piece.count
            guard exchange.dropped <= (exchange.mayDrop ? limits.droppedFileBytes : limits.droppedBytes) else {
                return .NO
            }
            exchange.pace?.bytes += piece.count
            taken()
        }
        return .YES
    }

    /// The body is complete, or the connection goes on after a rest.
    func advance(_ exchange: Exchange) -> MHD_Result {
        if exchange.awaitsDemand {
            guard !isStopping else { return .NO }
            exchange.awaitsDemand = false
            if case .collecting = exchange.phase {
                visitor(exchange.connection)?.deadline = .now + limits.patience
                return .YES
            }
            guard case .answered(var answer) = exchange.phase else {
                exchange.pace = Pace()
                return .YES
            }
            guard exchange.mayDrop else {
                // The library reads no body then.
                answer.closes = true
                return queue(answer, for: exchange)
            }
            visitor(exchange.connection)?.deadline = .now + limits.patience
            return .YES
        }
        switch exchange.phase {
        case .collecting where isStopping, .streaming where isStopping, .waiting where isStopping: return .NO
        case .collecting(_, let run):
            visitor(exchange.connection)?.deadline = nil
            let body = exchange.body
            exchange.phase = .waiting
            answer(exchange) { await run(body) }
            suspend(exchange)
        case .streaming(let body):
            if !exchange.isComplete {
                exchange.isComplete = true
                exchange.pace = nil
                body.finish(isComplete: true)
            }
            suspend(exchange)
        case .answered(let answer): return queue(answer, for: exchange)
        case .waiting: suspend(exchange)
        case .new, .permitting, .sending: break
        }
        return .YES
    }

    // MARK: - Answers

    private func refuse(_ exchange: Exchange, _ status: HTTPStatus, _ why: String) -> MHD_Result {
        var answer = setup.service.refusal(status, why)
        answer.closes = true
        return queue(answer, for: exchange)
    }

    private func queue(_ answer: HTTPAnswer, for exchange: Exchange) -> MHD_Result {
        guard let connection = exchange.connection, let response = response(answer, for: exchange) else { return .NO }
        for field in answer.fields { MHD_add_response_header(response, field.name, field.value) }
        if answer.closes {
            MHD_add_response_header(response, "Connection", "close")
            // The end of the connection is the end of the events. Chunks would have an end even where there is no body.
            if case .events = answer.body { _ = sluice_without_chunks(response) }
        }
        exchange.phase = .sending
        exchange.pace = nil
        visitor(connection)?.deadline = nil
        dropBody(of: exchange)
        let result = MHD_queue_response(connection, answer.status.rawValue, response)
        MHD_destroy_response(response)
        return result
    }

    private func response(_ answer: HTTPAnswer, for exchange: Exchange) -> OpaquePointer? {
        switch answer.body {
        case .bytes(var bytes):
            return MHD_create_response_from_buffer(bytes.count, &bytes, .RESPMEM_MUST_COPY)
        case .file(let feed):
            let (server, number) = (server, exchange.number)
            feed.begin { server.post(.wake(number)) }
            return MHD_create_response_from_callback(
                UInt64(feed.length),
                32 << 10,
                { context, _, buffer, size in
                    let reader = Unmanaged<FileReader>.fromOpaque(context!).takeUnretainedValue()
                    return reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
                },
                Unmanaged.passRetained(FileReader(self, exchange, feed)).toOpaque(),
                { Unmanaged<FileReader>.fromOpaque($0!).release() }
            )
        case .events(let channel):
            keep(channel, for: exchange)
            let (server, number) = (server, exchange.number)
            channel.begin { server.post(.wake(number)) }
            if let connection = exchange.connection { _ = sluice_set_timeout(connection, 0) }
            let feed = EventFeed(self, exchange, channel)
            return MHD_create_response_from_callback(
                UInt64.max,
                1_024,
                { context, _, buffer, size in
                    let feed = Unmanaged<EventFeed>.fromOpaque(context!).takeUnretainedValue()
                    return feed.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
                },
                Unmanaged.passRetained(feed).toOpaque(),
                { Unmanaged<EventFeed>.fromOpaque($0!).release() }
            )
        }
    }
}

/// Gives the library the events of one subscriber.
private final class EventFeed {
    private let loop: ServerLoop
    private let exchange: Exchange
    private let channel: EventChannel

    init(_ loop: ServerLoop, _ exchange: Exchange, _ channel: EventChannel) {
        (self.loop, self.exchange, self.channel) = (loop, exchange, channel)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        switch channel.read(into: buffer) {
        case .bytes(let count): return count
        // MHD_CONTENT_READER_END_OF_STREAM.
        case .rest where loop.isStopping: return -1
        case .rest:
            // Returning nothing without a rest would be asked again at once, for ever.
            loop.suspend(exchange)
            return 0
        case .end: return -1
        }
    }
}

/// Gives the library a part of a file.
private final class FileReader {
    private let loop: ServerLoop
    private let exchange: Exchange
    private let feed: FileFeed

    init(_ loop: ServerLoop, _ exchange: Exchange, _ feed: FileFeed) {
        (self.loop, self.exchange, self.feed) = (loop, exchange, feed)
    }

    deinit { feed.close() }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        switch feed.read(into: buffer) {
        case .bytes(let count): return count
        // MHD_CONTENT_READER_END_WITH_ERROR: the client sees that bytes are missing.
        case .rest where loop.isStopping: return -2
        case .rest:
            loop.suspend(exchange)
            return 0
        case .failed: return -2
        }
    }
}
