import Conversion
import Synchronization
import System
package import WebClient

/// One file of a web server, which is read by ranges. Redirects are followed once for many ranges.
package final class WebFile: RangeServer {
    private let server: WebServer
    /// Behind the redirects that were followed; `nil` for straight to the root.
    private let route = Mutex<WebRoute?>(nil)

    package init(_ server: WebServer) { self.server = server }

    package var noun: String { "server" }
    package var repetitionsOfWrongAnswers: Int { 2 }
    // `try?`: `get` refuses a path that makes no address, and names the folder, too.
    package func place(_ path: String) -> String { (try? server.address.url(of: path)) ?? server.address.folder }

    package func facts(_ answer: WebAnswer, byteCount: Int64) -> SourceFacts? {
        SourceFacts(ofWebServer: answer, byteCount: byteCount)
    }

    package func get(
        _ path: String,
        _ part: RangeRequest,
        stop: WebStop?,
        begin: @escaping (WebAnswer) -> Bool,
        take: @escaping (UnsafeRawBufferPointer) -> Bool
    ) throws(StoreError) {
        let deadline = ContinuousClock.now + server.patience.deadline
        var backOff = BackOff(first: server.patience.firstWait, longest: server.patience.longestWait)
        var attempt = 1
        while true {
            if stop?.isStopped == true { throw StoreError(.stopped, "read", place(path), "stopped") }
            var hasTaken = false
            var rest: Duration?
            let error: StoreError
            let asked = Asked(path: path, part: part, deadline: deadline, stop: stop, begin: begin) { piece in
                hasTaken = true
                return take(piece)
            }
            do throws(StoreError) {
                let (answer, last) = try follow(asked)
                if (200..<300).contains(answer.status) { return }
                rest = answer.retryAfter(now: .now())
                error = server.refusal(answer, "read", place(path), last)
            } catch let failure {
                error = failure
            }
            // The root may know another place by now.
            if error.kind == .unavailable { route.withLock { $0 = nil } }
            let wait = max(backOff.next(), rest ?? .zero)
            guard error.kind == .unavailable, !hasTaken, attempt < server.patience.attempts,
                ContinuousClock.now + wait < deadline
            else { throw error }
            attempt += 1
            BlockingPause.pause(wait, until: stop, by: server.wait)
        }
    }

    package func currentFacts(of path: String, stop: WebStop?) throws(StoreError) -> SourceFacts? {
        let part = RangeRequest(range: 0..<1, most: 0)
        var found: SourceFacts?
        var count = 0
        do throws(StoreError) {
            try get(path, part, stop: stop) { answer in
                let total = answer.status == 206 ? Self.total(answer) : answer.bodyLength
                found = total.map { SourceFacts(ofWebServer: answer, byteCount: $0) }
                return answer.status == 206
            } take: { piece in
                count += piece.count
                return count <= 1
            }
        } catch {
            switch error.kind {
            case .noSuchObject: return nil
            // The rest of the answer was not wanted, whatever it says.
            case .stopped where stop?.isStopped != true: break
            case .refused where error.problem?.code == "InvalidRange":
                // The server says in the message how long the source is.
                guard error.problem.flatMap({ ContentRange($0.message) })?.byteCount == 0 else { throw error }
                return SourceFacts(ofWebServer: WebAnswer(status: 416, headers: [], body: []), byteCount: 0)
            default: throw error
            }
        }
        guard let found else { throw unexpected(path, "it does not say how long the source is") }
        return found
    }

    private static func total(_ answer: WebAnswer) -> Int64? {
        answer.header("content-range").flatMap { ContentRange($0) }?.byteCount
    }

    // MARK: - One attempt

    /// What one attempt asks for, behind as many redirects as it meets.
    private struct Asked {
        let path: String
        let part: RangeRequest
        let deadline: ContinuousClock.Instant
        let stop: WebStop?
        let begin: (WebAnswer) -> Bool
        let take: (UnsafeRawBufferPointer) -> Bool
    }

    /// Follows redirects until there is another answer, and returns it with the route that led to it.
    private func follow(_ asked: Asked) throws(StoreError) -> (WebAnswer, WebRoute) {
        let known = route.withLock { $0 }
        let straight = try self.straight(asked.path)
        var now = known ?? straight
        var isKnown = known != nil
        var isFirst = true
        while true {
            // Each request has time for the body, which a server could spend on every redirect.
            guard isFirst || ContinuousClock.now < asked.deadline else {
                let detail = "no answer in time behind redirects of \(server.address.server.authority)"
                throw StoreError(.unavailable, "read", place(asked.path), detail)
            }
            isFirst = false
            let answer = try ask(now, asked)
            let isRedirect = WebServer.redirects.contains(answer.status)
            // An address behind a redirect may be good for some time only.
            if isKnown, isRedirect || [401, 403, 404, 410].contains(answer.status) {
                (now, isKnown) = (straight, false)
                route.withLock { $0 = nil }
                continue
            }
            if isRedirect {
                do throws(WebRoute.Refusal) {
                    now = try server.follow(answer, from: now)
                } catch {
                    throw StoreError(.notServed, "read", place(asked.path), error.text, hint: error.hint)
                }
                continue
            }
            if now.redirects > 0, (200..<300).contains(answer.status) { route.withLock { [now] in $0 = now } }
            return (answer, now)
        }
    }

    private func straight(_ path: String) throws(StoreError) -> WebRoute {
        do throws(AddressError) {
            return WebRoute(to: try server.address.url(of: path))
        } catch {
            throw StoreError(.refused, "read", server.address.folder, error.why, hint: error.hint)
        }
    }

    private func ask(_ route: WebRoute, _ asked: Asked) throws(StoreError) -> WebAnswer {
        var encoding: String?
        do throws(WebError) {
            return try server.ask(
                route,
                headers: asked.part.headers,
                most: asked.part.most,
                until: asked.deadline,
                stop: asked.stop,
                begin: { answer in
                    encoding = answer.header("content-encoding").flatMap { $0.lowercased() == "identity" ? nil : $0 }
                    return encoding == nil && asked.begin(answer)
                },
                take: asked.take
            )
        } catch {
            let place = place(asked.path)
            guard let encoding, error.kind == .stopped else { throw server.failure(error, "read", place, route) }
            let detail = "the server sends the source with the encoding \(encoding.prefix(40).description.plain)"
            throw StoreError(.notServed, "read", place, detail)
        }
    }
}
