extension MediaTime: Codable {
    /// Reads a string in any form that `init(rationalDescription:)` reads.
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

    /// Writes `rationalDescription`: a string, because JSON numbers are doubles to many who read them.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rationalDescription)
    }
}
