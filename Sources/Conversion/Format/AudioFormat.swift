/// What an output should be. `nil` means: as the source, or the nearest that the codec can carry.
///
/// What is said is kept to the letter or refused; only what is left open is chosen, by `resolved(for:)`.
public struct AudioFormat: Sendable, Hashable, Encodable {
    /// The kind of file.
    public var container: Container
    /// `nil` takes `FormatTable.defaultCodec(for:)`.
    public var codec: Codec?
    /// Frames per second.
    public var sampleRateHz: Int?
    /// More or fewer than the source has: it is mixed.
    public var channelCount: Int?
    /// Has to agree with `channelCount` if both are given.
    public var layout: ChannelLayout?
    /// Bits stored per sample.
    public var bitDepth: Int?
    /// What a stored sample is.
    public var sampleKind: SampleKind?
    /// For samples that have more bits than are stored; `nil` takes `tpdf`.
    public var dither: Dither?
    /// `nil` takes little where there is a choice.
    public var endianness: Endianness?
    /// Said only to be refused if it is `planar`.
    public var interleaving: Interleaving?
    /// Bits per second, constant or as a target. Excludes `quality` and `bitRatePerChannel`.
    public var bitRate: Int?
    /// Variable bit rate: MP3 0 (best) to 9, Vorbis -1 to 10 (best).
    public var quality: Double?
    /// A target that grows with the channels and gives way to the codec's ceiling at the rate in question.
    public var bitRatePerChannel: Int?
    /// The source's rate, but never above this. Means nothing beside `sampleRateHz`.
    public var maximumSampleRateHz: Int?
    /// The source's channels, mixed down to this many if there are more. Means nothing beside `channelCount`.
    public var maximumChannelCount: Int?

    /// A format with everything left open that is not said.
    public init(
        container: Container,
        codec: Codec? = nil,
        sampleRateHz: Int? = nil,
        channelCount: Int? = nil,
        layout: ChannelLayout? = nil,
        bitDepth: Int? = nil,
        sampleKind: SampleKind? = nil,
        dither: Dither? = nil,
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
        self.endianness = endianness
        self.interleaving = interleaving
        self.bitRate = bitRate
        self.quality = quality
        self.bitRatePerChannel = bitRatePerChannel
        self.maximumSampleRateHz = maximumSampleRateHz
        self.maximumChannelCount = maximumChannelCount
    }

    /// Settles every open field for `source`, or refuses with all the reasons at once.
    public func resolved(for source: AudioShape) throws(FormatRefusal) -> ResolvedFormat {
        if codec == .copy { return try Passthrough(of: source, as: self).resolved() }
        var resolution = Resolution(of: self, for: source)
        return try resolution.run()
    }

    /// These wishes with those of `wishes` put over them.
    ///
    /// Fields that say the same thing in different ways go together: a new bit rate puts an old quality out of
    /// force, a new codec everything that belonged to the old one.
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
        result.endianness = wishes.endianness ?? result.endianness
        result.interleaving = wishes.interleaving ?? result.interleaving
        return result
    }
}
