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

    private func server(_ reception: @escaping @Sendable (RequestHead) -> Reception) throws -> Server {
        try Server([.local(path: path)], environment: [:], service: Service(reception: reception))
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
        let server = try server { head in .run(bodyLimit: 0) { _ in .text(head.path[0], as: "text/plain") } }
        let answer = try await exchange(request("GET", "/first", closes: false) + request("GET", "/second"))
        let places = ["first", "second"].map { answer.range(of: "\r\n\r\n\($0)")?.lowerBound }
        #expect(places[0] != nil && places[1] != nil && places[0]! < places[1]!)
        await server.stop()
    }

    @Test func aBodyOverTheLimitIsRefusedUnread() async throws {
        let server = try server { _ in .run(bodyLimit: 10) { .text("\($0.count)", as: "text/plain") } }
        #expect(body(try await exchange(request("POST", "/", body: "0123456789"))) == "10")
        let refused = try await exchange(request("POST", "/", closes: false, body: "0123456789x"))
        #expect(refused.hasPrefix("HTTP/1.1 413 "))
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
            .run(bodyLimit: 0) { _ in
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
            .run(bodyLimit: 0) { _ in
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

    @Test func eventsArriveUntilOneSideEnds() async throws {
        let server = try server { _ in
            .run(bodyLimit: 0) { _ in
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
            .run(bodyLimit: 0) { _ in
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

    @Test func aSocketInUseIsNotTaken() async throws {
        let first = try server { _ in .run(bodyLimit: 0) { _ in .text("first", as: "text/plain") } }
        #expect(throws: ListenError.self) { try server { _ in .run(bodyLimit: 0) { _ in HTTPAnswer(.ok) } } }
        #expect(body(try await exchange(request("GET", "/"))) == "first")
        await first.stop()
    }
}
