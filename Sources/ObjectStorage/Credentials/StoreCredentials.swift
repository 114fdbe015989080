/// What proves to an object store who sends a request. No description shows the secrets.
package struct StoreCredentials: Sendable, Hashable {
    /// The part of the key that is no secret.
    package let keyID: String
    package let secret: String
    /// For credentials that end.
    package let sessionToken: String?
    /// When they end; `nil` for those that a person has made.
    package let expires: StoreTime?

    /// An empty token counts as none: a signed header must have a value.
    package init(keyID: String, secret: String, sessionToken: String? = nil, expires: StoreTime? = nil) {
        self.keyID = keyID
        self.secret = secret
        self.sessionToken = sessionToken.flatMap { $0.isEmpty ? nil : $0 }
        self.expires = expires
    }
}

extension StoreCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "credentials \(keyID.prefix(4))..." }
    package var debugDescription: String { description }
    /// Without children: `dump` and failed expectations of tests print what a mirror shows.
    package var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
