/// Describes a conversion: its sources, its outputs and its settings. A versioned value, stored as JSON.
///
/// Several sources need a timeline, which says what of each is heard and when. Several outputs are made of the same
/// decoded samples. A scan decodes its source and has no output.
public struct Recipe: Sendable, Hashable {
    /// The newest version that this code writes.
    public static let currentVersion = 4
    /// Enough for every format that a publisher asks for. All of them are encoded at the same time.
    public static let maximumOutputs = 16
    /// Outputs with ranges, of which one at a time is encoded: few enough for the descriptors of one message.
    public static let maximumPieces = 200
    /// The versions that this code reads.
    public static let knownVersions = [1, 2, 3, 4]

    /// The oldest version of the schema that has everything in this recipe; it is written as that version.
    ///
    /// Version 2 adds `timeline`, the names of sources, more than one output, and for outputs a loudness, tags that state
    /// it, shaped dither and the quality of resampling. Version 3 adds the ranges and tags of outputs, and the presets of
    /// users; version 4 adds scans, the damage mode `trust-packets`, waveforms, chapters, several values of a tag,
    /// sources without sound, specs of outputs, and the presets `acx` and `librivox`. A recipe without them keeps its earlier
    /// version, with the same bytes as ever, so that stored recipes and idempotency keys keep their meaning and older
    /// workers take it.
    public var version: Int {
        fieldOfVersion4 != nil ? 4 : fieldOfVersion3 != nil ? 3 : fieldOfVersion2 != nil ? 2 : 1
    }

    /// Whether the outputs are parts of the source, one after another.
    public var isSplit: Bool { outputs.contains { $0.range != nil } }

    /// What to read. Exactly one with sound without a timeline; sources without sound come last.
    public var sources: [Source]
    /// What to write: at least one, and at most `maximumOutputs`; none for a scan.
    public var outputs: [Output]
    /// How to treat damage in a source.
    public var damage: DamageMode
    /// Whether every output is decoded again and compared before the job counts as completed.
    public var verify: Bool
    /// Whether the job fails if an output lacks anything of its source: see `Remark.Kind.isLoss`.
    public var strictLoss: Bool
    /// Whether outputs lack the tags, pictures and chapters of their sources, which then are no loss.
    public var dropTags: Bool
    /// The chapters of the output, in place of those of the sources; empty for theirs.
    public var chapters: [Chapter] = []
    /// Whether the sources of the timeline are parts of a book: each one without chapters is a chapter by its title or name,
    /// unless `chapters` says otherwise, and the output has the tags that all sources agree on.
    public var markSources = false
    /// Whether the packets of the timeline's sources are copied, if they can be joined so that only sound is heard, and the
    /// sound is encoded otherwise. The report has a remark that tells which.
    public var copyPackets = false
    /// Merged over the source's tags; one without a value removes a tag.
    public var tags: [String: TagValues]
    /// Budgets; exceeding one fails the job with its own error code. `nil` leaves them to the worker.
    public var limits: Limits?
    /// What of the sources is heard, and when; `nil` converts the only source.
    public var timeline: Timeline?
    /// What to find out about the source, instead of converting it.
    public var scan: Scan?

    /// Checks nothing; `validate()` does.
    public init(
        sources: [Source],
        outputs: [Output],
        damage: DamageMode = .strict,
        verify: Bool = false,
        strictLoss: Bool = false,
        dropTags: Bool = false,
        tags: [String: TagValues] = [:],
        limits: Limits? = nil,
        timeline: Timeline? = nil
    ) {
        self.sources = sources
        self.outputs = outputs
        self.damage = damage
        self.verify = verify
        self.strictLoss = strictLoss
        self.dropTags = dropTags
        self.tags = tags
        self.limits = limits
        self.timeline = timeline
    }

    public init(from source: Source, to output: Output) {
        self.init(sources: [source], outputs: [output])
    }

    /// A scan of the main track of a source.
    public init(scanning source: Source, for scan: Scan = Scan()) {
        self.init(sources: [source], outputs: [])
        self.scan = scan
    }
}

// MARK: - Scan

extension Recipe {
    /// Decodes the whole main track of a source, finds its damage, and computes a digest of its sound.
    public struct Scan: Sendable, Hashable, Encodable {
        /// Whether to measure the loudness, too.
        public var loudness: Bool

        public init(loudness: Bool = false) { self.loudness = loudness }
    }
}

// MARK: - Source

extension Recipe {
    /// A file to read, and which part of it.
    public struct Source: Sendable, Hashable {
        /// In the syntax of `Storage`: a path, or a root and a path.
        public var location: String
        /// The stream's number in the container; `nil` selects the main track.
        public var track: Int?
        /// The ranges to take, one after another; the whole track if empty.
        public var ranges: [MediaTimeRange]
        /// The format of PCM without a header, which cannot state it itself.
        public var raw: RawDescription?
        /// By which a timeline's pieces refer to the source; required with a timeline.
        public var name: String?
        /// What outputs have of the source.
        public var use: Use

        /// By default the whole main track of the file at `location`.
        public init(
            location: String,
            track: Int? = nil,
            ranges: [MediaTimeRange] = [],
            raw: RawDescription? = nil,
            name: String? = nil,
            use: Use = .sound
        ) {
            self.location = location
            self.track = track
            self.ranges = ranges
            self.raw = raw
            self.name = name
            self.use = use
        }
    }

    /// The format of PCM without a header.
    public struct RawDescription: Sendable, Hashable, Encodable {
        /// `pcm`, `ulaw` or `alaw`.
        public var codec: Codec
        /// Frames per second.
        public var sampleRateHz: Int
        /// The number of interleaved channels.
        public var channelCount: Int
        /// Bits stored per sample; 8 with mu-law and A-law. 8-bit PCM is unsigned.
        public var bitDepth: Int
        /// Integer or float.
        public var sampleKind: SampleKind
        /// Ignored for samples of one byte.
        public var endianness: Endianness

        /// By default 16-bit little-endian integers.
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
    /// A file to write, and its format.
    public struct Output: Sendable, Hashable {
        /// In the syntax of `Storage`. Its extension decides the container if neither `preset` nor `format` does.
        public var location: String
        /// The name of a `Preset`.
        public var preset: String?
        /// Overrides the preset's format, field by field.
        public var format: AudioFormat?
        /// What to do if a file already exists at `location`.
        public var onConflict: ConflictPolicy
        /// The loudness to bring the output to; `nil` keeps the source's.
        public var loudness: LoudnessGoal?
        /// For how much sound tags state the loudness of the output; `nil` to write none.
        public var replayGain: ReplayGainScope?
        /// The part of the source that the output holds; `nil` for all of it.
        public var range: MediaTimeRange?
        /// Merged over the tags of the recipe; one without a value removes a tag.
        public var tags: [String: TagValues]
        /// The limits that the output must keep: if it breaks one, the job fails. `nil` for none.
        public var spec: AudioSpec?
        /// The preset of users that `format` and the other fields were copied from. Nothing is looked up by it.
        public var ownPreset: PresetReference?
        /// Set if the output shows the peaks or the frequencies of the sound, and does not hold it. Such outputs come last.
        public var waveform: Waveform?

        /// With neither preset nor format, the extension of `location` decides everything.
        public init(
            location: String,
            preset: String? = nil,
            format: AudioFormat? = nil,
            onConflict: ConflictPolicy = .fail,
            loudness: LoudnessGoal? = nil,
            replayGain: ReplayGainScope? = nil,
            range: MediaTimeRange? = nil,
            tags: [String: TagValues] = [:]
        ) {
            self.location = location
            self.preset = preset
            self.format = format
            self.onConflict = onConflict
            self.loudness = loudness
            self.replayGain = replayGain
            self.range = range
            self.tags = tags
        }

        /// An output that shows the sound.
        public init(location: String, waveform: Waveform, onConflict: ConflictPolicy = .fail) {
            self.init(location: location, onConflict: onConflict)
            self.waveform = waveform
        }
    }

    /// What to do if the output's destination already exists.
    public enum ConflictPolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// The job fails, and the existing file stays.
        case fail
        /// The new file replaces the existing one.
        case replace
        /// The job completes without converting.
        case skip
    }

    /// Budgets of one attempt, each optional.
    public struct Limits: Sendable, Hashable, Encodable {
        /// Size of one output in bytes.
        public var outputBytes: Int64?
        /// Seconds of sound that the decoder delivers, and that all outputs together hold.
        public var decodedSeconds: Int?
        /// Bytes of samples for each byte of the source: decoded, and of all outputs together.
        public var expansionRatio: Double?
        /// Seconds of processor time.
        public var cpuSeconds: Int?
        /// Seconds since the attempt's start.
        public var wallSeconds: Int?
        /// Seconds without a frame of progress.
        public var stallSeconds: Int?
        /// Seconds of silence that may replace missing sound.
        public var concealSeconds: Int?
        /// Those that users may choose: a month at most.
        public static let concealChoices = 1...31 * 86_400
        /// Seconds of processor time until the source is open.
        public var openSeconds: Int?

        /// A limit that is not given stays `nil`.
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

extension Recipe.Output {
    /// The name of the preset that it is made with, built in or not; `nil` for none.
    public var presetName: String? { preset ?? ownPreset?.name }

    /// The codec that encodes the output's samples; `copy` for passthrough. Throws as `audioFormat()` does.
    public var codec: Codec {
        get throws(RecipeError) {
            let format = try audioFormat()
            return format.codec ?? FormatTable.defaultCodec(for: format.container)
        }
    }
}

extension Recipe {
    /// How often a conversion reads its sources before it writes anything: once to find the silence that is left out,
    /// once to measure the loudness, and once to measure what the tags for players state.
    public var earlyPasses: Int {
        let findsSilence = timeline?.tracks.contains { $0.pieces.contains { $0.trimSilence != nil } } ?? false
        return [
            findsSilence, outputs.contains { $0.loudness != nil }, outputs.contains { $0.replayGain != nil },
        ].count { $0 }
    }

    /// Whether an output depends on the loudness of all jobs of the batch together.
    public var belongsToAlbum: Bool {
        outputs.contains { $0.loudness?.scope == .album || $0.replayGain == .album }
    }
}
