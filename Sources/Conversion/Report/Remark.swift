/// Something that a successful conversion has to tell: what the output lacks, or what was decided about the source.
public struct Remark: Sendable, Hashable, Codable {
    /// What the remark is about. Programs branch on it; the names are stable.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Channels were mixed into fewer or other channels.
        case channelsMixed = "channels_mixed"
        /// The source names no speakers, and the output's codec or container names some.
        case layoutAssumed = "layout_assumed"
        /// The source names its speakers, and the output's container has no place for them.
        case layoutLost = "layout_lost"
        /// Samples beyond full scale were cut off at full scale.
        case samplesClipped = "samples_clipped"
        /// The output has fewer significant bits for each sample than the source.
        case depthReduced = "depth_reduced"
        /// The container has no place for some tags.
        case tags
        /// A tag has several values in the source and one in the output.
        case tagValues = "tag_values"
        /// The source's chapters are not in the output.
        case chapters
        /// The source's cover is not in the output.
        case cover
        /// The source ends in an incomplete frame that holds none of the promised sound.
        case partialFrame = "partial_frame"
        /// The source's header states no usable length, and all sound that is there was taken.
        case headerLengthIgnored = "header_length_ignored"

        /// Whether something of the source is missing in the output.
        public var isLoss: Bool {
            switch self {
            case .channelsMixed, .layoutLost, .samplesClipped, .depthReduced, .tags, .tagValues, .chapters, .cover: true
            case .layoutAssumed, .partialFrame, .headerLengthIgnored: false
            }
        }
    }

    public var kind: Kind
    /// A sentence without a full stop, for people: `5.1 was mixed to stereo`.
    public var detail: String
    /// How many samples, tags, values or chapters are concerned, where that is a number.
    public var count: Int64?

    public init(_ kind: Kind, _ detail: String, count: Int64? = nil) {
        self.kind = kind
        self.detail = detail
        self.count = count
    }

    /// The remark in two or three words, for the end of a line: `2 chapters lost`.
    public var brief: String {
        switch kind {
        case .channelsMixed: "channels mixed"
        case .layoutAssumed: "layout assumed"
        case .layoutLost: "layout lost"
        case .samplesClipped: counted("sample", "clipped")
        case .depthReduced: "depth reduced"
        case .tags: counted("tag", "lost")
        case .tagValues: counted("tag value", "lost")
        case .chapters: counted("chapter", "lost")
        case .cover: "cover lost"
        case .partialFrame: "partial last frame left out"
        case .headerLengthIgnored: "length not in the header"
        }
    }

    private func counted(_ noun: String, _ verb: String) -> String {
        guard let count else { return "\(noun)s \(verb)" }
        return "\(count) \(noun)\(count == 1 ? "" : "s") \(verb)"
    }
}
