import Conversion
import FoundationEssentials
import Hashing

/// The text that a program shows to be served: `slt_`, the secret and a checksum, in hexadecimal digits.
///
/// The secret has 256 random bits. No description shows it; only `text` does. The prefix and the checksum let scanners
/// recognise a token that was published by mistake, and let a mistyped one be told from one that is unknown.
public struct AccessToken: Sendable, Hashable {
    private let secret: [UInt8]

    /// What each token begins with.
    public static let prefix = "slt_"
    private static let secretBytes = 32

    /// A new token, from the system's random numbers.
    public init() {
        var generator = SystemRandomNumberGenerator()
        secret = (0..<Self.secretBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Reads a token. Throws `refused`, without quoting the text, if it is none.
    public init(_ text: String) throws {
        func refuse(_ why: String) -> LedgerError {
            LedgerError(.ledgerRefused, during: "read a token", "this is no token: \(why)")
        }
        guard text.hasPrefix(Self.prefix) else { throw refuse("it does not begin with \(Self.prefix)") }
        let digits = text.dropFirst(Self.prefix.count).utf8
        guard digits.count == 2 * (Self.secretBytes + 4) else { throw refuse("it is too short or too long") }
        var bytes: [UInt8] = []
        var rest = digits[...]
        while let high = rest.popFirst(), let low = rest.popFirst() {
            guard let high = Self.value(of: high), let low = Self.value(of: low) else {
                throw refuse("it contains other characters than 0 to 9 and a to f")
            }
            bytes.append(high << 4 | low)
        }
        secret = Array(bytes.prefix(Self.secretBytes))
        guard Array(bytes.dropFirst(Self.secretBytes)) == Self.checksum(secret) else {
            throw refuse("its checksum is wrong, so a character was changed or lost")
        }
    }

    /// The token itself, to be shown once.
    public var text: String { Self.prefix + Self.hexadecimal(secret + Self.checksum(secret)) }

    /// The SHA-256 of the secret, by which the ledger finds the token. Its look-up in an index is the only comparison:
    /// who does not know the secret cannot choose the hash, so the time that it takes tells nothing.
    var hash: Data { Data(SHA256Hash.digest(of: secret)) }

    private static func checksum(_ secret: [UInt8]) -> [UInt8] {
        Array(SHA256Hash.digest(of: Array(prefix.utf8) + secret).prefix(4))
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "a token" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
