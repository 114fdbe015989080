public import Conversion

/// What a caller asks of a room: a conversion, a measurement, or a description of a file. Each kind of work has its own
/// type of answer.
///
/// The room gets open descriptors and nothing else. They are lent until the outcome is returned.
public struct RoomWork<Answer: Sendable & Hashable>: Sendable {
    /// The work together with the caller that waits for its outcome.
    let kind: @Sendable (@escaping RoomJob.Finish<Answer>) -> RoomJob.Kind
    /// Open for reading, in the order of the recipe.
    let sources: [Int32]
    /// The size of the sources together, if known. It caps the time that a job can earn by reporting progress. Without it
    /// the slot's thread asks the file system for the size, which must answer.
    public var sourceBytes: Int64?
    /// Whether the room must end before the outcome of a conversion is returned. On file systems that do not report
    /// writers, only this ensures that no process can still write to the destination.
    public var endsRoom = false
    /// The sources that are fetched for the room, by their places. Their descriptors are those of the windows.
    public var windows: [Int: RoomWindow] = [:]
    /// For whom the room works. A room that has worked for one party never works for another.
    public var party: String?

    private init(_ sources: [Int32], _ kind: @escaping @Sendable (@escaping RoomJob.Finish<Answer>) -> RoomJob.Kind) {
        self.kind = kind
        self.sources = sources
    }
}

/// The answer has a report for each output, in the order of the recipe.
extension RoomWork where Answer == [ConversionReport] {
    /// Converts `source` to `destination`, a new, empty file that is open for reading and writing. With `streams`,
    /// `destination` may be a pipe instead, which only headerless PCM and WAV support.
    public init(_ recipe: Recipe, from source: Int32, to destination: Int32, streams: Bool = false) {
        self.init(recipe, from: [source], to: destination, streams: streams)
    }

    /// The same for a recipe with several sources.
    public init(_ recipe: Recipe, from sources: [Int32], to destination: Int32, streams: Bool = false) {
        self.init(recipe, from: sources, to: [destination], streams: streams)
    }

    /// The same for a recipe with several outputs, each with a destination. Or only its waveforms have destinations, and show
    /// what the other outputs would hold. `album` is how loud the album is that the recipe
    /// refers to.
    public init(
        _ recipe: Recipe,
        from sources: [Int32],
        to destinations: [Int32],
        streams: Bool = false,
        album: AlbumLoudness? = nil
    ) {
        let conversion = RoomJob.Conversion(
            recipe: recipe,
            destinations: destinations,
            streams: streams,
            album: album
        )
        self.init(sources) { .convert(conversion, $0) }
    }
}

extension RoomWork where Answer == TrackMeasure {
    /// Measures what a conversion of `recipe` would encode, for its album.
    public init(measuring recipe: Recipe, from sources: [Int32]) {
        self.init(sources) { .measure(recipe, $0) }
    }
}

extension RoomWork where Answer == SourceReport {
    /// Describes the file behind `source`.
    public init(describing source: Int32, _ options: ProbeOptions = ProbeOptions()) {
        self.init([source]) { .probe(options, $0) }
    }
}

/// What a description of a file should contain.
public struct ProbeOptions: Sendable, Codable {
    /// A file name whose extension helps with formats that have no signature.
    public var nameHint: String?
    /// The sample format of headerless PCM.
    public var raw: Recipe.RawDescription?
    /// Whether to decode the main track to its end as well.
    public var scans: Bool
    /// Whether to measure the loudness of the main track, which decodes it to its end, too.
    public var measuresLoudness: Bool
    /// Whether to collect the outline of the main track's sound, which decodes it to its end, too.
    public var outlinesSound: Bool
    /// Whether to measure the levels of the main track over time, which decodes it to its end, too.
    public var surveysLevels = false
    /// Whether to compute the digest of the main track's sound, which decodes it to its end, too.
    public var digestsSound: Bool
    /// The silence to find between the sounds of the main track, which decodes it to its end, too; `nil` for none.
    public var silence: SilenceTrim?
    /// What counts as a point of the main track, which decodes it to its end, too; `nil` for no points.
    public var points: PointRules?
    /// Whether to report what each preset would make of the main track.
    public var fitsPresets: Bool
    /// Whether to report what of the file no output gets.
    public var listsUnread = false
    /// Limits for opening and scanning; `nil` means the slot's usual ones.
    public var limits: Recipe.Limits?

    public init(
        nameHint: String? = nil,
        raw: Recipe.RawDescription? = nil,
        scans: Bool = false,
        measuresLoudness: Bool = false,
        outlinesSound: Bool = false,
        digestsSound: Bool = false,
        silence: SilenceTrim? = nil,
        points: PointRules? = nil,
        fitsPresets: Bool = false,
        limits: Recipe.Limits? = nil
    ) {
        self.nameHint = nameHint
        self.raw = raw
        self.scans = scans
        self.measuresLoudness = measuresLoudness
        self.outlinesSound = outlinesSound
        self.digestsSound = digestsSound
        self.silence = silence
        self.points = points
        self.fitsPresets = fitsPresets
        self.limits = limits
    }
}
