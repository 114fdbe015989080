import API
import TestSupport
import Testing

/// docs/api.md lists what the declarations say. SLUICE_REWRITE_DOCS=1 rewrites the lists.
@Suite struct APIPageTests {
    @Test func `the page lists every request`() throws {
        #expect(try GeneratedPage.difference(of: "api.md", from: APIPage.requests(), between: "<!-- requests: ") == nil)
    }

    @Test func `the page lists every code`() throws {
        #expect(try GeneratedPage.difference(of: "api.md", from: APIPage.codes(), between: "<!-- codes: ") == nil)
    }
}
