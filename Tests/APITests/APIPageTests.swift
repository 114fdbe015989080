import API
import TestSupport
import Testing

/// docs/api-reference.md lists what the declarations say. SLUICE_REWRITE_DOCS=1 rewrites the lists, one after another.
@Suite(.serialized) struct APIPageTests {
    private static let page = "api-reference.md"

    @Test func `the page lists every request`() throws {
        let list = try APIPage.requests()
        #expect(try GeneratedPage.difference(of: Self.page, from: list, between: "<!-- requests: ") == nil)
    }

    @Test func `the page lists every code`() throws {
        #expect(try GeneratedPage.difference(of: Self.page, from: APIPage.codes(), between: "<!-- codes: ") == nil)
    }

    @Test func `the page says what each request takes and answers`() throws {
        let sections = try APIReference().requests()
        #expect(try GeneratedPage.difference(of: Self.page, from: sections, between: "<!-- operations: ") == nil)
    }

    @Test func `the page has every record`() throws {
        let sections = try APIReference().records()
        #expect(try GeneratedPage.difference(of: Self.page, from: sections, between: "<!-- records: ") == nil)
    }
}
