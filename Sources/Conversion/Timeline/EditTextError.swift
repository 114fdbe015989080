/// Why a text is not a gain, a position between the loudspeakers or a choice of channels, and what is allowed.
public struct EditTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text, cut after 64 characters.
    public let text: String
    /// What is wrong with it and what is allowed, for the user.
    public let detail: String

    init(_ text: some StringProtocol, _ detail: String) {
        self.text = String(text.prefix(64))
        self.detail = detail
    }

    /// One line with the text, quoted and escaped, and the mistake.
    public var description: String { "\(text.debugDescription): \(detail)" }
}

extension DecodingError {
    /// The error for a text that `decoder` has read.
    init(_ error: EditTextError, in decoder: any Decoder) {
        self = .dataCorrupted(
            .init(codingPath: decoder.codingPath, debugDescription: error.description, underlyingError: error)
        )
    }
}
