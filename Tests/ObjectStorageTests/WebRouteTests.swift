import Testing
import WebClient

@testable import ObjectStorage

/// Which redirects of web servers are followed, and to which addresses.
struct WebRouteTests {
    private func answer(_ target: String?) -> WebAnswer {
        var answer = WebAnswer(status: 302, headers: [], body: [])
        answer.target = target
        return answer
    }

    private func route(
        behind route: WebRoute = WebRoute(to: "https://host/a"),
        to target: String? = "https://other/b",
        isPublic: Bool = false,
        mayBePrivate: Bool = false
    ) throws -> WebRoute {
        try WebRoute(behind: route, answer(target), isPublic: isPublic, mayBePrivate: mayBePrivate)
    }

    private func refusal(_ from: String, _ target: String?) -> String? {
        do {
            _ = try route(behind: WebRoute(to: from), to: target)
            return nil
        } catch { return (error as? WebRoute.Refusal)?.text }
    }

    @Test(arguments: ["https://host/a", "HTTPS://host/a"]) func secureServersLeadToSecureOnes(from: String) throws {
        #expect(refusal(from, "https://other/b") == nil)
        for target in ["http://other/b", "HTTP://host/a"] {
            #expect(refusal(from, target) == "the server redirects from https:// to http://")
        }
        // From http:// both are reached, but there is no way back from https://.
        let plain = try route(behind: WebRoute(to: "http://host/a"), to: "http://other/b")
        let secure = try route(behind: plain, to: "https://other/b")
        #expect(throws: WebRoute.Refusal.self) { try route(behind: secure, to: "http://other/b") }
    }

    @Test(arguments: ["https://me@other/b", "https://me:word@other/b", "https://@other", "https://other\\@third/b"])
    func addressesWithUserNamesAreRefused(target: String) {
        #expect(refusal("https://host/a", target) == "the server redirects to an address with a user name")
    }

    /// A sign in the path is none of a user name.
    @Test func pathsMayHaveAnySign() { #expect(refusal("https://host/a", "https://other/me@home.wav") == nil) }

    @Test func redirectsToNowhereAreRefused() {
        #expect(refusal("https://host/a", nil) == "the server redirects, and does not say where to")
        #expect(refusal("https://host/a", "file:///etc/passwd")?.contains("neither https:// nor http://") == true)
    }

    /// Also when the second redirect comes from an address that this machine alone reaches.
    @Test func whatWasOnTheInternetStaysThere() throws {
        let first = try route(isPublic: true)
        #expect(first.addresses == .publicOnly())
        #expect(try route(behind: first, isPublic: false).addresses == .publicOnly())
        let inside = try route(isPublic: false)
        #expect(inside.addresses == .any)
        #expect(try route(behind: inside, isPublic: true).addresses == .publicOnly())
        #expect(try route(isPublic: true, mayBePrivate: true).addresses == .any)
    }

    @Test func fiveRedirectsAreFollowed() throws {
        var last = WebRoute(to: "https://host/a")
        for _ in 0..<5 { last = try route(behind: last) }
        #expect(last.redirects == 5)
        #expect(throws: WebRoute.Refusal.self) { try route(behind: last) }
    }
}
