public import Conversion

/// One audio track of a source, as its container describes it. Nothing of it has been decoded.
public struct Track: Sendable, Hashable {
    /// The stream's number in the container.
    public let index: Int
    /// libav's name of the codec: `pcm_s16le`, `mp3`, `flac`, ...
    public let codecName: String
    /// The container's four letters for the codec.
    public let fourCC: String
    public let sampleRateHz: Int
    public let channelCount: Int
    /// WAVE channel mask; zero where the source names no speakers.
    public let channelMask: UInt64
    /// Significant bits per sample; 16 for lossy codecs.
    public let bitDepth: Int
    public let isFloat: Bool
    public let isLossless: Bool
    public let isDefault: Bool
    public let bitRate: Int?
    /// What the container says of the length, on the clock that ranges and positions use.
    public let length: LengthPromise
    /// Whether the bytes of the source can hold so much, or something is missing of it that may be concealed. What is not
    /// plausible is no length to show; reading the track tells what is wrong.
    public let lengthIsPlausible: Bool
    /// Frames that the encoder put before the sound, where the container says so. They are never handed out.
    public let primingFrames: Int?
    /// Frames that the encoder put behind the sound, where the container says so. They are never handed out either.
    public let paddingFrames: Int?
    /// Whether it is encrypted: it can be described, and neither decoded nor copied.
    public let isProtected: Bool
    /// Frames of priming that libav does not drop.
    let undroppedPriming: Int
    public let tags: [Tag]
    /// Whether the sound ends at its length and nothing that libav says of the last packets counts.
    let isCutAtLength: Bool
    /// Whether the source was cut out of a longer stream, of which the codec's header speaks.
    let isExcerpt: Bool
    /// Whether the sound goes on as long as there are packets, whatever its length is said to be.
    let endsWithItsPackets: Bool

    /// The promised frames, where they are plausible.
    package var plausibleFrames: Int64? { lengthIsPlausible ? length.frames : nil }

    /// The track as formats see it.
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

/// A name and a value out of a source's tags; a name may come more than once.
public struct Tag: Sendable, Hashable {
    public let key: String
    public let value: String

    public init(key: String, value: String) {
        self.key = key
        self.value = value
    }

    /// Whether a container wrote it about itself. Such tags are not carried on: in another file they would be lies.
    public var isTechnical: Bool { Tag.technicalKeys.contains(key.lowercased()) }

    private static let technicalKeys: Set<String> = [
        "encoder", "major_brand", "minor_version", "compatible_brands", "itunsmpb", "itunnorm", "duration",
        "metadata_block_picture", "encoded_by_library", "creation_time", "vendor_id", "handler_name",
    ]
}

/// A named stretch of a source.
public struct Chapter: Sendable, Hashable {
    public let start: MediaTime
    public let end: MediaTime
    public let title: String?
}

/// All that a container says of itself.
public struct SourceDescription: Sendable, Hashable {
    /// libav's name of the container, the first where it has several: `wav`, `mov`, `matroska`, ...
    public let container: String
    public let tracks: [Track]
    public let tags: [Tag]
    public let chapters: [Chapter]
    public let cover: Picture?

    /// The track that is used when none is asked for: the default one, else the first.
    public var mainTrack: Track? { tracks.first(where: \.isDefault) ?? tracks.first }
}
