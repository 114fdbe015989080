import Conversion
import Foundation
import Ledger
import Testing

@testable import API
@testable import LedgerClient

/// What a command selects over HTTP is what it selects on the database.
struct RemoteFilterTests {
    private static let moment = Date(timeIntervalSince1970: 1_700_000_000.125)

    /// With every field that changes may have.
    private static let whole = JobFilter(
        ids: [1, Int64.max - 1],
        states: [.failed, .cancelled],
        batch: 3,
        queue: "nightly",
        codes: ["truncated", "no_space"],
        classes: [.transient],
        stages: ["open", "decode"],
        sourcePrefix: "in:2024/ä, b/",
        sourceContains: "a b&c=d",
        submittedFrom: moment,
        submittedBefore: moment + 1,
        endedFrom: moment + 2,
        endedBefore: moment + 3
    )

    @Test func everyFieldReachesTheBodyOfAChange() {
        for (name, value) in Mirror(reflecting: Self.whole).children where name != "hasRemarks" {
            #expect("\(value)" != "nil", "\(name ?? "")")
        }
        let members = RemoteFilter.members(Self.whole)
        #expect(Schema.object(JobSelection.fields).mistakes(in: .object(members)) == [])
        #expect(JobSelection.filter(members) == Self.whole)
        #expect(JobSelection.filter(RemoteFilter.members(JobFilter())) == JobFilter())
    }

    @Test func everyFieldReachesTheQueryOfAList() throws {
        var filter = Self.whole
        filter.hasRemarks = true
        var values: [String: JSONValue] = [:]
        for (name, text) in RemoteFilter.query(filter) {
            let parameter = try #require(JobSelection.parameters.first { $0.name == name }, "\(name)")
            let value = try #require(parameter.schema.value(ofParameter: text) as JSONValue?, "\(name)")
            values[name] = value
        }
        #expect(JobSelection.filter(values) == filter)
    }

    @Test func manyIdsAreDivided() {
        var filter = Self.whole
        filter.ids = Array(1...450)
        let parts = RemoteFilter.parts(of: filter, by: 200)
        let ids: [[Int64]] = parts.map { $0.ids ?? [] }
        #expect(ids.map(\.count) == [200, 200, 50])
        #expect(Array(ids.joined()) == filter.ids)
        #expect(parts.allSatisfy { $0.queue == "nightly" && $0.endedBefore == filter.endedBefore })
    }

    @Test(arguments: ["{}", "{\"job\":7}", "{\"source\":\"ä?>\"}", String(repeating: "x", count: 1_000)])
    func positionSurvives(text: String) {
        let shown = RemoteFilter.text(JobCursor(text: text))
        #expect(shown.utf8.allSatisfy { !"+/=".utf8.contains($0) })
        #expect(RemoteFilter.cursor(shown) == JobCursor(text: text))
    }

    @Test func otherTextIsNotAPosition() {
        for text in ["%", "a", "_-_", "////"] { #expect(RemoteFilter.cursor(text) == nil, "\(text)") }
    }
}
