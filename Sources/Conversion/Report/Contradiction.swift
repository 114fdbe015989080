/// Why a source counts as damaged: the rule that it breaks, what it promises, and what was found, in figures.
public struct Contradiction: Sendable, Hashable, Codable {
    /// The raw value of a `Rule`: `clock`. A ledger that a newer version wrote to may hold other rules.
    public var rule: String
    /// What the container or its header promises; `nil` if the data itself shows the damage.
    public var promised: String?
    /// What reading and decoding gave.
    public var found: String

    /// What a source must fulfil to count as undamaged.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        case decoding
        case statedLength = "stated_length"
        case clock
        case packetFrames = "packet_frames"
        case packetMark = "packet_mark"
        case endMark = "end_mark"
        case countedBytes = "counted_bytes"
        case digest

        /// One line, without a full stop.
        public var meaning: String {
            switch self {
            case .decoding: "all data can be decoded and none is missing between packets"
            case .statedLength: "the sound is as long as the container states"
            case .clock: "the container's clock advances by the frames of each packet"
            case .packetFrames: "each packet gives the frames that the container states for it"
            case .packetMark: "the container marks no packet as damaged"
            case .endMark: "the source ends as its container requires"
            case .countedBytes: "the header counts all the sound"
            case .digest: "the samples have the MD5 that the header states"
            }
        }

        /// Whether only a statement of the container is broken, and all data that is there can be decoded.
        public var isOfContainer: Bool { self != .decoding }
    }

    public init(_ rule: Rule, promised: String? = nil, found: String) {
        (self.rule, self.promised, self.found) = (rule.rawValue, promised, found)
    }

    /// The rule; `nil` if this version does not know it.
    public var known: Rule? { Rule(rawValue: rule) }

    /// `264,600 frames (0:06)`
    package static func length(_ frames: Int64, rate: Int) -> String {
        "\(Figures.count(frames, "frame")) (\(MediaTime(frames: frames, rate: rate)))"
    }
}
