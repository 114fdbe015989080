/// A format with every field settled: what the writer produces.
public struct ResolvedFormat: Sendable, Hashable, Codable {
    /// The kind of file.
    public var container: Container
    /// `copy` for passthrough.
    public var codec: Codec
    /// Frames per second of the output clock.
    public var sampleRateHz: Int
    /// Always equals the count of `layout`.
    public var channelCount: Int
    /// Has no positions only if the source has none.
    public var layout: ChannelLayout
    /// Bits stored per sample. Lossy codecs store none: 32, and `float`, is what their encoders take as input.
    public var bitDepth: Int
    /// Integer or float.
    public var sampleKind: SampleKind
    /// `nil` means `tpdf`. It has no effect if no bits are lost.
    public var dither: Dither?
    /// `nil` means `standard`. It has no effect if the sample rate stays.
    public var resample: ResampleQuality?
    /// `little` if there is no byte order to choose (one byte, or inside a codec).
    public var endianness: Endianness
    /// Bits per second, constant or as a target. At most one of `bitRate` and `quality` is set.
    public var bitRate: Int?
    /// On the codec's own scale.
    public var quality: Double?

    /// Whether the codec restores the exact samples it gets at this depth. With `copy`: the exact packets.
    public var isLossless: Bool { codec.isLossless }

    /// Whether the file stores the speaker positions of three or more channels, if they are known.
    public var storesLayout: Bool {
        switch container {
        case .au, .raw: false
        case .mka: codec != .pcm
        default: true
        }
    }

    /// Checks nothing; `AudioFormat.resolved(for:)` makes checked formats.
    public init(
        container: Container,
        codec: Codec,
        sampleRateHz: Int,
        channelCount: Int,
        layout: ChannelLayout,
        bitDepth: Int,
        sampleKind: SampleKind,
        dither: Dither? = nil,
        resample: ResampleQuality? = nil,
        endianness: Endianness,
        bitRate: Int? = nil,
        quality: Double? = nil
    ) {
        self.container = container
        self.codec = codec
        self.sampleRateHz = sampleRateHz
        self.channelCount = channelCount
        self.layout = layout
        self.bitDepth = bitDepth
        self.sampleKind = sampleKind
        self.dither = dither
        self.resample = resample
        self.endianness = endianness
        self.bitRate = bitRate
        self.quality = quality
    }
}
