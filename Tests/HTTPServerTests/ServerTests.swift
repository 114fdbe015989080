import Foundation
import HTTPServer
import System
import TestSupport
import Testing

/// A server in this process, whose service answers as a test says. Tests/HTTP asks a coordinator.
@Suite(.timeLimit(.minutes(15))) struct ServerTests {
    private struct Service: RequestService {
        let reception: @Sendable (RequestHead) -> Reception

        func receive(_ head: RequestHead) -> Reception { reception(head) }

        func refusal(_ status: HTTPStatus, _ why: String) -> HTTPAnswer { .text(why, as: "text/plain", status) }
    }

    private let folder: TemporaryFolder
    private var path: String { folder.path("http") }

    init() throws { folder = try TemporaryFolder.create() }

    private func server(
        _ limits: ServerLimits = ServerLimits(),
        _ reception: @escaping @Sendable (RequestHead) -> Reception
    ) throws -> Server {
        try Server([.local(path: path)], environment: [:], limits: limits, service: Service(reception: reception))
    }

    private func text(_ text: String) -> HTTPAnswer { .text(text, as: "text/plain") }

    /// What the server answers to `requests` in one connection, of which the last must close it.
    private func exchange(_ requests: String) async throws -> String {
        let path = path
        return try await SeparateThread.run {
            let connection = try RawConnection(to: path)
            connection.send(requests)
            return connection.readToEnd()
        }
    }

    private func request(_ method: String, _ target: String, closes: Bool = true, body: String? = nil) -> String {
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        return
            "\(method) \(target) HTTP/1.1\r\nHost: a\r\n\(closes ? "Connection: close\r\n" : "")\(length)\r\n\(body ?? "")"
    }

    private func body(_ answer: String) -> Substring {
        answer.range(of: "\r\n\r\n").map { answer[$0.upperBound...] } ?? ""
    }

    @Test func requestsOfOneConnectionAreAnsweredInTheirOrder() async throws {
        let server = try server { head in .run { .text(head.path[0], as: "text/plain") } }
        let answer = try await exchange(request("GET", "/first", closes: false) + request("GET", "/second"))
        let places = ["first", "second"].map { answer.range(of: "\r\n\r\n\($0)")?.lowerBound }
        #expect(places[0] != nil && places[1] != nil && places[0]! < places[1]!)
        await server.stop()
    }

    @Test func aBodyOverTheLimitIsRefusedUnread() async throws {
        let server = try server { _ in
            .collect(bodyLimit: 10) { .granted(account: "a") { .text("\($0.count)", as: "text/plain") } }
        }
        #expect(body(try await exchange(request("POST", "/", body: "0123456789"))) == "10")
        let refused = try await exchange(request("POST", "/", closes: false, body: "0123456789x"))
        #expect(refused.hasPrefix("HTTP/1.1 413 "))
        await server.stop()
    }

    @Test func aBodyThatIsNotPermittedIsNotKept() async throws {
        let server = try server { head in
            .collect(bodyLimit: 8 << 20) {
                guard head.path[0] == "open" else { return .refused(.text("no", as: "text/plain", .unauthorized)) }
                return .granted(account: "a") { .text("\($0.count)", as: "text/plain") }
            }
        }
        let short = String(repeating: "x", count: 1_000)
        #expect(try await exchange(request("POST", "/", body: short)).hasPrefix("HTTP/1.1 401 "))
        #expect(body(try await exchange(request("POST", "/open", body: short))) == "1000")
        // Longer than what is read of a refused body, so the answer comes before it.
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(4 << 20)\r\n\r\n"
        #expect(try await exchange(head).hasPrefix("HTTP/1.1 401 "))
        await server.stop()
    }

    @Test func theBodiesOfOneAccountHaveAShare() async throws {
        var limits = ServerLimits()
        limits.collectedBytesPerAccount = 1_000
        let server = try server(limits) { head in
            .collect(bodyLimit: 8 << 20) { .granted(account: head.path[0]) { .text("\($0.count)", as: "text/plain") } }
        }
        let half = String(repeating: "x", count: 600)
        let path = path
        let answers = try await SeparateThread.run {
            // One body lacks its last byte.
            let held = try RawConnection(to: path)
            held.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 601\r\n\r\n\(half)")
            var answers: [String] = []
            for account in ["a", "b"] {
                // Until the held body is there.
                while true {
                    let other = try RawConnection(to: path)
                    other.send("POST /\(account) HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n")
                    other.send("Connection: close\r\n\r\n\(half)")
                    let answer = other.readToEnd()
                    if account == "a", answer.hasPrefix("HTTP/1.1 200 ") { continue }
                    answers.append(answer)
                    break
                }
            }
            held.send("x")
            return answers
        }
        #expect(answers[0].hasPrefix("HTTP/1.1 503 "))
        #expect(body(answers[1]) == "600")
        await server.stop()
    }

    @Test func aBodyThatArrivesInPiecesIsComplete() async throws {
        let server = try server { _ in
            .stream { stream in
                var count = 0
                do {
                    for try await piece in stream { count += piece.count }
                } catch {
                    return .text("\(error)", as: "text/plain", .badRequest)
                }
                return .text("\(count)", as: "text/plain")
            }
        }
        let megabyte = String(repeating: "x", count: 1 << 20)
        #expect(body(try await exchange(request("POST", "/", body: megabyte))) == "\(1 << 20)")
        await server.stop()
    }

    @Test func aFileIsSentWholeAndClosed() async throws {
        let bytes = (0..<700_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let ends = Latest(0)
        let server = try server { _ in
            .run {
                let feed = FileFeed(5..<700_000) { offset, count in
                    Array(bytes[Int(offset)..<Int(offset) + count])
                } onEnd: {
                    _ = ends.change { $0 += 1 }
                }
                return HTTPAnswer(.ok, body: .file(feed))
            }
        }
        #expect(body(try await exchange(request("GET", "/"))) == String(decoding: bytes[5...], as: UTF8.self))
        await server.stop()
        #expect(ends.value == 1)
    }

    @Test func aFileThatCannotBeReadEndsEarly() async throws {
        struct Unreadable: Error {}
        let server = try server { _ in
            .run {
                HTTPAnswer(
                    .ok,
                    body: .file(
                        FileFeed(0..<100) { _, _ in
                            throw Unreadable()
                        } onEnd: {
                        }
                    )
                )
            }
        }
        let answer = try await exchange(request("GET", "/"))
        #expect(answer.contains("Content-Length: 100") && body(answer).isEmpty)
        await server.stop()
    }

    @Test func aFileThatIsStoppedEndsEarlyAlsoWhileItIsRead() async throws {
        let ends = Latest(0)
        let silence = AsyncStream<Void>.makeStream()
        let server = try server { _ in
            .run {
                let (read, reading) = AsyncStream<Void>.makeStream()
                let feed = FileFeed(0..<1_000_000) { _, _ in
                    reading.finish()
                    for await _ in silence.stream {}
                    return []
                } onEnd: {
                    _ = ends.change { $0 += 1 }
                }
                Task {
                    for await _ in read {}
                    feed.stop()
                }
                return HTTPAnswer(.ok, body: .file(feed))
            }
        }
        let answer = try await exchange(request("GET", "/"))
        #expect(answer.contains("Content-Length: 1000000") && body(answer).isEmpty)
        silence.continuation.finish()
        await server.stop()
        #expect(ends.value == 1)
    }

    @Test func aStreamMayEndWithoutWhatWaits() {
        let channel = EventChannel()
        channel.send("data: 1\n\n".utf8)
        channel.end(droppingWhatWaits: true)
        #expect(channel.space == EventChannel.capacity)
    }

    @Test func aBodyThatIsNoLongerWantedIsCut() async throws {
        let server = try server { _ in
            .stream { stream in
                var pieces = stream.makeAsyncIterator()
                // `try?`: the test is about what comes after.
                _ = try? await pieces.next()
                var answer = HTTPAnswer(.unauthorized)
                answer.cutsBody = true
                return answer
            }
        }
        // The rest of the body never comes.
        let answer = try await exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx")
        #expect(answer.isEmpty)
        await server.stop()
    }

    @Test func eventsArriveUntilOneSideEnds() async throws {
        let server = try server { _ in
            .run {
                let channel = EventChannel()
                channel.send("data: 1\n\n".utf8)
                Task {
                    channel.send("data: 2\n\n".utf8)
                    channel.end()
                }
                return HTTPAnswer(.ok, body: .events(channel))
            }
        }
        // Each event may have come in a chunk of its own.
        let answer = try await exchange(request("GET", "/"))
        let places = (1...2).map { answer.range(of: "data: \($0)\n\n")?.lowerBound }
        #expect(places[0] != nil && places[1] != nil && places[0]! < places[1]!)
        await server.stop()
    }

    @Test func aRequestUnderWayIsAnsweredBeforeTheServerStops() async throws {
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let (goesOn, going) = AsyncStream<Void>.makeStream()
        let server = try server { _ in
            .run {
                beginning.finish()
                for await _ in goesOn {}
                return .text("done", as: "text/plain")
            }
        }
        async let answer = exchange(request("GET", "/"))
        for await _ in began {}
        async let stopped: Void = server.stop()
        going.finish()
        #expect(body(try await answer) == "done")
        await stopped
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func idleConnectionsMakeRoomAndBusyOnesStay() async throws {
        var limits = ServerLimits()
        limits.connections = 16
        limits.patience = .seconds(3_600)
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let (goesOn, going) = AsyncStream<Void>.makeStream()
        let server = try server(limits) { head in
            .run {
                guard head.path[0] == "slow" else { return .text("quick", as: "text/plain") }
                beginning.finish()
                for await _ in goesOn {}
                return .text("slow", as: "text/plain")
            }
        }
        async let slow = exchange(request("GET", "/slow"))
        for await _ in began {}
        let path = path
        let quick = request("GET", "/")
        let (answer, time) = try await SeparateThread.run {
            // Many times as many as there may be. Without room, the last ones would wait for an hour.
            let start = ContinuousClock.now
            let idle = try IdleConnections(to: path, count: 200)
            let connection = try RawConnection(to: path)
            connection.send(quick)
            let answer = connection.readToEnd()
            idle.close()
            return (answer, ContinuousClock.now - start)
        }
        #expect(body(answer) == "quick")
        #expect(time < .seconds(600))
        going.finish()
        #expect(body(try await slow) == "slow")
        await server.stop()
    }

    @Test func aSocketInUseIsNotTaken() async throws {
        let first = try server { _ in .run { .text("first", as: "text/plain") } }
        #expect(throws: ListenError.self) { try server { _ in .run { HTTPAnswer(.ok) } } }
        #expect(body(try await exchange(request("GET", "/"))) == "first")
        await first.stop()
    }
}
