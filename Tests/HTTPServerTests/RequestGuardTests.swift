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

/// Headers as libmicrohttpd 0.9 leaves them in its memory: zeros in the place of each CR and LF, and of each colon.
@Suite struct HeaderLayoutTests {
    /// What the library makes of a header of lines, with its own faults: a line ends at LF, a value at a zero byte.
    private func layout(_ text: String) -> HeaderLayout {
        let bytes = Array(text.utf8)
        var lines: [Range<Int>] = []
        var start = 0
        var tail: [UInt8] = bytes
        for (place, byte) in bytes.enumerated() where byte == 10 {
            let hasReturn = place > start && bytes[place - 1] == 13
            lines.append(start..<(hasReturn ? place - 1 : place))
            tail[place] = 0
            if hasReturn { tail[place - 1] = 0 }
            start = place + 1
        }
        func part(_ range: Range<Int>) -> HeaderLayout.Part {
            let end = bytes[range].firstIndex(of: 0) ?? range.upperBound
            return .init(start: 1_000 + range.lowerBound, count: end - range.lowerBound)
        }
        let spaces = lines[0].filter { bytes[$0] == 32 }
        let target = spaces[0] + 1..<spaces[1]
        let fields = lines.dropFirst().filter { !$0.isEmpty }.map { line in
            let colon = line.first { bytes[$0] == 58 } ?? line.lowerBound
            let value = line.first { $0 > colon && bytes[$0] != 32 } ?? line.upperBound
            return (name: part(line.lowerBound..<colon), value: part(value..<line.upperBound))
        }
        return HeaderLayout(
            method: part(0..<spaces[0]),
            targetCount: part(target).count,
            version: part(spaces[1] + 1..<lines[0].upperBound),
            fields: fields,
            byteCount: bytes.count,
            tail: Array(tail.suffix(4))
        )
    }

    @Test(arguments: [
        "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x?a=%41 HTTP/1.1\r\nHost:a\r\nX:    y z \r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \r\n\r\n",
    ])
    func `a header of plain lines is exact`(text: String) { #expect(layout(text).isExact) }

    @Test(arguments: [
        "GET /x HTTP/1.1\nHost: a\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: a\n\r\n", "GET /x HTTP/1.1\r\nHost: a\r\n\n", "GET /x HTTP/1.1\r\nHost: a\n\n",
        "GET /x HTTP/1.1\r\nHost: a\0b\r\nX: y\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a\0b\n\n",
        "GET /x HTTP/1.1\r\nHost: a\0bc\nX: y\r\n\r\n", "GET /x\0y HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `a repaired header is not`(text: String) { #expect(!layout(text).isExact) }

    @Test func `the guard refuses it`() {
        func status(_ text: String) -> HTTPStatus? {
            let raw = RequestGuard.Raw(
                version: "HTTP/1.1",
                method: "GET",
                target: "/x",
                fields: [(Array("Host".utf8), Array("a".utf8))],
                layout: layout(text)
            )
            if case .failure(let refusal) = RequestGuard.check(raw) { return refusal.status }
            return nil
        }
        #expect(status("GET /x HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
        #expect(status("GET /x HTTP/1.1\r\nHost: a\n\r\n") == .badRequest)
    }
}
