import HTTPServer
import Testing

/// What the fields of a request say.
@Suite struct RequestHeadTests {
    @Test(arguments: [
        ("a:80", "a"), ("a", "a"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("", ""), (":80", ""), ("a.b:", "a.b"),
    ])
    func `a host has a name without its port`(authority: String, name: String) {
        #expect(RequestHead.hostName(authority) == name)
    }

    @Test(arguments: [
        ("\"a\"", true, true), ("\"b\", \"a\"", true, true), ("\"b\" ,\t\"a\" ", true, true), ("*", true, true),
        ("W/\"a\"", false, true), ("\"b\"", false, false), ("a", false, false), ("", false, false),
        ("\"aa\"", false, false),
    ])
    func `a field names an entity tag`(field: String, strongly: Bool, weakly: Bool) throws {
        let fields = [RequestHead.Field("if-none-match", field)]
        let head = try #require(RequestHead(method: "GET", target: "/", fields: fields))
        #expect(head.names("\"a\"", in: "if-none-match", weakly: false) == strongly)
        #expect(head.names("\"a\"", in: "if-none-match", weakly: true) == weakly)
        #expect(!head.names("\"a\"", in: "if-match", weakly: true))
    }
}
