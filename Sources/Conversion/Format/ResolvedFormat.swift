/// A format with nothing left open: what the writer will do.
public struct ResolvedFormat: Sendable, Hashable, Codable {
    /// The kind of file.
    public var container: Container
    /// `copy` for passthrough.
    public var codec: Codec
    /// The output's clock: frames per second.
    public var sampleRateHz: Int
    /// Always that of `layout`.
    public var channelCount: Int
    /// May be discrete, if the source's is.
    public var layout: ChannelLayout
    /// Bits stored per sample. For lossy codecs, which store none, 32 (and `float`): what their encoders are fed.
    public var bitDepth: Int
    /// What `bitDepth` counts the bits of.
    public var sampleKind: SampleKind
    /// `nil` means `tpdf`. It has no effect where no bits are lost.
    public var dither: Dither?
    /// `little` where there is no order to choose (one byte, or inside a codec).
    public var endianness: Endianness
    /// Bits per second, constant or as a target. At most one of this and `quality` is set.
    public var bitRate: Int?
    /// On the codec's own scale.
    public var quality: Double?

    /// Whether the codec gives back the very samples it gets at this depth. With `copy`: the very packets.
    public var isLossless: Bool { codec.isLossless }

    /// Whether the file says which speaker each of three or more channels is for, where that is known.
    public var storesLayout: Bool {
        switch container {
        case .au, .raw: false
        case .mka: codec != .pcm
        default: true
        }
    }

    /// A format that was not checked; `AudioFormat.resolved(for:)` makes checked ones.
    public init(
        container: Container,
        codec: Codec,
        sampleRateHz: Int,
        channelCount: Int,
        layout: ChannelLayout,
        bitDepth: Int,
        sampleKind: SampleKind,
        dither: Dither? = nil,
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
        self.endianness = endianness
        self.bitRate = bitRate
        self.quality = quality
    }
}
