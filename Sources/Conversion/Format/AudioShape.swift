/// What a source's audio is, as far as choosing a format needs to know.
public struct AudioShape: Sendable, Hashable {
    /// Frames per second.
    public var sampleRateHz: Int
    /// Has to be that of `layout`, if there is one.
    public var channelCount: Int
    /// `nil` if the source only counts its channels. One is then mono, two are stereo, and more have no positions.
    public var layout: ChannelLayout?
    /// Significant bits: 20 for 20-bit audio in 24-bit samples, 32 or 64 for floats.
    public var bitDepth: Int
    /// What decoding gives.
    public var sampleKind: SampleKind
    /// libav's name of the codec, such as `pcm_s16le` or `mp3`. Passthrough goes by it.
    public var codecName: String
    /// Whether decoding gives what was once encoded.
    public var isLossless: Bool
    /// Frames to be converted, at the source's rate; `nil` if that is not known yet.
    public var frames: Int64?

    /// A shape in eight parts.
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

    /// The layout as the source means it.
    var effectiveLayout: ChannelLayout {
        layout.map { $0.isDiscrete ? $0.withUsualPositions : $0 } ?? .discrete(channelCount).withUsualPositions
    }
}
