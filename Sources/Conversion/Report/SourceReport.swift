/// A description of a media file, without its samples.
public struct SourceReport: Sendable, Hashable, Codable {
    /// The most silences that a report lists. If a source has more, the command refuses it and suggests longer ones.
    public static let mostSilences = 4_000

    /// libav's name of the container, for example `wav`, `mov`, `matroska`.
    public var container: String
    /// The audio tracks in file order.
    public var tracks: [TrackReport]
    public var tags: [TagReport]
    /// How many tags the last of `tags` stands for, where a message cannot hold all; `nil` if all are listed.
    public var unlistedTags: Int?
    public var chapters: [ChapterReport]
    /// How many chapters the last of `chapters` stands for, where a message cannot hold all; `nil` if all are listed.
    public var unlistedChapters: Int?
    public var cover: CoverReport?
    /// All pictures, of which the cover is the first; `nil` if there is no other one.
    public var pictures: [CoverReport]?
    /// What the file has that no output gets, in the words of its container, such as `chunk smpl`, if requested.
    public var unreadParts: [String]?
    /// How many streams of video and of subtitles the file has, if requested.
    public var otherStreams: Int?
    /// Whether a track is encrypted and cannot be read.
    public var isProtected: Bool
    /// The result of decoding the whole main track, if requested.
    public var scan: ScanReport?
    /// The loudness of the main track, if requested.
    public var loudness: LoudnessReport?
    /// The levels of the main track over time, if requested.
    public var levels: LevelReport?
    /// The course of the main track's sound, if requested.
    public var outline: SoundOutline?
    /// The frame in the middle of each silence between two sounds of the main track, in order, if requested. Of more
    /// than `mostSilences`, one more than that is listed.
    public var silences: [Int64]?
    /// What each preset would make of the main track, or why it cannot, if requested.
    public var presets: [PresetFit]?
    /// The points of the main track, if requested.
    public var points: PointReport?

    public init(
        container: String,
        tracks: [TrackReport],
        tags: [TagReport],
        chapters: [ChapterReport],
        cover: CoverReport?,
        isProtected: Bool,
        scan: ScanReport? = nil,
        loudness: LoudnessReport? = nil,
        outline: SoundOutline? = nil,
        silences: [Int64]? = nil,
        presets: [PresetFit]? = nil,
        points: PointReport? = nil
    ) {
        self.container = container
        self.tracks = tracks
        self.tags = tags
        self.chapters = chapters
        self.cover = cover
        self.isProtected = isProtected
        self.scan = scan
        self.loudness = loudness
        self.outline = outline
        self.silences = silences
        self.presets = presets
        self.points = points
    }
}

/// One audio track.
public struct TrackReport: Sendable, Hashable, Codable {
    /// The stream's number in its container.
    public var track: Int
    /// Whether this track is converted when the recipe selects none.
    public var isMain: Bool
    /// libav's name of the codec.
    public var codec: String
    public var sampleRateHz: Int
    public var channelCount: Int
    /// The layout by name; `nil` if the file names no speakers.
    public var layout: String?
    /// Significant bits per sample; `nil` for lossy codecs, which store none.
    public var bitDepth: Int?
    public var sampleKind: SampleKind?
    public var isLossless: Bool
    /// Bits per second, if the file states them.
    public var bitRate: Int?
    /// The lowest and the highest bit rate that a packet states, if the levels were requested and packets state one.
    public var lowestBitRate: Int?
    public var highestBitRate: Int?
    /// The lowest and the highest rate, and number of channels, of what was decoded, if the levels were requested and not all
    /// of it is as the track says.
    public var decodedSampleRatesHz: ClosedRange<Int>?
    public var decodedChannelCounts: ClosedRange<Int>?
    /// `nil` if the container states no reliable length.
    public var frames: Int64?
    public var exactness: Exactness
    /// Frames that the encoder added before the sound and after it.
    public var delayFrames: Int?
    public var paddingFrames: Int?
    public var isProtected: Bool

    /// How reliable `frames` is.
    public enum Exactness: String, Sendable, Hashable, Codable { case exact, estimated, unknown }

    public init(
        track: Int,
        isMain: Bool,
        codec: String,
        sampleRateHz: Int,
        channelCount: Int,
        layout: String?,
        bitDepth: Int?,
        sampleKind: SampleKind?,
        isLossless: Bool,
        bitRate: Int?,
        frames: Int64?,
        exactness: Exactness,
        delayFrames: Int?,
        paddingFrames: Int?,
        isProtected: Bool
    ) {
        self.track = track
        self.isMain = isMain
        self.codec = codec
        self.sampleRateHz = sampleRateHz
        self.channelCount = channelCount
        self.layout = layout
        self.bitDepth = bitDepth
        self.sampleKind = sampleKind
        self.isLossless = isLossless
        self.bitRate = bitRate
        self.frames = frames
        self.exactness = exactness
        self.delayFrames = delayFrames
        self.paddingFrames = paddingFrames
        self.isProtected = isProtected
    }
}

/// One tag; the same name may occur more than once.
public struct TagReport: Sendable, Hashable, Codable {
    /// As the file or libav spells it.
    public var name: String
    /// The name in `TagTable`, if `name` does not tell it, as `TSRC` in ID3 is `isrc`; `nil` if it does, and for tags that the
    /// table does not have.
    public var commonName: String?
    /// Several values are one text here, with `;` between them.
    public var value: String
    /// The values, each for itself, if there are several; otherwise `nil`.
    public var values: [String]?
    /// Whether a message could not hold all of it: a value ends in "…", or the last one says how many more there are. `nil` if
    /// it is whole.
    public var isShortened: Bool?
    /// Whether the tag describes the container itself.
    public var isTechnical: Bool

    public init(
        name: String,
        commonName: String? = nil,
        value: String,
        values: [String]? = nil,
        isTechnical: Bool
    ) {
        self.name = name
        self.commonName = commonName
        self.value = value
        self.values = values
        self.isTechnical = isTechnical
    }
}

public struct ChapterReport: Sendable, Hashable, Codable {
    public var start: MediaTime
    public var end: MediaTime
    public var title: String?

    public init(start: MediaTime, end: MediaTime, title: String?) {
        self.start = start
        self.end = end
        self.title = title
    }
}

/// A cover or another picture, which is described but not decoded.
public struct CoverReport: Sendable, Hashable, Codable {
    /// `image/png` or `image/jpeg`.
    public var type: String
    public var width: Int
    public var height: Int
    public var bytes: Int
    /// What it shows, in ID3's words: `Cover (back)`; `nil` for `SourceReport.cover`.
    public var shows: String?

    public init(type: String, width: Int, height: Int, bytes: Int, shows: String? = nil) {
        self.type = type
        self.width = width
        self.height = height
        self.bytes = bytes
        self.shows = shows
    }
}

/// Whether a preset fits a source, and what it would produce.
public struct PresetFit: Sendable, Hashable, Codable {
    public var preset: String
    public var summary: String
    /// The resulting format; `nil` if the preset does not fit.
    public var format: ResolvedFormat?
    public var frames: Int64?
    /// Size of the output, if it can be estimated.
    public var estimatedBytes: Int64?
    /// Why the preset does not fit, and what to do; empty if it fits.
    public var reasons: [String]
    public var hints: [String]

    public var fits: Bool { format != nil }

    public init(
        preset: String,
        summary: String,
        format: ResolvedFormat?,
        frames: Int64?,
        estimatedBytes: Int64?,
        reasons: [String],
        hints: [String]
    ) {
        self.preset = preset
        self.summary = summary
        self.format = format
        self.frames = frames
        self.estimatedBytes = estimatedBytes
        self.reasons = reasons
        self.hints = hints
    }
}
