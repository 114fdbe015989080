/// A position between the left (-1) and the right (+1) of a stereo signal.
///
/// It turns one side down and leaves the other as it is, so that the centre changes no sample and nothing can clip.
public struct Pan: Sendable, Hashable {
    /// From -1, where only the left channel is heard, to +1.
    public let position: Double

    /// Both channels as they are.
    public static let centre = Pan(checked: 0)
    /// Only the left channel.
    public static let left = Pan(checked: -1)
    /// Only the right channel.
    public static let right = Pan(checked: 1)

    /// `nil` if `position` is below -1, above +1 or not a number.
    public init?(_ position: Double) {
        guard (-1...1).contains(position) else { return nil }
        self.init(checked: position)
    }

    private init(checked position: Double) {
        // There is one zero: -0 would be written in another way than 0.
        self.position = position == 0 ? 0 : position
    }

    /// The factor of the left channel: 1 from the left to the centre, then evenly down to 0.
    public var leftAmplitude: Double { min(1, 1 - position) }
    /// The factor of the right channel: 1 from the centre to the right.
    public var rightAmplitude: Double { min(1, 1 + position) }
}

extension Pan: Codable {
    /// Decodes a number from -1 to +1.
    public init(from decoder: any Decoder) throws {
        let position = try decoder.singleValueContainer().decode(Double.self)
        guard let pan = Pan(position) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "\(position); allowed: -1 (left) to 1 (right)"
                )
            )
        }
        self = pan
    }

    /// Encodes the number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(position)
    }
}
