/// What a file is, without its samples.
public struct SourceReport: Sendable, Hashable, Codable {
    /// libav's name of the container: `wav`, `mov`, `matroska`.
    public var container: String
    /// Audio tracks in the order of the file.
    public var tracks: [TrackReport]
    public var tags: [TagReport]
    public var chapters: [ChapterReport]
    public var cover: CoverReport?
    /// Whether a track is encrypted and cannot be read.
    public var isProtected: Bool
    /// What decoding the main track from end to end found, where that was asked for.
    public var scan: ScanReport?
    /// What each preset would make of the main track, or why it cannot, where that was asked for.
    public var presets: [PresetFit]?

    public init(
        container: String,
        tracks: [TrackReport],
        tags: [TagReport],
        chapters: [ChapterReport],
        cover: CoverReport?,
        isProtected: Bool,
        scan: ScanReport? = nil,
        presets: [PresetFit]? = nil
    ) {
        self.container = container
        self.tracks = tracks
        self.tags = tags
        self.chapters = chapters
        self.cover = cover
        self.isProtected = isProtected
        self.scan = scan
        self.presets = presets
    }
}

/// One audio track.
public struct TrackReport: Sendable, Hashable, Codable {
    /// The stream's number in its container.
    public var track: Int
    /// Whether it is the one that is converted when none is asked for.
    public var isMain: Bool
    /// libav's name of the codec.
    public var codec: String
    public var sampleRateHz: Int
    public var channelCount: Int
    /// The channels' layout by name; `nil` where the file names no speakers.
    public var layout: String?
    /// Significant bits per sample; `nil` for lossy codecs, which store none.
    public var bitDepth: Int?
    public var sampleKind: SampleKind?
    public var isLossless: Bool
    /// Bits per second, where the file says so.
    public var bitRate: Int?
    /// `nil` where the container says nothing that could be relied on.
    public var frames: Int64?
    public var exactness: Exactness
    /// Frames before the sound, and behind it, that the encoder added.
    public var delayFrames: Int?
    public var paddingFrames: Int?
    public var isProtected: Bool

    /// How firmly the frames are known.
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

/// One tag; a name may come more than once.
public struct TagReport: Sendable, Hashable, Codable {
    public var name: String
    public var value: String
    /// Whether the container wrote it about itself.
    public var isTechnical: Bool

    public init(name: String, value: String, isTechnical: Bool) {
        self.name = name
        self.value = value
        self.isTechnical = isTechnical
    }
}

/// A named stretch.
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

/// A cover, described and not decoded.
public struct CoverReport: Sendable, Hashable, Codable {
    /// `image/png` or `image/jpeg`.
    public var type: String
    public var width: Int
    public var height: Int
    public var bytes: Int

    public init(type: String, width: Int, height: Int, bytes: Int) {
        self.type = type
        self.width = width
        self.height = height
        self.bytes = bytes
    }
}

/// What decoding from end to end found.
public struct ScanReport: Sendable, Hashable, Codable {
    /// Frames that came out, silence for lost ones included.
    public var frames: Int64
    public var damage: DamageReport

    public init(frames: Int64, damage: DamageReport) {
        self.frames = frames
        self.damage = damage
    }
}

/// Whether a preset suits a source, and what it would make of it.
public struct PresetFit: Sendable, Hashable, Codable {
    public var preset: String
    public var summary: String
    /// What would come of it; `nil` where the preset does not fit.
    public var format: ResolvedFormat?
    public var frames: Int64?
    /// Bytes of the output, where they can be told before.
    public var estimatedBytes: Int64?
    /// Why it does not fit, and what to do; empty where it does.
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
