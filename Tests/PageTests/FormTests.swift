import Conversion
import HTTPServer
import Ledger
import Testing

@testable import API
@testable import Page

/// What a form has the API do is what the API takes.
@Suite struct FormTests {
    private func form(_ route: PageRoute, _ items: [(String, String)]) throws -> PageForm {
        try PageForm(route, PageQuery(items.map { (name: $0.0, value: $0.1) }), now: Material.now)
    }

    /// What the API finds wrong with the body and the path.
    private func mistakes(of form: PageForm) throws -> [String] {
        let operations = try APIServer.operations(version: "1")
        let operation = try #require(operations.first { $0.name == form.operation })
        let head = try #require(RequestHead(method: operation.method.rawValue, target: "/", fields: []))
        _ = try Router.parameters(of: operation, head, path: form.path)
        guard case .json(let schema) = operation.body else {
            return operation.body.isNone && form.body.isEmpty ? [] : ["\(form.operation) takes no JSON"]
        }
        return schema.mistakes(in: .object(form.body)).map { "\($0.pointer) \($0.detail)" }
    }

    private func text(_ form: PageForm) throws -> String { try JSONText.line(JSONValue.object(form.body)) }

    @Test func `a queue is paused, resumed, limited and weighted`() throws {
        let forms = [
            try form(.queues, [("pause", "night-shift")]), try form(.queues, [("resume", "nightly"), ("next", "/")]),
            try form(.queues, [("queue", "nightly"), ("limit", "0"), ("weight", "50")]),
            try form(.queues, [("queue", "nightly"), ("limit", ""), ("weight", "50")]),
        ]
        let bodies = try forms.map(text)
        let wanted = [
            #"{"isPaused":true}"#, #"{"isPaused":false}"#, #"{"runningLimit":0,"weight":50}"#, #"{"weight":50}"#,
        ]
        #expect(bodies == wanted)
        #expect(forms[0].path == ["queue": "night-shift"])
        #expect(forms.map { $0.target(after: nil) } == ["/queues", "/", "/queues", "/queues"])
        for form in forms {
            let found = try mistakes(of: form)
            #expect(found == [])
        }
    }

    @Test func `a worker is told what to do`() throws {
        for wish in WorkerWish.allCases {
            let form = try self.form(.workers, [(wish.rawValue, "5")])
            let (body, found) = (try text(form), try mistakes(of: form))
            #expect(body == "{\"wish\":\"\(wish.rawValue)\"}" && form.path == ["worker": "5"] && found == [])
        }
        let none = try mistakes(of: try form(.workers, []))
        #expect(!none.isEmpty)
    }

    @Test(arguments: [
        ("retry", #"{"change":"retry","filter":{"id":[17]}}"#),
        ("retry:conceal", #"{"change":"retry","filter":{"id":[17]},"onDamage":"conceal"}"#),
        ("retry:trust-packets", #"{"change":"retry","filter":{"id":[17]},"onDamage":"trust-packets"}"#),
        ("cancel", #"{"change":"cancel","filter":{"id":[17]}}"#),
        ("accept", #"{"change":"accept","filter":{"id":[17]}}"#),
        ("accept:undo", #"{"change":"accept","filter":{"id":[17]},"undo":true}"#),
    ])
    func `a job is changed alone`(change: String, wanted: String) throws {
        let form = try self.form(.job("17"), [("change", change)])
        let (body, found) = (try text(form), try mistakes(of: form))
        #expect(body == wanted && found == [] && form.target(after: nil) == "/jobs/17")
        #expect(WantedChange(change)?.text == change)
    }

    @Test(arguments: [(0, 0, false, true), (1, 0, false, false), (0, 1, false, false), (0, 0, true, false)])
    func `a change of a job may have no effect`(changed: Int, asked: Int, isLowerBound: Bool, hadNone: Bool) throws {
        var tally = ChangeTally()
        (tally.changed, tally.asked, tally.isLowerBound) = (changed, asked, isLowerBound)
        let text = try JSONText.line(JSONRecord(ChangeRecord(.cancel, count: 1, tally: tally)))
        #expect(PageForm.hadNoEffect(JSONValue(json: Array(text.utf8))) == hadNone)
    }

    @Test(arguments: ["", "retry:no", "cancel:all", "accept:redo", "prioritize:5", "delete", ":"])
    func `no other change is known`(change: String) {
        #expect(WantedChange(change) == nil)
        #expect(throws: Problem.self) { try form(.job("17"), [("change", change)]) }
    }

    @Test func `a change of many jobs has the whole filter`() throws {
        let form = try self.form(
            .changes,
            [
                ("change", "retry"), ("damage", "conceal"), ("conceal-limit", "60"), ("state", "failed,cancelled"),
                ("class", "permanent"), ("code", "a,b"), ("stage", "decode"), ("batch", "7"), ("queue", "q"),
                ("source", "in:"), ("source-contains", "a"), ("since", "1h"), ("ended-since", "2026-11-18T00:00:00Z"),
                ("id", "1"), ("id", "2"),
            ]
        )
        let filter = try #require(form.body["filter"]?.members)
        #expect(filter.count == 11)
        let ids = filter["id"]?.items?.compactMap(\.whole)
        #expect(ids == [1, 2])
        #expect(filter["endedSince"]?.text == "2026-11-18T00:00:00Z")
        #expect(form.body["onDamage"]?.text == "conceal" && form.body["concealLimit"]?.whole == 60)
        let found = try mistakes(of: form)
        #expect(found == [])
        #expect(form.target(after: .object(["number": .whole(29)])) == "/changes/29")
    }

    @Test func `a limit of silence belongs to conceal`() throws {
        let body = try text(try form(.changes, [("change", "retry"), ("damage", ""), ("conceal-limit", "60")]))
        #expect(body == #"{"change":"retry","filter":{}}"#)
    }

    @Test(arguments: [
        ("remarks", "true"), ("state", "gone"), ("since", "soon"), ("batch", "x"), ("class", "a"), ("stage", "b"),
        ("id", "a"), ("id", String(repeating: "1,", count: 1_001)), ("id", ""), ("id", ","), ("state", ""),
        ("code", ",,"), ("class", ""), ("stage", ""), ("batch", ""), ("queue", ""), ("source", ""),
        ("source-contains", ""), ("since", ""), ("ended-since", ""), ("remarks", ""), ("status", "failed"),
        ("until", "2026-11-20"), ("after", "x"),
    ])
    func `a filter that the API does not know is refused`(name: String, value: String) {
        // Left out, it would change more jobs than a person has seen.
        #expect(throws: Problem.self) { try form(.changes, [("change", "cancel"), (name, value)]) }
    }

    @Test func `a list of jobs is shown by a form whose fields are empty`() {
        let names = ["state", "source-contains", "queue", "code", "batch", "ended-since"]
        let list = JobListQuery(PageQuery(names.map { (name: $0, value: "") }), now: Material.now)
        #expect(list.mistakes.isEmpty && list.given.isEmpty)
    }

    @Test func `a filter is saved as its address says it`() throws {
        let form = try self.form(.jobs, [("save", "ours"), ("next", "/jobs?state=failed&ended-since=1d")])
        let (body, found) = (try text(form), try mistakes(of: form))
        #expect(body == #"{"query":"state=failed&ended-since=1d"}"# && found == [] && form.path == ["filter": "ours"])
        #expect(form.target(after: nil) == "/jobs?state=failed&ended-since=1d")
        let all = try mistakes(of: try self.form(.jobs, [("save", "all"), ("next", "/jobs")]))
        #expect(all.count == 1)
        let removed = try self.form(.jobs, [("remove", "ours")])
        #expect(removed.operation == "removeFilter" && removed.target(after: nil) == "/jobs")
        var filter = SavedFilter.blank
        filter.query = "state=failed&source-contains=a%26b"
        let link = PageLink(list: filter)
        #expect(link?.text == "/jobs?state=failed&source-contains=a%26b")
        filter.query = "%zz"
        #expect(PageLink(list: filter) == nil)
    }

    @Test func `a change is steered`() throws {
        let form = try self.form(.change("29"), [("wish", "undo")])
        let (body, found) = (try text(form), try mistakes(of: form))
        #expect(body == #"{"wish":"undo"}"# && found == [] && form.target(after: nil) == "/changes/29")
    }

    @Test(arguments: [
        ("test", "testWebhook"), ("retry", "retryDeliveries"), ("remove", "removeWebhook"),
    ])
    func `a webhook is tested, told again and removed`(field: String, operation: String) throws {
        let form = try self.form(.webhooks, [(field, "5")])
        let found = try mistakes(of: form)
        #expect(form.operation == operation && form.path == ["webhook": "5"] && found == [] && !form.isToldOnce)
    }

    @Test func `a webhook is created, and its secret told once`() throws {
        let form = try self.form(
            .webhooks,
            [
                ("url", "https://example.com/"), ("name", ""), ("queue", "nightly"), ("own", "true"),
                ("event", "batch.ended"), ("event", "failures.high"),
            ]
        )
        let (body, found) = (try text(form), try mistakes(of: form))
        let wanted = #"{"events":["batch.ended","failures.high"],"queue":"nightly","url":"https://example.com/"}"#
        #expect(body == wanted && found == [] && form.isToldOnce)
        let own = try text(try self.form(.webhooks, [("url", "https://example.com/"), ("own", "true")]))
        #expect(own == #"{"own":true,"url":"https://example.com/"}"#)
        let none = try mistakes(of: try self.form(.webhooks, []))
        #expect(!none.isEmpty)
    }

    @Test(arguments: ["x", "-", "9999999999999999999", "1.5"])
    func `numbers are whole`(text: String) {
        #expect(throws: Problem.self) { try form(.queues, [("queue", "q"), ("weight", text)]) }
    }
}
