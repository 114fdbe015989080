import Conversion
import Foundation
import HTTPServer
import Ledger
import Testing

@testable import API
@testable import Page

/// What a browser sends: paths, filters, cookies, and where it wants to go after the login.
@Suite struct RequestTests {
    private func head(_ target: String, _ fields: [(String, String)] = []) throws -> RequestHead {
        try #require(
            RequestHead(
                method: "GET",
                target: target,
                fields: ([("host", "localhost:8080")] + fields).map { RequestHead.Field($0.0, $0.1) }
            )
        )
    }

    @Test func `a link says what its parts were`() throws {
        let link = PageLink(["jobs"], query: [("queue", "a b&c=d+é#?%"), ("state", "failed,delayed"), ("code", "")])
        let request = try head(link.text)
        #expect(request.path == ["jobs"])
        #expect(request.query.map(\.name) == ["queue", "state"])
        #expect(request.query.map(\.value) == ["a b&c=d+é#?%", "failed,delayed"])
        #expect(PageLink().text == "/")
    }

    @Test(arguments: [
        "https://evil.example/", "//evil.example", "/\\evil.example", "jobs", "/a\r\nSet-Cookie: x", "/ ",
        "/" + String(repeating: "a", count: 6_000), "",
    ])
    func `a login leads to no other site`(target: String) { #expect(PageTarget(target).text == "/") }

    @Test func `a login leads back`() {
        #expect(PageTarget("/jobs?state=failed").text == "/jobs?state=failed")
        // Three bytes for each of two that a letter has.
        let long = PageLink(["jobs"], query: [("source-contains", String(repeating: "я", count: 200))]).text
        #expect(PageTarget(long).text == long && long.utf8.count > 1_200)
        #expect(PageTarget(nil).text == "/")
    }

    @Test func `a session is found by the port of the coordinator`() throws {
        let own = try head("/", [("cookie", "a=b; sluice_session_8080=slt_1; sluice_session=slt_2")])
        #expect(SessionCookie(own).token(in: own) == "slt_1")
        let other = try head(
            "/",
            [("cookie", "sluice_session_9090=slt_1; xsluice_session_8080=slt_2; sluice_session_8080=")]
        )
        #expect(SessionCookie(other).token(in: other) == nil)
    }

    @Test func `a cookie is kept from scripts and from other sites`() throws {
        let plain = SessionCookie(try head("/")).beginning("slt_1")
        #expect(plain.value == "sluice_session_8080=slt_1; Path=/; HttpOnly; SameSite=Strict")
        let safe = SessionCookie(try head("/", [("origin", "https://sluice.example")]))
        #expect(safe.beginning("slt_1").value.hasSuffix("SameSite=Strict; Secure"))
        #expect(safe.end.value.hasSuffix("; Secure; Max-Age=0"))
    }

    @Test func `the filter has the names of the command`() throws {
        let request = try head(
            "/jobs?state=failed&state=delayed,running&queue=&code=truncated&source-contains=2026/&ended-since=1h&remarks=true"
        )
        let query = JobListQuery(PageQuery(request), now: Material.now)
        #expect(query.mistakes.isEmpty)
        #expect(query.filter.states == [.failed, .delayed, .running])
        #expect(query.filter.queue == nil)
        #expect(query.filter.codes == ["truncated"])
        #expect(query.filter.sourceContains == "2026/")
        #expect(query.filter.endedFrom == Material.now.addingTimeInterval(-3_600))
        #expect(query.filter.hasRemarks == true)
        let words =
            "sluice jobs --state failed,delayed,running --code truncated --source-contains 2026/ --ended-since 1h --remarks"
        #expect(query.command == words)
        let again = JobListQuery(PageQuery(try head(query.link().text)), now: Material.now)
        #expect(again.filter == query.filter)
    }

    @Test func `a command line has words that a shell takes as they are`() {
        let query = JobListQuery(PageQuery([(name: "queue", value: "it's; rm -rf /")]), now: Material.now)
        #expect(query.command == "sluice jobs --queue 'it'\\''s; rm -rf /'")
    }

    @Test func `a filter that cannot be read is told`() {
        let items = [
            ("state", "gone"), ("batch", "x"), ("since", "soon"), ("after", "?"), ("class", "a"), ("stage", "b"),
            ("code", String(repeating: "a,", count: 51)),
        ]
        let query = JobListQuery(PageQuery(items.map { (name: $0.0, value: $0.1) }), now: Material.now)
        #expect(Set(query.mistakes.map(\.name)) == ["state", "batch", "since", "after", "class", "stage", "code"])
    }

    @Test func `moments are those of the command`() {
        #expect(PageMoment.past("2h", from: Material.now) == Material.now.addingTimeInterval(-7_200))
        #expect(PageMoment.past("30min", from: Material.now) == Material.now.addingTimeInterval(-1_800))
        let day = Date(timeIntervalSince1970: 1_795_132_800)
        #expect(PageMoment.past("2026-11-20", from: Material.now) == day)
        #expect(PageMoment.past("2026-11-20T00:00:00Z", from: Material.now) == day)
        #expect(PageMoment.past("2026-11-20T01:30:00+01:30", from: Material.now) == day)
        #expect(PageMoment.past("2026-11-20T00:00:00.25Z", from: Material.now) == day.addingTimeInterval(0.25))
        #expect(PageMoment.past("soon", from: Material.now) == nil)
        #expect(PageMoment.past("9999999999999h", from: Material.now) == nil)
    }

    @Test func `a time in a form is the time of the list`() {
        let now = Material.now.addingTimeInterval(0.75)
        for text in ["2h", "2026-11-20", "2026-11-20T00:00:00.25Z", "2026-11-20T00:00:00Z"] {
            let list = JobListQuery(PageQuery([(name: "ended-since", value: text)]), now: now)
            let settled = JobListQuery(PageQuery(list.settled), now: now)
            #expect(settled.filter.endedFrom == list.filter.endedFrom && list.filter.endedFrom != nil, "\(text)")
            #expect(list.json["endedSince"]?.text == list.settled.first?.value, "\(text)")
        }
    }

    @Test func `an asset is kept for good by its digest alone`() throws {
        let suffixes = Set(PageAsset.all.map(\.suffix))
        #expect(suffixes == ["css", "js", "svg"])
        let path = try #require(PageAsset.all.first { $0.name == "page" }).path
        let name = try #require(path.split(separator: "/").last.map(String.init))
        let answer = try #require(PageAsset.answer(name, try head(path)))
        func field(_ name: String, _ answer: HTTPAnswer) -> String? { answer.fields.first { $0.name == name }?.value }
        #expect(field("Cache-Control", answer) == "public, max-age=31536000, immutable")
        #expect(field("Content-Type", answer) == "text/css; charset=utf-8")
        let tag = try #require(field("ETag", answer))
        let again = try #require(PageAsset.answer(name, try head(path, [("if-none-match", tag)])))
        #expect(again.status == .notModified)
        let old = try #require(PageAsset.answer("page.0000000000000000.css", try head(path)))
        #expect(field("Cache-Control", old) == "no-cache")
        for other in ["page.css", "other.\(name)", "../page.0.css", "page.0.js", ""] {
            let found = PageAsset.answer(other, try head("/"))
            #expect(found?.status == nil, "\(other)")
        }
    }

    @Test func `there is nothing at other paths`() throws {
        for target in ["/x", "/jobs/1/2", "/api/v1/nothing", "//", "/assets", "/jobs/"] {
            let route = PageRoute(try head(target).path)
            if target == "/jobs/" { #expect(route == .job("")) } else { #expect(route == nil, "\(target)") }
        }
        #expect(PageRoute(["jobs", "17", "outputs", "2"]) == .output("2", job: "17"))
        #expect(PageRoute(["jobs", "17", "inputs", "2"]) == nil)
        #expect(PageRoute(["files", "in", "a", "b.wav"]) == .file("a/b.wav", root: "in"))
        #expect(PageRoute(["files", "in"]) == nil)
        #expect(PageRoute(["places"]) == .places && PageRoute(["places"])?.methods == ["GET", "HEAD"])
        #expect(PageRoute(["changes", "preview"]) == .preview && PageRoute(["changes", "29"]) == .change("29"))
    }
}
