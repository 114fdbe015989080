public import Conversion

/// What a caller asks of a room: a conversion, or a description of a file.
///
/// The room gets open descriptors and nothing else. They are lent until the outcome is returned.
public struct RoomWork: Sendable {
    enum Kind: Sendable {
        /// With `streams`, the only destination may be a pipe, which only headerless PCM and WAV support.
        case convert(Recipe, destinations: [Int32], streams: Bool)
        case measure(Recipe)
        case probe(ProbeOptions)
    }

    let kind: Kind
    /// Open for reading, in the order of the recipe.
    let sources: [Int32]
    /// The size of the sources together, if known. It caps the time that a job can earn by reporting progress. Without it
    /// the slot's thread asks the file system for the size, which must answer.
    public var sourceBytes: Int64?
    /// Whether the room must end before the outcome is returned. On file systems that do not report writers, only
    /// this ensures that no process can still write to the destination.
    public var endsRoom = false
    /// For whom the room works. A room that has worked for one party never works for another.
    public var party: String?
    /// How loud the album is that the recipe refers to.
    public var album: AlbumLoudness?

    /// Converts `source` to `destination`, a new, empty file that is open for reading and writing. With `streams`,
    /// `destination` may be a pipe instead.
    public init(_ recipe: Recipe, from source: Int32, to destination: Int32, streams: Bool = false) {
        self.init(recipe, from: [source], to: destination, streams: streams)
    }

    /// The same for a recipe with several sources.
    public init(_ recipe: Recipe, from sources: [Int32], to destination: Int32, streams: Bool = false) {
        self.init(recipe, from: sources, to: [destination], streams: streams)
    }

    /// The same for a recipe with several outputs, each with a destination.
    public init(_ recipe: Recipe, from sources: [Int32], to destinations: [Int32], streams: Bool = false) {
        kind = .convert(recipe, destinations: destinations, streams: streams)
        self.sources = sources
    }

    /// Measures what a conversion of `recipe` would encode, for its album.
    init(measuring recipe: Recipe, from sources: [Int32], sourceBytes: Int64? = nil) {
        kind = .measure(recipe)
        self.sources = sources
        self.sourceBytes = sourceBytes
    }

    /// Describes the file behind `source`.
    init(probing source: Int32, _ options: ProbeOptions) {
        kind = .probe(options)
        sources = [source]
    }

    /// The descriptors that go to the room, in the order in which it expects them.
    var descriptors: [Int32] {
        switch kind {
        case .convert(_, let destinations, _): sources + destinations
        case .measure, .probe: sources
        }
    }

    /// The number of outputs, each of which the room must report on.
    var outputCount: Int {
        switch kind {
        case .convert(_, let destinations, _): destinations.count
        case .measure, .probe: 0
        }
    }

    /// Why the outputs of the recipe do not fit its destinations; `nil` if they do.
    var mistakeInOutputs: String? {
        guard case .convert(let recipe, let destinations, _) = kind, recipe.outputs.count != destinations.count else {
            return nil
        }
        let outputs = Plural.count(recipe.outputs.count, "output")
        return "the recipe has \(outputs), but there is room for \(destinations.count)"
    }

    var limits: Recipe.Limits? {
        switch kind {
        case .convert(let recipe, _, _), .measure(let recipe): recipe.limits
        case .probe(let options): options.limits
        }
    }

    /// How often it reads its sources before it writes anything: to find silence, to measure, to describe in tags.
    var earlyPasses: Int {
        switch kind {
        case .convert(let recipe, _, _), .measure(let recipe): recipe.earlyPasses
        case .probe: 0
        }
    }

    /// The highest figures that it can report, within the limits that the room was given.
    func bounds(_ limits: Recipe.Limits) -> JobBounds {
        switch kind {
        case .convert(let recipe, _, _) where recipe.timeline != nil, .measure(let recipe) where recipe.timeline != nil:
            JobBounds(limits, source: nil)
        case .convert, .measure, .probe: JobBounds(limits, source: sources[0], byteCount: sourceBytes)
        }
    }

    /// The message to the room, without paths.
    func request(job: Int64, _ configuration: RoomConfiguration) -> RoomRequest {
        switch kind {
        case .convert(let recipe, _, let streams):
            return .convert(job: job, recipe: sent(recipe, configuration), streams: streams, album: album)
        case .measure(let recipe): return .measure(job: job, recipe: sent(recipe, configuration))
        case .probe(var options):
            options.nameHint = options.nameHint.map { Recipe.placeless($0, "source") }
            options.limits = configuration.limits(for: options.limits)
            return .probe(job: job, options)
        }
    }

    private func sent(_ recipe: Recipe, _ configuration: RoomConfiguration) -> Recipe {
        var recipe = recipe.withoutPlaces
        recipe.limits = configuration.limits(for: recipe.limits)
        return recipe
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
    /// The silence to find between the sounds of the main track, which decodes it to its end, too; `nil` for none.
    public var silence: SilenceTrim?
    /// Whether to report what each preset would make of the main track.
    public var fitsPresets: Bool
    /// Limits for opening and scanning; `nil` means the slot's usual ones.
    public var limits: Recipe.Limits?

    public init(
        nameHint: String? = nil,
        raw: Recipe.RawDescription? = nil,
        scans: Bool = false,
        measuresLoudness: Bool = false,
        silence: SilenceTrim? = nil,
        fitsPresets: Bool = false,
        limits: Recipe.Limits? = nil
    ) {
        self.nameHint = nameHint
        self.raw = raw
        self.scans = scans
        self.measuresLoudness = measuresLoudness
        self.silence = silence
        self.fitsPresets = fitsPresets
        self.limits = limits
    }
}
