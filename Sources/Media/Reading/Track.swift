public import Conversion

/// One audio track of a source, as its container describes it. Nothing has been decoded.
public struct Track: Sendable, Hashable {
    /// The stream's number in the container.
    public let index: Int
    /// libav's name of the codec: `pcm_s16le`, `mp3`, `flac`, ...
    public let codecName: String
    /// The container's four-character code for the codec.
    public let fourCC: String
    public let sampleRateHz: Int
    public let channelCount: Int
    /// WAVE channel mask; zero if the source names no speakers.
    public let channelMask: UInt64
    /// Significant bits per sample; 16 for lossy codecs, 24 for one-bit sound.
    public let bitDepth: Int
    public let isFloat: Bool
    public let isLossless: Bool
    public let isDefault: Bool
    public let bitRate: Int?
    /// The length that the container states, on the clock that ranges and positions use.
    public let length: LengthPromise
    /// Whether the source's bytes can hold that length, or lack so little that the rest may be concealed. Do not
    /// show an implausible length; reading the track reports what is wrong.
    public let lengthIsPlausible: Bool
    /// Frames that the encoder put before the sound, if the container states them. They are never handed out.
    public let primingFrames: Int?
    /// Frames that the encoder put after the sound, if the container states them. They are never handed out.
    public let paddingFrames: Int?
    /// Whether the track is encrypted: it can be described, but neither decoded nor copied.
    public let isProtected: Bool
    /// Priming frames that libav does not drop.
    let undroppedPriming: Int
    public let tags: [Tag]
    /// Whether the sound ends at its length, whatever libav says about the last packets.
    let isCutAtLength: Bool
    /// Whether the source is an excerpt of a longer stream that the codec's header describes.
    let isExcerpt: Bool
    /// Whether the sound ends with the last packet, whatever length is stated.
    let endsWithItsPackets: Bool
    /// A remark about a length that the container states and that does not count.
    let lengthRemark: Remark?
    /// The order in which the container plays parts of the packets; `nil` if it plays all of them once.
    let edits: EditedTime?
    /// Why the track cannot be read as its container plays it; `nil` if it can.
    let refusal: ContainerFacts.Refusal?
    /// Whether the source proves that it is whole and holds no frame.
    let isEmpty: Bool

    /// The length of the stream, if others follow it in the source.
    let lengthBeforeOthers: LengthPromise?

    /// The length on the clock of the packets: that of the sound in them, whatever parts of it are played.
    var sourceLength: LengthPromise { edits?.source ?? lengthBeforeOthers ?? length }

    /// Whether libav does not know the codec.
    var hasUnknownCodec: Bool { CodecRegistry.isUnknown(codecName) }

    /// The promised frames, if they are plausible.
    package var plausibleFrames: Int64? { lengthIsPlausible ? length.frames : nil }

    /// The track's format.
    public var shape: AudioShape {
        AudioShape(
            sampleRateHz: sampleRateHz,
            channelCount: channelCount,
            layout: channelMask == 0 ? nil : ChannelLayout(mask: channelMask),
            bitDepth: bitDepth,
            sampleKind: isFloat ? .float : .integer,
            codecName: codecName,
            isLossless: isLossless,
            frames: length.frames
        )
    }
}

/// A name and a value from a source's tags. A name may occur more than once.
public struct Tag: Sendable, Hashable {
    public let key: String
    /// Several values are one text here, with `;` between them.
    public let value: String
    /// The values, each for itself, if the source keeps them apart; otherwise `value` alone.
    public let values: [String]
    /// Its name in `TagTable`; `nil` for a tag that the table does not have.
    package let name: String?

    public init(key: String, value: String) {
        self.init(key: key, value: value, values: [value], name: TagTable.row(key: key)?.name)
    }

    /// A tag with several values.
    public init(key: String, values: [String]) {
        self.init(key: key, values: values, name: TagTable.row(key: key)?.name)
    }

    /// A tag of a source, whose format tells what the tag is called in the table.
    init(key: String, values: [String], name: String?) {
        self.init(key: key, value: values.joined(separator: ";"), values: values, name: name)
    }

    /// Whether the packets of sound that the tag is about are copied with it.
    private var isOfCopiedPackets = false

    private init(key: String, value: String, values: [String], name: String?) {
        (self.key, self.value) = (key, value)
        (self.values, self.name) = (values, name)
    }

    /// The same beside the packets of its source.
    var besideItsPackets: Tag {
        var tag = self
        tag.isOfCopiedPackets = Container.describesPackets(byTag: key)
        return tag
    }

    /// Whether a container describes itself with this tag. Such tags are not copied.
    public var isTechnical: Bool { !isOfCopiedPackets && Container.describesItself(byTag: key) }
}

/// A named stretch of a source.
public struct Chapter: Sendable, Hashable {
    public let start: MediaTime
    public let end: MediaTime
    public let title: String?

    public init(start: MediaTime, end: MediaTime, title: String? = nil) {
        (self.start, self.end, self.title) = (start, end, title)
    }
}

/// Everything that a container states about itself and its tracks.
public struct SourceDescription: Sendable, Hashable {
    /// libav's name of the container, the first if it has several: `wav`, `mov`, `matroska`, ...
    public let container: String
    public let tracks: [Track]
    public let tags: [Tag]
    public let chapters: [Chapter]
    /// All pictures that are PNG or JPEG, in the order of the file.
    public let pictures: [Picture]

    /// The first of the pictures.
    public var cover: Picture? { pictures.first }

    /// The track that is used by default: the one marked as default, else the first.
    public var mainTrack: Track? { tracks.first(where: \.isDefault) ?? tracks.first }
}
