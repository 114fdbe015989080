public import Conversion

/// What a pump room is asked to look at: what is behind one open descriptor.
public struct RoomProbe: Sendable {
    /// Open for reading. Lent until the outcome is there.
    public var source: Int32
    /// A file name whose extension helps with formats that have no signature.
    public var nameHint: String?
    /// The shape of headerless PCM.
    public var raw: Recipe.RawDescription?
    /// Whether the main track is decoded to its end too.
    public var scans: Bool
    /// Whether it is told what each preset would make of the main track.
    public var fitsPresets: Bool
    /// What a scan may take; `nil` leaves it to the slot.
    public var limits: Recipe.Limits?

    public init(
        _ source: Int32,
        nameHint: String? = nil,
        raw: Recipe.RawDescription? = nil,
        scans: Bool = false,
        fitsPresets: Bool = false,
        limits: Recipe.Limits? = nil
    ) {
        self.source = source
        self.nameHint = nameHint
        self.raw = raw
        self.scans = scans
        self.fitsPresets = fitsPresets
        self.limits = limits
    }
}

/// What became of it.
public enum RoomProbeOutcome: Sendable, Hashable {
    case described(SourceReport, RoomCost)
    case failed(RoomFailure)
    /// Its room went down through no fault of its own.
    case handedBack
}

/// Whatever a room can be asked to do.
enum RoomErrand: Sendable {
    case convert(RoomWork)
    case probe(RoomProbe)

    var descriptors: [Int32] {
        switch self {
        case .convert(let work): [work.source, work.destination]
        case .probe(let probe): [probe.source]
        }
    }

    /// As it is said to the room: without a word of where anything lies.
    func request(job: Int64, _ configuration: RoomConfiguration) -> RoomRequest {
        switch self {
        case .convert(let work):
            var recipe = work.recipe.withoutPlaces
            recipe.limits = configuration.limits(for: recipe.limits)
            return .convert(job: job, recipe: recipe, streams: work.streams)
        case .probe(let probe):
            return .probe(
                job: job,
                ProbeRequest(
                    nameHint: probe.nameHint.map { Recipe.placeless($0, "source") },
                    raw: probe.raw,
                    limits: configuration.limits(for: probe.limits),
                    scans: probe.scans,
                    fitsPresets: probe.fitsPresets
                )
            )
        }
    }

    var limits: Recipe.Limits? {
        switch self {
        case .convert(let work): work.recipe.limits
        case .probe(let probe): probe.limits
        }
    }

    var sourceBytes: Int64? {
        guard case .convert(let work) = self else { return nil }
        return work.sourceBytes
    }

    var endsRoom: Bool {
        guard case .convert(let work) = self else { return false }
        return work.endsRoom
    }
}

/// What came of any errand.
enum RoomAnswer: Sendable {
    case converted(ConversionReport, RoomCost)
    case described(SourceReport, RoomCost)
    case failed(RoomFailure)
    case handedBack
}

extension RoomOutcome {
    init(_ answer: RoomAnswer) {
        switch answer {
        case .converted(let report, let cost): self = .converted(report, cost)
        case .failed(let failure): self = .failed(failure)
        case .handedBack: self = .handedBack
        case .described: preconditionFailure("a room's answer is held to what was asked of it")
        }
    }
}

extension RoomProbeOutcome {
    init(_ answer: RoomAnswer) {
        switch answer {
        case .described(let report, let cost): self = .described(report, cost)
        case .failed(let failure): self = .failed(failure)
        case .handedBack: self = .handedBack
        case .converted: preconditionFailure("a room's answer is held to what was asked of it")
        }
    }
}
