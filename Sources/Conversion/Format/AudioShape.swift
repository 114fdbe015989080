/// The properties of a source's audio that the choice of an output format depends on.
public struct AudioShape: Sendable, Hashable {
    /// Frames per second.
    public var sampleRateHz: Int
    /// Must equal the count of `layout`, if there is one.
    public var channelCount: Int
    /// `nil` if the source states only a channel count: one is then mono, two are stereo, more have no positions.
    public var layout: ChannelLayout?
    /// Significant bits: 20 for 20-bit audio in 24-bit samples, 32 or 64 for floats.
    public var bitDepth: Int
    /// Of the decoded samples.
    public var sampleKind: SampleKind
    /// libav's name of the codec, such as `pcm_s16le` or `mp3`. Passthrough decides by it.
    public var codecName: String
    /// Whether decoding restores the samples that were encoded.
    public var isLossless: Bool
    /// Frames to convert, at the source's rate; `nil` if not known yet.
    public var frames: Int64?

    public init(
        sampleRateHz: Int,
        channelCount: Int,
        layout: ChannelLayout? = nil,
        bitDepth: Int,
        sampleKind: SampleKind = .integer,
        codecName: String,
        isLossless: Bool,
        frames: Int64? = nil
    ) {
        self.sampleRateHz = sampleRateHz
        self.channelCount = channelCount
        self.layout = layout
        self.bitDepth = bitDepth
        self.sampleKind = sampleKind
        self.codecName = codecName
        self.isLossless = isLossless
        self.frames = frames
    }

    /// The bits worth keeping. Lossy codecs have no depth and decode to at least 16: mu-law's 8 bits are not samples.
    var effectiveBitDepth: Int { isLossless ? bitDepth : max(bitDepth, 16) }

    /// The layout, with mono and stereo assumed for one and two channels without positions.
    var effectiveLayout: ChannelLayout {
        layout.map { $0.isDiscrete ? $0.withUsualPositions : $0 } ?? .discrete(channelCount).withUsualPositions
    }
}
