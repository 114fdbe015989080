/// What to do: from which sources to which outputs, and how. A value with a version, stored as JSON.
///
/// Sources and outputs are lists from the start, so that several outputs from one decode will need no new form.
public struct Recipe: Sendable, Hashable {
    /// The version that this code writes.
    public static let currentVersion = 1
    /// The versions that this code reads.
    public static let knownVersions = [1]

    /// Of the recipe's form, not of its content.
    public var version: Int
    /// What is read. Exactly one for now.
    public var sources: [Source]
    /// What is written. Exactly one for now.
    public var outputs: [Output]
    /// What to do where a source is damaged.
    public var damage: DamageMode
    /// Whether every output is decoded again and compared before it counts.
    public var verify: Bool
    /// Whether an output that lacks anything of its source is a failure: see `Remark.Kind.isLoss`.
    public var strictLoss: Bool
    /// Put over the source's tags; an empty value removes a tag.
    public var tags: [String: String]
    /// Budgets that end the job with a failure of its own. `nil` leaves them to the worker.
    public var limits: Limits?

    /// A recipe of the current version; nothing is checked before `validate()`.
    public init(
        sources: [Source],
        outputs: [Output],
        damage: DamageMode = .strict,
        verify: Bool = false,
        strictLoss: Bool = false,
        tags: [String: String] = [:],
        limits: Limits? = nil
    ) {
        version = Self.currentVersion
        self.sources = sources
        self.outputs = outputs
        self.damage = damage
        self.verify = verify
        self.strictLoss = strictLoss
        self.tags = tags
        self.limits = limits
    }

    /// The recipe for one source and one output.
    public init(from source: Source, to output: Output) {
        self.init(sources: [source], outputs: [output])
    }
}

// MARK: - Source

extension Recipe {
    /// Something to read.
    public struct Source: Sendable, Hashable {
        /// Where it is, in `Storage`'s words.
        public var location: String
        /// The stream's number in the container; `nil` takes the main track.
        public var track: Int?
        /// The wanted stretches, one after another; the whole track if empty.
        public var ranges: [MediaTimeRange]
        /// What headerless PCM is, since it cannot say so itself.
        public var raw: RawDescription?

        /// The whole main track of what is at `location`, unless said otherwise.
        public init(
            location: String,
            track: Int? = nil,
            ranges: [MediaTimeRange] = [],
            raw: RawDescription? = nil
        ) {
            self.location = location
            self.track = track
            self.ranges = ranges
            self.raw = raw
        }
    }

    /// The shape of PCM without a header.
    public struct RawDescription: Sendable, Hashable, Encodable {
        /// `pcm`, `ulaw` or `alaw`.
        public var codec: Codec
        /// Frames per second.
        public var sampleRateHz: Int
        /// Interleaved channels.
        public var channelCount: Int
        /// Bits stored per sample; 8 with mu-law and A-law. 8-bit PCM is unsigned.
        public var bitDepth: Int
        /// What a stored sample is.
        public var sampleKind: SampleKind
        /// Means nothing for samples of one byte.
        public var endianness: Endianness

        /// 16-bit little-endian integers unless said otherwise.
        public init(
            codec: Codec = .pcm,
            sampleRateHz: Int,
            channelCount: Int,
            bitDepth: Int? = nil,
            sampleKind: SampleKind = .integer,
            endianness: Endianness = .little
        ) {
            self.codec = codec
            self.sampleRateHz = sampleRateHz
            self.channelCount = channelCount
            self.bitDepth = bitDepth ?? (codec == .pcm ? 16 : 8)
            self.sampleKind = sampleKind
            self.endianness = endianness
        }
    }
}

// MARK: - Output

extension Recipe {
    /// Something to write.
    public struct Output: Sendable, Hashable, Encodable {
        /// Where it goes, in `Storage`'s words. Its extension decides the container if nothing else does.
        public var location: String
        /// The name of a `Preset`.
        public var preset: String?
        /// Put over the preset's format, field by field.
        public var format: AudioFormat?
        /// What to do if there is something at `location` already.
        public var onConflict: ConflictPolicy

        /// An output; with neither preset nor format the extension of `location` says it all.
        public init(
            location: String,
            preset: String? = nil,
            format: AudioFormat? = nil,
            onConflict: ConflictPolicy = .fail
        ) {
            self.location = location
            self.preset = preset
            self.format = format
            self.onConflict = onConflict
        }
    }

    /// What to do with an output whose place is taken.
    public enum ConflictPolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// The job fails, and nothing is touched.
        case fail
        /// The new file takes the place.
        case replace
        /// The job is completed without work.
        case skip
    }

    /// Budgets of one attempt, each of them optional.
    public struct Limits: Sendable, Hashable, Encodable {
        /// Bytes of one output.
        public var outputBytes: Int64?
        /// Seconds of sound that come out of the decoder.
        public var decodedSeconds: Int?
        /// Decoded bytes for each byte of the source.
        public var expansionRatio: Double?
        /// Seconds of CPU.
        public var cpuSeconds: Int?
        /// Seconds from the attempt's start.
        public var wallSeconds: Int?
        /// Seconds without a frame of progress.
        public var stallSeconds: Int?
        /// Seconds of silence that may stand for missing sound.
        public var concealSeconds: Int?
        /// Seconds of CPU until the source is open.
        public var openSeconds: Int?

        /// No limit that is not said.
        public init(
            outputBytes: Int64? = nil,
            decodedSeconds: Int? = nil,
            expansionRatio: Double? = nil,
            cpuSeconds: Int? = nil,
            wallSeconds: Int? = nil,
            stallSeconds: Int? = nil,
            concealSeconds: Int? = nil,
            openSeconds: Int? = nil
        ) {
            self.outputBytes = outputBytes
            self.decodedSeconds = decodedSeconds
            self.expansionRatio = expansionRatio
            self.cpuSeconds = cpuSeconds
            self.wallSeconds = wallSeconds
            self.stallSeconds = stallSeconds
            self.concealSeconds = concealSeconds
            self.openSeconds = openSeconds
        }
    }
}
