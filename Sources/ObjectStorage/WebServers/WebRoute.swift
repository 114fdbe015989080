import WebClient

/// Where a request for a file of a web server goes: to the root, or behind some redirects.
struct WebRoute: Sendable, Hashable {
    let url: String
    let redirects: Int
    /// The addresses that it may connect to.
    let addresses: AddressRule

    static let mostRedirects = 5
    private static let hint = "give the root the address to which its server redirects"

    /// Straight to the root, whose host the operator has named.
    init(to url: String) { (self.url, redirects, addresses) = (url, 0, .any) }

    /// Where `answer`, a redirect, leads. An address of the internet leads to no other, unless the root permits it
    /// (`mayBePrivate`): its server must not have this machine ask hosts that it cannot reach itself.
    ///
    /// `isPublic` says whether the answer came from such an address.
    init(
        behind route: WebRoute,
        _ answer: WebAnswer,
        isPublic: Bool,
        mayBePrivate: Bool
    ) throws(Refusal) {
        guard route.redirects < Self.mostRedirects else {
            throw Refusal("the server redirects more than \(Self.mostRedirects) times")
        }
        guard let target = answer.target else { throw Refusal("the server redirects, and does not say where to") }
        let lower = target.lowercased()
        guard lower.hasPrefix("https://") || lower.hasPrefix("http://") else {
            throw Refusal("the server redirects to an address that is neither https:// nor http://")
        }
        guard lower.hasPrefix("https://") || !route.url.lowercased().hasPrefix("https://") else {
            throw Refusal("the server redirects from https:// to http://", hint: Self.hint)
        }
        let authority = lower.split(separator: "/", maxSplits: 2).dropFirst().first ?? ""
        // libcurl would send them as credentials.
        guard !authority.contains("@") else { throw Refusal("the server redirects to an address with a user name") }
        (url, redirects) = (target, route.redirects + 1)
        let isBound = route.addresses != .any || isPublic
        addresses = isBound && !mayBePrivate ? .publicOnly() : .any
    }

    /// Why a redirect is not followed.
    struct Refusal: Error {
        let text: String
        let hint: String?

        init(_ text: String, hint: String? = nil) { (self.text, self.hint) = (text, hint) }
    }
}
