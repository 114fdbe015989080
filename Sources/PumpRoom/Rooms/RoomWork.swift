public import Conversion

/// What a pump room is asked to do: one recipe between two open descriptors, and nothing else that it could reach.
public struct RoomWork: Sendable {
    public var recipe: Recipe
    /// Open for reading. Lent until the outcome is there.
    public var source: Int32
    /// A new, empty file, open for reading and writing. Lent until the outcome is there.
    public var destination: Int32
    /// Whether the destination may be a pipe, which headerless PCM and WAV can be written to.
    public var streams: Bool
    /// How large the source is, where that is known: what a job says of its progress earns it no more time than that is worth.
    public var sourceBytes: Int64?
    /// Whether the room ends before the outcome is there: only then nothing can write to the destination any more, where the file
    /// system does not tell of writers.
    public var endsRoom = false

    public init(_ recipe: Recipe, from source: Int32, to destination: Int32, streams: Bool = false) {
        self.recipe = recipe
        self.source = source
        self.destination = destination
        self.streams = streams
    }
}

/// What became of it.
public enum RoomOutcome: Sendable, Hashable {
    case converted(ConversionReport, RoomCost)
    /// What is in the destination is worth nothing.
    case failed(RoomFailure)
    /// Its room went down through no fault of its own: the attempt is not spent, and another room may do it.
    case handedBack
}

/// An attempt that a room could not bring to a good end.
public struct RoomFailure: Sendable, Hashable {
    public var failure: Failure
    /// The last lines that the room said, with control characters escaped.
    public var lastWords: String?
    /// Whether the room died of this work, or had to be killed because of it.
    public var isRoomDeath: Bool
    /// Frames taken from the source, as far as was heard.
    public var frames: Int64?
    public var cost: RoomCost
    /// Time from its beginning to its end, and from the last frame to its end, as far as the slot was awake to watch.
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

/// What work took, as far as is known.
public struct RoomCost: Sendable, Hashable, Codable {
    /// Processor time.
    public var cpu: Duration?
    /// The most memory that the room has had since it started.
    public var peakBytes: Int64?
    /// The room's process, for `RoomSlot.distrust`.
    public var process: Int32?

    public init(cpu: Duration? = nil, peakBytes: Int64? = nil, process: Int32? = nil) {
        self.cpu = cpu
        self.peakBytes = peakBytes
        self.process = process
    }
}
