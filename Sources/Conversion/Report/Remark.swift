/// A note on a successful conversion: what the output lacks, or what was assumed about the source.
public struct Remark: Sendable, Hashable, Codable {
    /// The subject of the remark. Programs branch on it; the names are stable.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Channels were mixed into fewer or other channels.
        case channelsMixed = "channels_mixed"
        /// The source names no speakers, but the output's codec or container does.
        case layoutAssumed = "layout_assumed"
        /// The source names its speakers, but the output's container cannot store them.
        case layoutLost = "layout_lost"
        /// Samples beyond full scale were clipped.
        case samplesClipped = "samples_clipped"
        /// The output has fewer significant bits per sample than the source.
        case depthReduced = "depth_reduced"
        /// The container cannot store some tags.
        case tags
        /// A tag has several values in the source and one in the output.
        case tagValues = "tag_values"
        /// Chapters of the source are not in the output.
        case chapters
        /// The source's cover is not in the output.
        case cover
        /// One-bit sound became PCM at a rate that keeps its noise above hearing.
        case oneBitDecoded = "one_bit_decoded"
        /// The source ends in an incomplete frame that does not belong to the sound that its header promises.
        case partialFrame = "partial_frame"
        /// The source's header states no length, or one that its sound contradicts, so all the sound was converted.
        case headerLengthIgnored = "header_length_ignored"
        /// Bytes that are neither chunks nor tags follow the sound that the source's header counts.
        case uncountedBytes = "uncounted_bytes"
        /// What the container says of the sound is wrong, and the packets were trusted, as the recipe asks.
        case containerIgnored = "container_ignored"
        /// Limiting true peaks kept the output from the loudness that was asked for.
        case loudnessMissed = "loudness_missed"
        /// The source is too quiet or too short to measure its loudness, so its level was kept.
        case loudnessUnmeasured = "loudness_unmeasured"

        /// True peaks of a timeline were limited, as its recipe asks.
        case peaksLimited = "peaks_limited"
        /// Silence at the ends of a source was left out, as the recipe asks.
        case silenceTrimmed = "silence_trimmed"
        /// The packets of several sources were copied into one track, whose edit list leaves out what their encoders added.
        case packetsJoined = "packets_joined"
        /// The packets of several sources could not be copied into one track, so the sound was encoded.
        case packetsEncoded = "packets_encoded"

        /// Whether the output lacks something of the source.
        public var isLoss: Bool {
            switch self {
            case .channelsMixed, .layoutLost, .samplesClipped, .depthReduced, .tags, .tagValues, .chapters, .cover: true
            case .layoutAssumed, .oneBitDecoded, .partialFrame, .headerLengthIgnored, .uncountedBytes,
                .containerIgnored, .loudnessMissed, .loudnessUnmeasured, .peaksLimited, .silenceTrimmed,
                .packetsJoined, .packetsEncoded:
                false
            }
        }

        /// Whether `brief` says what `count` counts.
        package var briefNamesCount: Bool {
            [.samplesClipped, .tags, .tagValues, .chapters, .uncountedBytes].contains(self)
        }
    }

    public var kind: Kind
    /// A sentence without a full stop, for the user: `5.1 was mixed to stereo`.
    public var detail: String
    /// The number of samples, tags, values or chapters affected; `nil` if the remark has no number.
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
        case .oneBitDecoded: "one-bit source"
        case .partialFrame: "partial last frame left out"
        case .headerLengthIgnored: "length in the header ignored"
        case .uncountedBytes: counted("byte", "behind the sound")
        case .containerIgnored: "packets trusted"
        case .loudnessMissed: "loudness not reached"
        case .loudnessUnmeasured: "loudness not measured"
        case .peaksLimited: "peaks limited"
        case .silenceTrimmed: "silence trimmed"
        case .packetsJoined: "packets copied"
        case .packetsEncoded: "packets not copied"
        }
    }

    private func counted(_ noun: String, _ verb: String) -> String {
        guard let count else { return "\(noun)s \(verb)" }
        return "\(Plural.count(count, noun)) \(verb)"
    }
}
