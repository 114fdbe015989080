import Conversion
import FoundationEssentials
import Hashing

/// The key by which a receiver knows that a request comes from this ledger: `whsec_` and base64, as in Standard
/// Webhooks. No description shows it; only `text` does.
public struct WebhookSecret: Sendable, Hashable {
    let bytes: [UInt8]

    private static let prefix = "whsec_"

    /// A new secret of 256 bits, from the system's random numbers.
    public init() {
        var generator = SystemRandomNumberGenerator()
        bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The secret that `text` shows; `nil` if it shows none.
    init?(text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Data(base64Encoded: String(text.dropFirst(Self.prefix.count)))
        else { return nil }
        self.bytes = Array(bytes)
    }

    /// The secret itself, to be shown once.
    public var text: String { Self.prefix + Data(bytes).base64EncodedString() }

    /// The value of the header `webhook-signature` for a message that is sent at `seconds` since 1970.
    public func signature(ofMessage id: String, sentAt seconds: Int64, body: String) -> String {
        let signed = Array("\(id).\(seconds).\(body)".utf8)
        return "v1," + Data(SHA256Hash.authentication(of: signed, key: bytes)).base64EncodedString()
    }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "a secret" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
