import Testing
import WebClient

@testable import Coordinator

/// What owners of webhooks read of a request: its status, and nothing that a receiver or a resolver says.
struct WebhookResultTests {
    @Test(arguments: [
        (200, nil), (204, nil), (299, nil), (199, "the answer has the status 199"),
        (302, "the answer is a redirect, which is not followed"), (400, "the answer has the status 400"),
        (410, "the answer has the status 410"), (500, "the answer has the status 500"),
    ])
    func statusDecides(status: Int, problem: String?) {
        let answer = WebAnswer(
            status: status,
            headers: [.init("location", "http://10.0.0.1/secret")],
            body: Array("a secret".utf8)
        )
        let facts = WebhookSender.facts(of: .success(answer), isOfTenant: false)
        #expect((facts.status, facts.problem) == (status, problem))
    }

    @Test func addressOfAHostIsNotTold() {
        let error = WebError(.forbiddenAddress, "hooks.example.com has the address 10.1.2.3")
        let facts = WebhookSender.facts(of: .failure(error), isOfTenant: false)
        #expect(facts.status == nil && facts.problem == "webhooks may not go to the address of this host")
    }

    @Test func aTenantDoesNotLearnWhichNamesAreKnownInside() {
        let inside = WebError(.forbiddenAddress, "its address 10.1.2.3 is not one of the internet")
        let unknown = WebError(.cannotResolve, "the host's name has no address")
        let problems = [inside, unknown].map { WebhookSender.facts(of: .failure($0), isOfTenant: true).problem }
        #expect(problems[0] == problems[1])
        let others = [inside, unknown].map { WebhookSender.facts(of: .failure($0), isOfTenant: false).problem }
        #expect(others[0] != others[1])
    }

    @Test(arguments: ["10.0.0.0/8", "fd00::/8", "127.0.0.1", "::1"]) func blockIsRead(text: String) {
        #expect(WebhookSender.Block(text) != nil)
    }

    @Test(arguments: ["", "10.0.0.0/33", "fd00::/129", "localhost", "10.0.0.0/8 ", "10.0.0/8"])
    func textThatIsNotABlockIsRefused(text: String) {
        #expect(WebhookSender.Block(text) == nil)
    }
}
