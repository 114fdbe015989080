import Conversion
import HTTPServer
import Ledger
import Testing

@testable import API
@testable import Page

/// What a form for jobs asks for, and where it would put the outputs.
@Suite struct SubmissionTests {
    private let presets: [NamedPreset]

    init() throws { presets = try Preset.all.map { try NamedPreset($0) } }

    private func draft(_ sources: String, _ more: [(String, String)] = []) -> SubmissionDraft {
        SubmissionDraft(PageQuery(([("sources", sources)] + more).map { (name: $0.0, value: $0.1) }))
    }

    private func mistakes(_ draft: SubmissionDraft) -> [String] {
        do {
            _ = try draft.destinations(presets)
            return []
        } catch {
            return error.mistakes.map(\.pointer)
        }
    }

    @Test func `each line is a source, and the template says where it goes`() throws {
        let draft = self.draft(
            "in:2026/a.wav\r\n\r\n  in:b.flac \n",
            [("destination", "out:{dir}/{stem}.{ext}"), ("preset", "podcast-mp3")]
        )
        #expect(draft.sources == ["in:2026/a.wav", "in:b.flac"])
        let made = try draft.destinations(presets)
        #expect(made == ["out:2026/a.mp3", "out:b.mp3"])
        let command = "sluice submit in:2026/a.wav in:b.flac --to 'out:{dir}/{stem}.{ext}' --preset podcast-mp3"
        #expect(draft.command == command)
        let body = draft.body(made)
        let operation = try #require(try APIServer.operations(version: "1").first { $0.name == "submitBatch" })
        guard case .jsonOrLines(let schema, _) = operation.body else {
            Issue.record("submitBatch takes no JSON")
            return
        }
        #expect(schema.mistakes(in: .object(body)) == [])
        let jobs = try JSONText.line(JSONValue.object(["jobs": body["jobs"] ?? .text("")]))
        let wanted =
            #"{"jobs":[{"onConflict":"fail","output":"out:2026/a.mp3","preset":"podcast-mp3","source":"in:2026/a.wav"},"#
            + #"{"onConflict":"fail","output":"out:b.mp3","preset":"podcast-mp3","source":"in:b.flac"}]}"#
        #expect(jobs == wanted)
    }

    @Test func `a tenant's template may decide`() throws {
        let draft = self.draft("in:a.wav", [("preset", "podcast-mp3"), ("queue", "q"), ("name", "n")])
        let made = try draft.destinations(presets)
        #expect(made == nil)
        let body = draft.body(nil)
        let job = body["jobs"]?.items?.first?.members
        #expect(job?["output"] == nil && job?["source"]?.text == "in:a.wav")
        #expect(body["queue"]?.text == "q" && body["name"]?.text == "n")
    }

    @Test func `what cannot be submitted is told with its place`() {
        let out = ("destination", "out:{stem}.mp3")
        #expect(mistakes(draft("", [out])) == ["sources"])
        #expect(mistakes(draft("in:a/x.wav\nin:b/x.flac", [out])) == ["in:b/x.flac"])
        #expect(mistakes(draft("in:a.wav\nb.wav", [out])) == ["b.wav"])
        #expect(mistakes(draft("in:a.wav", [("destination", "out:{stam}.mp3")])) == ["destination"])
        #expect(mistakes(draft("in:a.wav", [("destination", "out:{stem}.{ext}")])) == ["preset"])
        #expect(mistakes(draft("in:a.wav", [out, ("preset", "none")])) == ["preset"])
        let many = (1...1_001).map { "in:\($0).wav" }.joined(separator: "\n")
        #expect(mistakes(draft(many, [out])) == ["sources"])
    }

    @Test func `what may have been submitted keeps its key`() {
        func text(_ code: Problem.Code, _ key: String?) -> String {
            let draft = self.draft("in:a.wav", [("step", "submit"), ("key", key ?? "")])
            var view = SubmitView(draft: draft, presets: presets)
            view.problem = Problem(code)
            return view.content.main.text
        }
        let field = "<input type=\"hidden\" name=\"key\" value=\"k1\">"
        #expect(text(.ledgerAway, "k1").contains(field) && text(.ledgerAway, "k1").contains("it is not taken twice"))
        #expect(!text(.keyInUse, "k1").contains(field) && !text(.badBody, "k1").contains("it is not taken twice"))
        #expect(!text(.ledgerAway, nil).contains("name=\"key\""))
    }

    @Test func `a field that finds files is for coordinators that have roots`() {
        var view = SubmitView(draft: draft(""), presets: presets)
        #expect(!view.content.main.text.contains("id=\"find\"") && view.content.script == nil)
        view.listedRoots = ["in:", "out:"]
        #expect(view.content.main.text.contains("<div id=\"find\" class=\"form\" hidden>"))
        #expect(view.content.main.text.contains("placeholder=\"in:\"") && view.content.script == "submit")
    }

    @Test func `roots that workers have are named, and offered for the destination`() {
        var view = SubmitView(draft: draft(""), presets: presets)
        #expect(!view.content.main.text.contains("Workers have"))
        view.roots = (1...14).map { "r\($0)" }
        let text = view.content.main.text
        #expect(text.contains("Workers have <code>r1:</code>, <code>r2:</code>, ") && text.contains(" and 2 more</p>"))
        #expect(text.contains("<option value=\"r14:{dir}/{stem}.{ext}\"></option>"))
    }
}
