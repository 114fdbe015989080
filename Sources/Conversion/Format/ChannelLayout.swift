/// The loudspeaker of each channel, in the order of the mask's bits (the order of WAVE files).
///
/// The bits are those of WAVE's `dwChannelMask`; libav's `AV_CH_*` are the same. A `discrete` layout, whose channels
/// have no speakers, has a mask of 0 and only a count.
public struct ChannelLayout: Sendable, Hashable {
    /// One bit per loudspeaker, or 0 if only the count is known.
    public let mask: UInt64
    public let channelCount: Int

    /// `nil` if `mask` is 0.
    public init?(mask: UInt64) {
        guard mask != 0 else { return nil }
        self.init(speakers: mask)
    }

    private init(speakers: UInt64) {
        mask = speakers
        channelCount = speakers.nonzeroBitCount
    }

    private init(discreteCount: Int) {
        mask = 0
        channelCount = discreteCount
    }

    /// `count` channels whose positions are unknown. They cannot be mixed to another layout.
    public static func discrete(_ count: Int) -> ChannelLayout { ChannelLayout(discreteCount: count) }

    /// Whether the positions of the channels are unknown.
    public var isDiscrete: Bool { mask == 0 }

    /// Whether WAVE defines a bit for each speaker. libav has bits for more.
    public var isInWAVE: Bool { mask < 1 << 18 }

    /// One channel, in the centre.
    public static let mono = ChannelLayout(speakers: 0x4)
    /// Left and right.
    public static let stereo = ChannelLayout(speakers: 0x3)
    /// Left, right, low frequencies.
    public static let twoPointOne = ChannelLayout(speakers: 0xB)
    /// Left, right, centre.
    public static let threePointZero = ChannelLayout(speakers: 0x7)
    /// Two in front, two behind.
    public static let quad = ChannelLayout(speakers: 0x33)
    /// Left, right, centre, one behind.
    public static let fourPointZero = ChannelLayout(speakers: 0x107)
    /// Left, right, centre, two behind.
    public static let fivePointZero = ChannelLayout(speakers: 0x37)
    /// 5.0 with the last two speakers at the sides.
    public static let fivePointZeroSide = ChannelLayout(speakers: 0x607)
    /// 5.0 and a low-frequency channel.
    public static let fivePointOne = ChannelLayout(speakers: 0x3F)
    /// 5.0(side) and a low-frequency channel.
    public static let fivePointOneSide = ChannelLayout(speakers: 0x60F)
    /// 5.1(side) and one speaker behind.
    public static let sixPointOne = ChannelLayout(speakers: 0x70F)
    /// 5.1 and one more speaker behind.
    public static let sixPointOneBack = ChannelLayout(speakers: 0x13F)
    /// 5.1 and one speaker on either side.
    public static let sevenPointOne = ChannelLayout(speakers: 0x63F)
    /// 5.1 and two more speakers in front.
    public static let sevenPointOneWide = ChannelLayout(speakers: 0xFF)

    /// Every named layout. The names are libav's.
    public static let named: [(name: String, layout: ChannelLayout)] = [
        ("mono", mono), ("stereo", stereo), ("2.1", twoPointOne), ("3.0", threePointZero), ("quad", quad),
        ("4.0", fourPointZero), ("5.0", fivePointZero), ("5.0(side)", fivePointZeroSide), ("5.1", fivePointOne),
        ("5.1(side)", fivePointOneSide), ("6.1", sixPointOne), ("6.1(back)", sixPointOneBack),
        ("7.1", sevenPointOne), ("7.1(wide)", sevenPointOneWide),
    ]

    /// The layout that FLAC and Vorbis define for a bare channel count; `nil` from 9 channels on.
    public static func standard(for channelCount: Int) -> ChannelLayout? {
        let byCount = [mono, stereo, threePointZero, quad, fivePointZero, fivePointOne, sixPointOne, sevenPointOne]
        return (1...byCount.count).contains(channelCount) ? byCount[channelCount - 1] : nil
    }

    /// The same layout with its side speakers renamed to back speakers, if it has no back speakers itself.
    ///
    /// 5.1 and 5.1(side) are the same five positions under two names, so nothing is mixed between them.
    var sidesAsBacks: ChannelLayout {
        let sides: UInt64 = 0x600
        let backs: UInt64 = 0x30
        guard mask & sides == sides, mask & backs == 0 else { return self }
        return ChannelLayout(speakers: mask & ~sides | backs)
    }
}

// MARK: - Words

extension ChannelLayout: CustomStringConvertible {
    /// The name; `0x...` for an unnamed mask; or, for example, `discrete 16`.
    public var description: String {
        if isDiscrete { return "discrete \(channelCount)" }
        return Self.named.first { $0.layout == self }?.name ?? "0x" + String(mask, radix: 16)
    }

    /// Parses what `description` returns; `nil` for anything else.
    public init?(_ text: String) {
        if let known = Self.named.first(where: { $0.name == text }) {
            self = known.layout
        } else if text.hasPrefix("0x"), let mask = UInt64(text.dropFirst(2), radix: 16) {
            self.init(mask: mask)
        } else if text.hasPrefix("discrete "), let count = Int(text.dropFirst(9)), count > 0 {
            self = .discrete(count)
        } else {
            return nil
        }
    }
}

extension ChannelLayout: Codable {
    /// Decodes what `description` returns.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let layout = ChannelLayout(text) else {
            let names = Self.named.map(\.name).joined(separator: ", ")
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\"\(text)\" is not a channel layout; allowed: \(names), or a mask 0x..."
            )
        }
        self = layout
    }

    /// Encodes `description`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
