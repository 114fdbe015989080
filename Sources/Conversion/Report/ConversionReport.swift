/// The result of a successful conversion, counted in frames.
public struct ConversionReport: Sendable, Hashable, Codable {
    /// The track that was read.
    public var source: Source
    /// The output's format with every field settled.
    public var format: ResolvedFormat
    /// Frames that the output must have.
    public var plannedFrames: Int64
    /// Frames that the output has; always equal to `plannedFrames`.
    public var writtenFrames: Int64
    /// Frames that a decoder delivers for the output, at the rate and with the padding of the format.
    public var decodedFrames: Int64
    /// The size of the output.
    public var bytes: Int64
    /// What the source lacked; empty unless the recipe tolerates damage.
    public var damage: DamageReport
    /// Whether the output was decoded again and compared.
    public var isVerified: Bool
    /// MD5 of the samples that were written, in hexadecimal; `nil` if not computed.
    public var digest: String?
    /// Tags that the container cannot store.
    public var lostTags: [String]
    /// Further remarks, losses first.
    public var remarks: [Remark]
    /// What was done to the loudness; `nil` if the recipe does not ask for it.
    public var loudness: LoudnessChange?
    /// What the output shows, if it is a waveform. `format` is then that of the samples that are shown.
    public var waveform: WaveformReport?
    /// What the spec of the output says of it; `nil` if the recipe asks for none.
    public var spec: SpecReport?

    /// The track that was read.
    public struct Source: Sendable, Hashable, Codable {
        /// The stream's number in its container.
        public var track: Int
        /// libav's name of the codec.
        public var codec: String
        public var sampleRateHz: Int
        public var channelCount: Int
        /// Frames read, on the source's clock.
        public var frames: Int64

        public init(track: Int, codec: String, sampleRateHz: Int, channelCount: Int, frames: Int64) {
            self.track = track
            self.codec = codec
            self.sampleRateHz = sampleRateHz
            self.channelCount = channelCount
            self.frames = frames
        }
    }

    public init(
        source: Source,
        format: ResolvedFormat,
        plannedFrames: Int64,
        writtenFrames: Int64,
        decodedFrames: Int64,
        bytes: Int64,
        damage: DamageReport,
        isVerified: Bool,
        digest: String?,
        lostTags: [String],
        remarks: [Remark] = [],
        loudness: LoudnessChange? = nil,
        waveform: WaveformReport? = nil,
        spec: SpecReport? = nil
    ) {
        self.source = source
        self.format = format
        self.plannedFrames = plannedFrames
        self.writtenFrames = writtenFrames
        self.decodedFrames = decodedFrames
        self.bytes = bytes
        self.damage = damage
        self.isVerified = isVerified
        self.digest = digest
        self.lostTags = lostTags
        self.remarks = remarks
        self.loudness = loudness
        self.waveform = waveform
        self.spec = spec
    }
}

/// The progress of a conversion.
public struct ConversionProgress: Sendable, Hashable, Codable {
    /// The position reached on the source's clock.
    public var position: MediaTime
    /// Frames taken from the source.
    public var frames: Int64
    /// Frames to take; `nil` if unknown.
    public var totalFrames: Int64?
    /// Frames of the output that were decoded again and compared; `nil` before that begins.
    public var verifiedFrames: Int64?
    /// Frames of the source that were measured in a first pass, before any was taken; `nil` without one.
    public var measuredFrames: Int64?

    public init(
        position: MediaTime,
        frames: Int64,
        totalFrames: Int64?,
        verifiedFrames: Int64? = nil,
        measuredFrames: Int64? = nil
    ) {
        self.position = position
        self.frames = frames
        self.totalFrames = totalFrames
        self.verifiedFrames = verifiedFrames
        self.measuredFrames = measuredFrames
    }

    /// How far the work is, in frames of the source: of two passes, each counts half.
    public var doneFrames: Int64 { measuredFrames.map { $0 / 2 + frames / 2 } ?? frames }
}
