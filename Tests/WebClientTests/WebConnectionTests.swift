import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import WebClient

/// Requests to a real server of raw bytes.
struct WebConnectionTests {
    private static func answer(_ body: String, status: String = "200 OK", more: String = "") -> RawServer.Answer {
        .bytes("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(more)\r\n\(body)")
    }

    private func failure(_ request: WebRequest) -> WebError.Kind? {
        do {
            _ = try WebConnection().send(request)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test func requestsAndAnswersArriveAsTheyAre() throws {
        let server = try RawServer(Self.answer("ä body", status: "418 Short", more: "X-Facts:  two words \r\n"))
        defer { server.stop() }
        var request = WebRequest("POST", url: server.url + "a?b=c")
        request.headers = [WebRequest.Header("Authorization", "Bearer x"), WebRequest.Header("Content-Type", "a/b")]
        request.body = .bytes(Array("sent \u{0} bytes".utf8))
        let answer = try WebConnection().send(request)
        #expect(answer.status == 418)
        #expect(String(decoding: answer.body, as: UTF8.self) == "ä body")
        #expect(answer.header("x-facts") == "two words")
        let heard = try #require(server.requests.first)
        #expect(heard.hasPrefix("POST /a?b=c HTTP/1.1\r\n"))
        #expect(heard.contains("\r\nAuthorization: Bearer x\r\n"))
        #expect(heard.hasSuffix("\r\n\r\nsent \u{0} bytes"))
        #expect(!heard.contains("Expect"))
    }

    @Test func connectionIsKeptAndForgetsTheLastRequest() throws {
        let server = try RawServer(Self.answer("x"))
        defer { server.stop() }
        let connection = try WebConnection()
        var request = WebRequest("PUT", url: server.url)
        request.headers = [WebRequest.Header("X-First", "1")]
        request.body = .bytes([65])
        _ = try connection.send(request)
        for method in ["GET", "DELETE", "POST"] {
            _ = try connection.send(WebRequest(method, url: server.url))
        }
        #expect(server.connectionCount == 1)
        let methods: [Substring] = server.requests.map { $0.prefix { $0 != " " } }
        #expect(methods == ["PUT", "GET", "DELETE", "POST"])
        #expect(server.requests.dropFirst().allSatisfy { !$0.contains("X-First") })
        #expect(try #require(server.requests.last).contains("Content-Length: 0\r\n"))
    }

    @Test func connectionIsKeptBetweenRequestsThatCanBeStopped() throws {
        let server = try RawServer(Self.answer("x"))
        defer { server.stop() }
        let connection = try WebConnection()
        for _ in 0..<3 { _ = try connection.send(WebRequest(url: server.url), stop: WebStop()) }
        #expect(server.requests.count == 3)
        #expect(server.connectionCount == 1)
    }

    @Test func fileIsSentFromItsBeginning() throws {
        let server = try RawServer(Self.answer("x"))
        defer { server.stop() }
        let folder = try TemporaryFolder.create()
        let text = String(repeating: "0123456789abcdef", count: 50_000)
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("body")))
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.path("body")))
        try file.seek(toOffset: 77)
        var request = WebRequest("POST", url: server.url)
        request.body = .file(descriptor: file.fileDescriptor, length: Int64(text.utf8.count))
        let connection = try WebConnection()
        for _ in 0..<2 { _ = try connection.send(request) }
        #expect(server.requests.allSatisfy { $0.hasSuffix("\r\n\r\n" + text) })
        #expect(try file.offset() == 77)
        request.body = .file(descriptor: file.fileDescriptor, length: Int64(text.utf8.count) + 1)
        #expect(failure(request) == .broken)
    }

    @Test func pathIsSentAsItIsToServersThatWantIt() throws {
        let server = try RawServer(Self.answer("x"))
        defer { server.stop() }
        var request = WebRequest(url: server.url + "a/../b")
        let connection = try WebConnection()
        _ = try connection.send(request)
        request.keepsPath = true
        _ = try connection.send(request)
        let lines: [Substring] = server.requests.map { $0.prefix { $0 != "\r\n" } }
        #expect(lines == ["GET /b HTTP/1.1", "GET /a/../b HTTP/1.1"])
    }

    @Test func redirectIsNotFollowed() throws {
        let server = try RawServer(Self.answer("", status: "302 Found", more: "Location: /elsewhere\r\n"))
        defer { server.stop() }
        #expect(try WebConnection().send(WebRequest(url: server.url)).status == 302)
        #expect(server.requests.count == 1)
    }

    @Test func longAnswersAreCut() throws {
        let head = "HTTP/1.1 200 OK\r\n\r\n"
        let piece = String(repeating: "x", count: 10_000)
        for answer in [RawServer.Answer.endless(head, then: piece), .endless("HTTP/1.1 200 OK\r\n", then: "A: b\r\n")] {
            let server = try RawServer(answer)
            defer { server.stop() }
            var request = WebRequest(url: server.url)
            request.answerLimit = 100_000
            #expect(failure(request) == .answerTooLong)
        }
    }

    /// The status of an answer whose body takes all of the time. A busy machine hears it only in a longer time; `nil` if it
    /// does not in a hundred seconds.
    private func status(of request: WebRequest, stop: WebStop? = nil) throws -> Int? {
        for seconds in [1, 10, 100] {
            var request = request
            request.timeLimit = .seconds(seconds)
            do throws(WebError) {
                return try WebConnection().send(request, stop: stop).status
            } catch {
                guard error.kind == .timedOut else { throw error }
            }
        }
        return nil
    }

    /// A client that wants only the status has its answer, however slowly the body comes.
    @Test func anAnswerThatIsCutIsWholeForAClientThatTakesIt() throws {
        for body in ["", "abc"] {
            let server = try RawServer(.bytes("HTTP/1.1 202 Accepted\r\nContent-Length: 1000\r\n\r\n\(body)"))
            defer { server.stop() }
            var request = WebRequest(url: server.url)
            request.timeLimit = .seconds(1)
            #expect(failure(request) == .timedOut)
            request.takesCutAnswers = true
            #expect(try status(of: request) == 202)
            #expect(try status(of: request, stop: WebStop()) == 202)
            // A stop is asked for about once a second.
            request.timeLimit = .seconds(100)
            #expect(throws: WebError.self) { try WebConnection().send(request, isStopped: { true }) }
        }
        let server = try RawServer(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"))
        defer { server.stop() }
        var request = WebRequest(url: server.url)
        (request.timeLimit, request.takesCutAnswers) = (.seconds(1), true)
        #expect(failure(request) == .timedOut)
    }

    /// Its taker would miss the end.
    @Test func aBodyThatIsGivenAwayIsNeverCut() throws {
        let server = try RawServer(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"))
        defer { server.stop() }
        var request = WebRequest(url: server.url)
        (request.timeLimit, request.takesCutAnswers) = (.seconds(1), true)
        #expect(throws: WebError.self) { try WebConnection().send(request, take: { _ in true }) }
    }

    @Test func redirectsAreWholeURLs() throws {
        let server = try RawServer(.bytes("HTTP/1.1 302 Found\r\nLocation: c?d\r\nContent-Length: 0\r\n\r\n"))
        defer { server.stop() }
        let answer = try WebConnection().send(WebRequest(url: server.url + "a/b"))
        #expect(answer.target == server.url + "a/c?d")
        #expect(answer.address == NetworkAddress("127.0.0.1"))
    }

    @Test func piecesGoToTheirTaker() throws {
        let server = try RawServer(.endless("HTTP/1.1 200 OK\r\n\r\n", then: "data: x\n\n"))
        defer { server.stop() }
        var heard = 0
        var request = WebRequest(url: server.url)
        request.timeLimit = nil
        #expect(throws: WebError.self) {
            try WebConnection().send(
                request,
                take: { piece in
                    heard += piece.count
                    return heard < 1_000_000
                }
            )
        }
        #expect(heard >= 1_000_000)
    }

    @Test func theAnswerIsSeenBeforeItsPieces() throws {
        let server = try RawServer(Self.answer("abc", status: "206 Partial Content"))
        defer { server.stop() }
        var seen: [String] = []
        _ = try WebConnection().send(
            WebRequest(url: server.url),
            begin: { answer in
                seen.append("\(answer.status)")
                return true
            },
            take: { piece in
                seen.append("\(piece.count)")
                return true
            }
        )
        #expect(seen == ["206", "3"])
        #expect(throws: WebError.self) {
            try WebConnection().send(
                WebRequest(url: server.url),
                begin: { _ in false },
                take: { _ in
                    Issue.record("a piece of an answer that is not wanted")
                    return true
                }
            )
        }
    }

    @Test func errorsAreNotTakenForPieces() throws {
        let server = try RawServer(Self.answer("no such thing", status: "404 Not Found"))
        defer { server.stop() }
        let answer = try WebConnection().send(
            WebRequest(url: server.url),
            take: { _ in
                Issue.record("a piece of an error")
                return true
            }
        )
        #expect(String(decoding: answer.body, as: UTF8.self) == "no such thing")
    }

    @Test func everyFailureHasItsKind() throws {
        let closing = try RawServer(.close)
        let silent = try RawServer(.silence)
        let garbage = try RawServer(.bytes("\u{1}\u{2} nothing of the kind\r\n\r\n"))
        defer { for server in [closing, silent, garbage] { server.stop() } }
        #expect(failure(WebRequest(url: closing.url)) == .broken)
        #expect(failure(WebRequest(url: garbage.url)) != nil)
        var request = WebRequest(url: silent.url)
        request.timeLimit = .milliseconds(200)
        #expect(failure(request) == .timedOut)
        request.timeLimit = nil
        request.silenceLimit = .seconds(1)
        #expect(failure(request) == .timedOut)
        #expect(failure(WebRequest(url: "http://name.invalid/")) == .cannotResolve)
        #expect(failure(WebRequest(url: "http://127.0.0.1:1/")) == .cannotConnect)
        for url in ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "", "http://a b/"] {
            #expect(failure(WebRequest(url: url)) == .badRequest, "\(url)")
        }
        #expect(failure(WebRequest(url: silent.url.replacing("http:", with: "https:"), silence: 1)) != nil)
    }

    @Test func controlCharactersAreRefused() throws {
        var request = WebRequest(url: "http://127.0.0.1:1/")
        for value in ["a\r\nB: c", "a\nb", "a\u{0}b", "\u{7F}"] {
            request.headers = [WebRequest.Header("X", value)]
            #expect(failure(request) == .badRequest)
        }
        request.headers = [WebRequest.Header("X Y", "z")]
        #expect(failure(request) == .badRequest)
        #expect(failure(WebRequest("GET /\r\n", url: request.url)) == .badRequest)
        #expect(failure(WebRequest(url: "http://127.0.0.1:1/\r\n")) == .badRequest)
    }

    @Test func waitEndsWhenItIsStopped() throws {
        let server = try RawServer(.silence)
        defer { server.stop() }
        var request = WebRequest(url: server.url)
        request.timeLimit = nil
        do {
            _ = try WebConnection().send(request, isStopped: { !server.requests.isEmpty })
            Issue.record("an answer of a silent server")
        } catch {
            #expect(error.kind == .stopped)
        }
    }

    @Test func stopEndsASilentRequestAtOnce() throws {
        let server = try RawServer(.silence)
        defer { server.stop() }
        var request = WebRequest(url: server.url)
        request.timeLimit = nil
        let stop = WebStop()
        Thread.detachNewThread {
            // The server notes a request when it has arrived.
            while server.requests.isEmpty { sched_yield() }
            stop.stop()
        }
        do {
            // Without the stop, this would have no end.
            _ = try WebConnection().send(request, stop: stop)
            Issue.record("an answer of a silent server")
        } catch {
            #expect(error.kind == .stopped)
        }
        #expect(throws: WebError.self) { try WebConnection().send(request, stop: stop) }
        #expect(server.requests.count == 1)
    }

    @Test func stopEndsAllRequestsThatRunWithIt() throws {
        let server = try RawServer(.silence)
        defer { server.stop() }
        var request = WebRequest(url: server.url)
        request.timeLimit = nil
        let parent = WebStop()
        let stops = [WebStop(below: parent), WebStop(below: parent), parent]
        let ended = Mutex<[WebError.Kind]>([])
        let isDone = DispatchSemaphore(value: 0)
        for stop in stops {
            Thread.detachNewThread { [request] in
                do throws(WebError) {
                    _ = try WebConnection().send(request, stop: stop)
                } catch { ended.withLock { $0.append(error.kind) } }
                isDone.signal()
            }
        }
        // The server notes a request when it has arrived. Yields, because no event tells it here.
        while server.requests.count < 3, ended.withLock({ $0.isEmpty }) { sched_yield() }
        try #require(server.requests.count == 3, "\(ended.withLock { $0 })")
        stops[0].stop()
        isDone.wait()
        #expect(!parent.isStopped && !stops[1].isStopped)
        #expect(ended.withLock { $0 } == [.stopped])
        parent.stop()
        for _ in 0..<2 { isDone.wait() }
        #expect(stops[1].isStopped)
        #expect(ended.withLock { $0 } == [.stopped, .stopped, .stopped])
    }

    @Test func trailersAreNoHeaders() throws {
        let body = "1\r\nx\r\n0\r\nETag: late\r\n\r\n"
        let server = try RawServer(
            .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n\(body)")
        )
        defer { server.stop() }
        let answer = try WebConnection().send(WebRequest(url: server.url))
        #expect(answer.body == [UInt8(ascii: "x")])
        #expect(answer.header("etag") == nil)
    }

    @Test func stoppableRequestsAreLikeOthers() throws {
        let server = try RawServer(Self.answer("ä body", status: "418 Short"), .close)
        defer { server.stop() }
        let answer = try WebConnection().send(WebRequest(url: server.url), stop: WebStop())
        #expect(answer.status == 418 && String(decoding: answer.body, as: UTF8.self) == "ä body")
        #expect(throws: WebError.self) { try WebConnection().send(WebRequest(url: server.url), stop: WebStop()) }
    }

    @Test func requestIsSentOnceWhereASecondTimeMatters() throws {
        func requests(isSentOnce: Bool) throws -> (count: Int, isAnswered: Bool) {
            let server = try RawServer(Self.answer("1"), .close, Self.answer("3"))
            defer { server.stop() }
            let connection = try WebConnection()
            _ = try connection.send(WebRequest(url: server.url))
            var request = WebRequest("POST", url: server.url)
            (request.body, request.isSentOnce) = (.bytes([65]), isSentOnce)
            // `nil`: the request failed, as it must where it is sent once.
            let answer = try? connection.send(request)
            return (server.requests.count, answer != nil)
        }
        // What libcurl does by itself on a connection that it has kept.
        #expect(try requests(isSentOnce: false) == (3, true))
        #expect(try requests(isSentOnce: true) == (2, false))
    }

    @Test func forbiddenAddressesAreNotConnectedTo() throws {
        let server = try RawServer(Self.answer("secret"))
        defer { server.stop() }
        for host in [
            "127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "0x7f000001", "2130706433", "127.1",
        ] {
            var request = WebRequest(url: "http://\(host):\(server.port)/")
            request.addresses = .publicOnly()
            #expect(failure(request) == .forbiddenAddress, "\(host)")
        }
        #expect(server.connectionCount == 0)
        var request = WebRequest(url: server.url)
        request.addresses = .publicOnly(others: [try #require(AddressBlock("127.0.0.0/8"))])
        #expect(try WebConnection().send(request).status == 200)
        request.addresses = .publicOnly()
        // A kept connection is not a way around the rule.
        let connection = try WebConnection()
        _ = try connection.send(WebRequest(url: server.url))
        #expect(throws: WebError.self) { try connection.send(request) }
    }

    /// Each address that such a connection has ever led to was permitted.
    @Test func connectionIsKeptUnderOneRule() throws {
        let server = try RawServer(Self.answer("x"))
        defer { server.stop() }
        let connection = try WebConnection()
        var request = WebRequest(url: server.url)
        request.addresses = .publicOnly(others: [try #require(AddressBlock("127.0.0.0/8"))])
        for _ in 0..<3 { _ = try connection.send(request) }
        #expect(server.connectionCount == 1)
        _ = try connection.send(WebRequest(url: server.url))
        // What was open before may be of the request without a rule.
        _ = try connection.send(request)
        #expect(server.connectionCount == 2)
    }
}

extension WebRequest {
    fileprivate init(url: String, silence seconds: Int) {
        self.init(url: url)
        timeLimit = .seconds(seconds)
    }
}
