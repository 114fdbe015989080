public import Conversion

/// The result of a conversion.
public enum RoomOutcome: Sendable, Hashable {
    /// A report for each output, in the order of the recipe.
    case converted([ConversionReport], RoomCost)
    /// The contents of the destinations are invalid.
    case failed(RoomFailure)
    /// The room ended, and the job did not cause it. The attempt is not spent, and another room may do the job.
    case handedBack
}

/// The result of a measurement for an album.
public enum RoomMeasureOutcome: Sendable, Hashable {
    case measured(TrackMeasure, RoomCost)
    case failed(RoomFailure)
    /// The room ended, and the job did not cause it.
    case handedBack
}

/// The result of a description.
public enum RoomProbeOutcome: Sendable, Hashable {
    case described(SourceReport, RoomCost)
    case failed(RoomFailure)
    /// The room ended, and the probe did not cause it.
    case handedBack
}

/// An attempt that failed in a room.
public struct RoomFailure: Sendable, Hashable {
    public var failure: Failure
    /// The last lines that the room wrote to standard error, with control characters escaped.
    public var lastWords: String?
    /// Whether the job crashed the room, or the room had to be killed because of the job.
    public var isRoomDeath: Bool
    /// Frames taken from the source, as last reported.
    public var frames: Int64?
    public var cost: RoomCost
    /// From the job's begin to its end, and from its last frame to its end. Counts only time
    /// in which the slot was awake.
    public var elapsed: Duration
    public var quiet: Duration

    public init(
        _ failure: Failure,
        lastWords: String? = nil,
        isRoomDeath: Bool = false,
        frames: Int64? = nil,
        cost: RoomCost = RoomCost(),
        elapsed: Duration = .zero,
        quiet: Duration = .zero
    ) {
        self.failure = failure
        self.lastWords = lastWords
        self.isRoomDeath = isRoomDeath
        self.frames = frames
        self.cost = cost
        self.elapsed = elapsed
        self.quiet = quiet
    }
}

/// What work cost, as far as known.
public struct RoomCost: Sendable, Hashable, Codable {
    /// Processor time.
    public var cpu: Duration?
    /// The peak memory of the room since it started.
    public var peakBytes: Int64?
    /// The room's process, for `RoomSlot.distrust`.
    public var process: Int32?

    public init(cpu: Duration? = nil, peakBytes: Int64? = nil, process: Int32? = nil) {
        self.cpu = cpu
        self.peakBytes = peakBytes
        self.process = process
    }
}

// MARK: - Conversions and probes

/// The result of any work.
enum RoomAnswer: Sendable {
    case converted([ConversionReport], RoomCost)
    case measured(TrackMeasure, RoomCost)
    case described(SourceReport, RoomCost)
    case failed(RoomFailure)
    case handedBack
}

extension RoomMeasureOutcome {
    init(_ answer: RoomAnswer) {
        switch answer {
        case .measured(let measure, let cost): self = .measured(measure, cost)
        case .failed(let failure): self = .failed(failure)
        case .handedBack: self = .handedBack
        case .converted, .described: preconditionFailure("the room rejects an answer to other work")
        }
    }
}

extension RoomOutcome {
    init(_ answer: RoomAnswer) {
        switch answer {
        case .converted(let reports, let cost): self = .converted(reports, cost)
        case .failed(let failure): self = .failed(failure)
        case .handedBack: self = .handedBack
        case .measured, .described: preconditionFailure("the room rejects an answer to other work")
        }
    }
}

extension RoomProbeOutcome {
    init(_ answer: RoomAnswer) {
        switch answer {
        case .described(let report, let cost): self = .described(report, cost)
        case .failed(let failure): self = .failed(failure)
        case .handedBack: self = .handedBack
        case .converted, .measured: preconditionFailure("the room rejects an answer to other work")
        }
    }
}
