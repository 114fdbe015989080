public import Conversion

/// The result of work in a room.
public enum RoomOutcome<Answer: Sendable & Hashable>: Sendable, Hashable {
    case done(Answer, RoomCost)
    /// The contents of the destinations of a conversion are invalid.
    case failed(RoomFailure)
    /// The room ended, and the work did not cause it. The attempt is not spent, and another room may do the work.
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
