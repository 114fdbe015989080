import HTTPServer
import Testing

/// The guard alone; Tests/HTTP sends such requests to a running coordinator.
@Suite struct RequestGuardTests {
    private func check(
        _ target: String = "/x",
        method: String = "GET",
        version: String = "HTTP/1.1",
        _ fields: [(String, String)] = [("Host", "a")]
    ) -> Result<RequestHead, RequestGuard.Refusal> {
        let fields = fields.map { (name: Array($0.0.utf8), value: Array($0.1.utf8)) }
        return RequestGuard.check(.init(version: version, method: method, target: target, fields: fields))
    }

    private func status(_ result: Result<RequestHead, RequestGuard.Refusal>) -> HTTPStatus? {
        if case .failure(let refusal) = result { refusal.status } else { nil }
    }

    @Test func `a plain request is read`() throws {
        let head = try check(
            "/api/v1/a%20b/c%2Fd?x=1&y=a+b%26&z",
            [("Host", "a"), ("X-Y", "z"), ("Content-Length", "7")]
        ).get()
        #expect(head.path == ["api", "v1", "a b", "c/d"])
        #expect(head.query.map(\.name) == ["x", "y", "z"])
        #expect(head.query.map(\.value) == ["1", "a b&", ""])
        #expect(head.field("x-y") == "z")
        #expect(head.bodyLength == 7)
    }

    @Test(arguments: [
        "", "x", "http://a/x", "*", "/a b", "/a\u{7}", "/\u{e9}", "/%", "/%2", "/%zz", "/%00", "/%ff", "/x?%00",
        "/x?a=%f",
    ])
    func `a target that is not plain is refused`(target: String) {
        #expect(status(check(target)) == .badRequest)
    }

    @Test(arguments: ["", "get", "G T", "GET\u{1}"]) func `a method that is not a word is refused`(method: String) {
        #expect(status(check(method: method)) == .badRequest)
    }

    @Test(arguments: ["HTTP/1.0", "HTTP/2.0", "", "http/1.1"]) func `another version is refused`(version: String) {
        #expect(status(check(version: version)) == .badRequest)
    }

    @Test(arguments: [
        [("Host", "a"), ("Host", "a")], [], [("Host", "a"), ("Content-Length", "1"), ("content-length", "1")],
        [("Host", "a"), ("Content-Length", "+1")], [("Host", "a"), ("Content-Length", "")],
        [("Host", "a"), ("Content-Length", "1, 1")], [("Host", "a"), ("Content-Length", "9999999999999999999")],
        [("Host", "a"), ("", "x")], [("Host", "a"), ("X ", "x")], [("Host", "a"), ("X", "a\r\n b")],
        [("Host", "a"), ("X", "\u{1}")],
    ])
    func `fields that can be read in two ways are refused`(fields: [(String, String)]) {
        #expect(status(check("/x", fields)) == .badRequest)
    }

    @Test func `a body without a length is refused as such`() {
        #expect(status(check("/x", [("Host", "a"), ("Transfer-Encoding", "chunked")])) == .lengthRequired)
    }
}
