extension MediaTime: Codable {
    /// Decodes a string in any form that `init(rationalDescription:)` parses.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do throws(ParsingError) {
            self = try MediaTime(rationalDescription: text)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: error.description,
                    underlyingError: error
                )
            )
        }
    }

    /// Encodes `rationalDescription`: a string, because many readers parse JSON numbers as doubles.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rationalDescription)
    }
}
