/// The requested format of an output. `nil` means: as the source, or the nearest that the codec supports.
///
/// A field that is set is honoured exactly or refused. `resolved(for:)` chooses only the fields left open.
public struct AudioFormat: Sendable, Hashable, Encodable {
    /// The kind of file.
    public var container: Container
    /// `nil` takes `FormatTable.defaultCodec(for:)`.
    public var codec: Codec?
    /// Frames per second.
    public var sampleRateHz: Int?
    /// More or fewer than the source has: the channels are mixed.
    public var channelCount: Int?
    /// Must agree with `channelCount` if both are set.
    public var layout: ChannelLayout?
    /// Bits stored per sample.
    public var bitDepth: Int?
    /// Integer or float.
    public var sampleKind: SampleKind?
    /// Used where the samples have more bits than the file stores; `nil` takes `tpdf`.
    public var dither: Dither?
    /// How exactly the sample rate is converted; `nil` takes `standard`.
    public var resample: ResampleQuality?
    /// `nil` takes `little` if the container has both.
    public var endianness: Endianness?
    /// Exists only so that `planar` can be refused.
    public var interleaving: Interleaving?
    /// Bits per second, constant or as a target. Excludes `quality` and `bitRatePerChannel`.
    public var bitRate: Int?
    /// Variable bit rate: MP3 0 (best) to 9, Vorbis -1 to 10 (best).
    public var quality: Double?
    /// A target for each channel, limited to what the codec takes at that sample rate and channel count.
    public var bitRatePerChannel: Int?
    /// Takes the source's rate, but never above this. Ignored if `sampleRateHz` is set.
    public var maximumSampleRateHz: Int?
    /// Takes the source's channels, mixed down if there are more than this. Ignored if `channelCount` is set.
    public var maximumChannelCount: Int?

    /// Leaves every field open that is not given.
    public init(
        container: Container,
        codec: Codec? = nil,
        sampleRateHz: Int? = nil,
        channelCount: Int? = nil,
        layout: ChannelLayout? = nil,
        bitDepth: Int? = nil,
        sampleKind: SampleKind? = nil,
        dither: Dither? = nil,
        resample: ResampleQuality? = nil,
        endianness: Endianness? = nil,
        interleaving: Interleaving? = nil,
        bitRate: Int? = nil,
        quality: Double? = nil,
        bitRatePerChannel: Int? = nil,
        maximumSampleRateHz: Int? = nil,
        maximumChannelCount: Int? = nil
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
        self.interleaving = interleaving
        self.bitRate = bitRate
        self.quality = quality
        self.bitRatePerChannel = bitRatePerChannel
        self.maximumSampleRateHz = maximumSampleRateHz
        self.maximumChannelCount = maximumChannelCount
    }

    /// Settles every open field for `source`. Throws one refusal that lists every reason.
    public func resolved(for source: AudioShape) throws(FormatRefusal) -> ResolvedFormat {
        if codec == .copy { return try Passthrough(of: source, as: self).resolved() }
        var resolution = Resolution(of: self, for: source)
        return try resolution.run()
    }

    /// This format with the fields that `wishes` sets, and always the container of `wishes`.
    ///
    /// Fields that set the same thing in different ways count as one: a new bit rate removes an old quality, and a
    /// new codec removes every setting that belonged to the old codec.
    public func overridden(by wishes: AudioFormat) -> AudioFormat {
        var result = self
        result.container = wishes.container
        if let codec = wishes.codec, codec != self.codec {
            result = AudioFormat(
                container: wishes.container,
                codec: codec,
                sampleRateHz: sampleRateHz,
                channelCount: channelCount,
                layout: layout,
                resample: resample,
                maximumSampleRateHz: maximumSampleRateHz,
                maximumChannelCount: maximumChannelCount
            )
        }
        if wishes.sampleRateHz != nil || wishes.maximumSampleRateHz != nil {
            result.sampleRateHz = wishes.sampleRateHz
            result.maximumSampleRateHz = wishes.maximumSampleRateHz
        }
        if wishes.channelCount != nil || wishes.layout != nil || wishes.maximumChannelCount != nil {
            result.channelCount = wishes.channelCount
            result.layout = wishes.layout
            result.maximumChannelCount = wishes.maximumChannelCount
        }
        if wishes.bitDepth != nil || wishes.sampleKind != nil {
            result.bitDepth = wishes.bitDepth
            result.sampleKind = wishes.sampleKind
        }
        if wishes.bitRate != nil || wishes.quality != nil || wishes.bitRatePerChannel != nil {
            result.bitRate = wishes.bitRate
            result.quality = wishes.quality
            result.bitRatePerChannel = wishes.bitRatePerChannel
        }
        result.dither = wishes.dither ?? result.dither
        result.resample = wishes.resample ?? result.resample
        result.endianness = wishes.endianness ?? result.endianness
        result.interleaving = wishes.interleaving ?? result.interleaving
        return result
    }
}
