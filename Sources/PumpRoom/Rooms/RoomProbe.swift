public import Conversion

/// A request to describe the file behind one open descriptor.
public struct RoomProbe: Sendable {
    /// Open for reading. Lent until the outcome is returned.
    public var source: Int32
    /// A file name whose extension helps with formats that have no signature.
    public var nameHint: String?
    /// The sample format of headerless PCM.
    public var raw: Recipe.RawDescription?
    /// Whether to decode the main track to its end as well.
    public var scans: Bool
    /// Whether to report what each preset would make of the main track.
    public var fitsPresets: Bool
    /// Limits for opening and scanning; `nil` means the slot's usual ones.
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

/// The result of a `RoomProbe`.
public enum RoomProbeOutcome: Sendable, Hashable {
    case described(SourceReport, RoomCost)
    case failed(RoomFailure)
    /// The room ended, and the probe did not cause it.
    case handedBack
}

/// The request behind a job: a conversion or a probe.
enum RoomErrand: Sendable {
    case convert(RoomWork)
    case probe(RoomProbe)

    var descriptors: [Int32] {
        switch self {
        case .convert(let work): [work.source, work.destination]
        case .probe(let probe): [probe.source]
        }
    }

    /// The message to the room, without paths.
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

/// The result of any request.
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
