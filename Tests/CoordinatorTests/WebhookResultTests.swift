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
        let facts = WebhookSender.facts(of: .success(answer))
        #expect((facts.status, facts.problem) == (status, problem))
    }

    @Test func addressOfAHostIsNotTold() {
        let error = WebError(.forbiddenAddress, "hooks.example.com has the address 10.1.2.3")
        let facts = WebhookSender.facts(of: .failure(error))
        #expect(facts.status == nil && facts.problem == "webhooks may not go to the address of this host")
    }

    @Test(arguments: ["10.0.0.0/8", "fd00::/8", "127.0.0.1", "::1"]) func blockIsRead(text: String) {
        #expect(WebhookSender.Block(text) != nil)
    }

    @Test(arguments: ["", "10.0.0.0/33", "fd00::/129", "localhost", "10.0.0.0/8 ", "10.0.0/8"])
    func textThatIsNotABlockIsRefused(text: String) {
        #expect(WebhookSender.Block(text) == nil)
    }
}
