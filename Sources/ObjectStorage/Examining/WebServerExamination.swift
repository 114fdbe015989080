import WebClient

/// Finds out whether sources can be read at the address of a root on a web server: answers, ranges, and what tells one
/// content from another. Its calls block.
package struct WebServerExamination: Sendable {
    private let server: WebServer

    package init(_ server: WebServer) { self.server = server }

    package func run() -> [StoreExamination.Line] {
        var lines: [StoreExamination.Line] = []
        let address = server.address
        if !address.server.isSecure, !address.server.isLoopback {
            lines.append(
                .init(
                    .notice,
                    "requests to \(address.server.authority) are not encrypted: others in the network can change sources",
                    hint: "use an address that begins with https:// if the server has one"
                )
            )
        }
        switch answer() {
        case .failure(let error):
            lines.append(.init(.failure, error.detail, hint: error.hint ?? "check the address and the server"))
        case .success(let answer): lines += Self.lines(answer)
        }
        return lines
    }

    /// The answer at the address of the root, without a slash at its end, so that it may be that of a file.
    private func answer() -> Result<WebAnswer, StoreError> {
        let folder = server.address.folder
        let place = server.address.prefix.isEmpty ? folder : String(folder.dropLast())
        let deadline = ContinuousClock.now + server.patience.deadline
        var route = WebRoute(to: place)
        while true {
            let answer: WebAnswer
            do throws(WebError) {
                answer = try server.ask(route, headers: [WebServer.firstByte], until: deadline)
            } catch {
                return .failure(server.failure(error, "ask", place, route))
            }
            guard WebServer.redirects.contains(answer.status) else {
                let isTemporary = WebServer.isTemporary(answer.status)
                return isTemporary ? .failure(server.refusal(answer, "ask", place, route)) : .success(answer)
            }
            do throws(WebRoute.Refusal) {
                route = try server.follow(answer, from: route)
            } catch {
                return .failure(StoreError(.notServed, "ask", place, error.text, hint: error.hint))
            }
        }
    }

    private static let example = "give doctor the address of a file as a root, to see how the server sends files"

    /// What `answer` says.
    static func lines(_ answer: WebAnswer) -> [StoreExamination.Line] {
        let isPage = answer.header("content-type")?.lowercased().hasPrefix("text/html") == true
        guard (200..<300).contains(answer.status), !isPage else {
            let what = (200..<300).contains(answer.status) ? "with a page" : "with the status \(answer.status)"
            return [.init(.good, "the server answers \(what); that says nothing about files below (\(example))")]
        }
        let limit = ObjectReader.longestWhole >> 20
        var lines: [StoreExamination.Line] = [.init(.good, "the server answers with a file")]
        if let encoding = answer.header("content-encoding"), encoding.lowercased() != "identity" {
            lines.append(
                .init(
                    .failure,
                    "the file is encoded (\(encoding)), and cannot be read",
                    hint: "have the server send plain files"
                )
            )
        }
        lines.append(
            answer.status == 206 && answer.header("content-range").flatMap { ContentRange($0) }?.bytes == 0..<1
                ? .init(.good, "the server sends ranges")
                : .init(
                    .notice,
                    "the server does not send ranges: sources of more than \(limit) MiB cannot be read",
                    hint: "have the server send ranges, as its header Accept-Ranges: bytes would say"
                )
        )
        let etag = answer.header("etag") ?? ""
        let hasTime = answer.header("last-modified").flatMap { StoreTime(httpDate: $0) } != nil
        lines.append(
            SourceFacts.isStrong(etag)
                ? .init(.good, "a strong ETag tells one content of a file from another")
                : .init(
                    .notice,
                    hasTime
                        ? "there is no strong ETag: a file that changes twice in one second is not noticed"
                        : "there is no strong ETag and no Last-Modified: a file that keeps its size may change unnoticed",
                    hint: "do not change files while jobs read them"
                )
        )
        return lines
    }
}
