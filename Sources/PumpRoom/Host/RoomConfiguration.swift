public import Conversion

/// The settings of a slot and its rooms, with all defaults.
public struct RoomConfiguration: Sendable, Hashable {
    /// The program to start as a room. The default is the `sluice-room` that belongs to the running program, even if its
    /// file has been replaced.
    public var executable = RoomExecutable.own.startPath
    /// Whether to keep a fork server, which makes later rooms faster than starting the program.
    /// Worthwhile if rooms are replaced.
    public var usesForkServer = true
    /// What happens if a room cannot apply every layer of its lock.
    public var sandbox = RoomSandbox.bestEffort
    /// Address space that a room may use in addition to what the program takes by itself.
    public var memoryLimitBytes: Int64 = 1 << 30
    /// Processor time over the life of a room, after which it ends. Jobs have limits of their own.
    public var cpuLimit = Duration.seconds(7 * 86_400)
    /// The formats that may be read; `nil` for all. Others fail with `unable`, which has the word for them.
    public var formats: Set<SourceFormat>?
    /// The largest size of any output, whatever its recipe says.
    public var outputLimitBytes: Int64 = 1 << 40
    /// Seconds of processor time for opening a source, even where no other limit is set.
    public static let usualOpenSeconds = 10
    /// Limits for recipes that set none. The limits on time are below.
    public var usualLimits = Recipe.Limits(
        outputBytes: 64 << 30,
        decodedSeconds: 7 * 86_400,
        expansionRatio: 2_000,
        cpuSeconds: 86_400,
        openSeconds: RoomConfiguration.usualOpenSeconds
    )
    /// The highest limits that a recipe can get.
    public var highestLimits = Recipe.Limits(decodedSeconds: 31 * 86_400, cpuSeconds: 7 * 86_400)
    /// The number of jobs that a room may hold at once, begun or waiting.
    public var inFlightLimit = 8
    /// A job that takes no frame for this long is stalled. A shorter limit in the recipe takes precedence.
    public var stallLimit = Duration.seconds(60)
    /// The longest that any job may take, whatever its recipe says; `nil` leaves it to the recipes.
    public var wallLimit: Duration?
    /// The lowest accepted speed, in seconds of sound per second; `nil` accepts any. The slot ends a job that has
    /// taken longer than `speedGrace` plus the time that its progress deserves at this speed. The source's size limits
    /// how much of the reported progress counts.
    ///
    /// The default is a quarter, because an honest file on a slow or overloaded machine may
    /// convert more slowly than it plays.
    public var minimumSpeed: Double? = 0.25
    public var speedGrace = Duration.seconds(600)
    /// A room is replaced after this many jobs.
    public var jobsPerRoom = 1_000
    /// A room is replaced when it uses this much more memory than at the end of its first job.
    public var growthLimitBytes: Int64 = 96 << 20
    /// The time after which a room is killed if it was asked to stop and has not.
    public var obedienceLimit = Duration.seconds(5)
    /// The time after which a room that is not ready counts as failed to start.
    public var startLimit = Duration.seconds(30)

    public init() {}

    /// Throws for the first field that has an invalid value.
    public func validate() throws(RoomConfigurationError) {
        func check(_ isAllowed: Bool, _ field: String, _ allowed: String) throws(RoomConfigurationError) {
            guard isAllowed else { throw RoomConfigurationError(field: field, allowed: allowed) }
        }
        try check(!executable.isEmpty && !executable.utf8.contains(0), "executable", "a path")
        try check(memoryLimitBytes >= 64 << 20, "memoryLimitBytes", "64 MiB or more")
        try check(cpuLimit >= .seconds(1), "cpuLimit", "1 s or more")
        try check((1...(1 << 60)).contains(outputLimitBytes), "outputLimitBytes", "1 to 2^60")
        try check((1...64).contains(inFlightLimit), "inFlightLimit", "1 to 64")
        try check(stallLimit > .zero, "stallLimit", "above 0")
        try check(wallLimit ?? .seconds(1) > .zero, "wallLimit", "above 0")
        try check(minimumSpeed.map { $0 > 0 && $0.isFinite } ?? true, "minimumSpeed", "above 0")
        try check(speedGrace > .zero, "speedGrace", "above 0")
        try check(highestLimits.cpuSeconds ?? 1 >= 1, "highestLimits.cpuSeconds", "1 or more")
        try check(jobsPerRoom > 0, "jobsPerRoom", "1 or more")
        try check(growthLimitBytes > 0, "growthLimitBytes", "1 or more")
        try check(obedienceLimit > .zero, "obedienceLimit", "above 0")
        try check(startLimit > .zero, "startLimit", "above 0")
    }

    /// What a job may write between two checks of its budget.
    static let unnoticedBytes: Int64 = 64 << 20

    /// The rules that its rooms apply to themselves.
    var rules: RoomRules {
        RoomRules(
            sandbox: sandbox,
            memoryBytes: memoryLimitBytes,
            cpuSeconds: cpuLimit.components.seconds,
            // Higher than the job's own limit, so that the job reports the excess before the kernel does.
            fileBytes: outputLimitBytes + Self.unnoticedBytes,
            formats: formats
        )
    }

    /// Whether its rooms may not read what has this word in `SourceFormat`.
    func withholds(_ word: String?) -> Bool {
        guard let formats, let word else { return false }
        return Set<SourceFormat>.all.words.contains(word) && !formats.words.contains(word)
    }

    /// The limits of a job whose recipe asks for `wanted`.
    public func limits(for wanted: Recipe.Limits?) -> Recipe.Limits {
        func least<Value: Comparable>(_ field: KeyPath<Recipe.Limits, Value?>) -> Value? {
            let own = wanted?[keyPath: field] ?? usualLimits[keyPath: field]
            return [own, highestLimits[keyPath: field]].compactMap { $0 }.min()
        }
        var limits = Recipe.Limits(
            outputBytes: least(\.outputBytes),
            decodedSeconds: least(\.decodedSeconds),
            expansionRatio: least(\.expansionRatio),
            cpuSeconds: least(\.cpuSeconds),
            wallSeconds: wanted?.wallSeconds,
            stallSeconds: wanted?.stallSeconds,
            concealSeconds: wanted?.concealSeconds,
            openSeconds: least(\.openSeconds)
        )
        limits.outputBytes = min(limits.outputBytes ?? outputLimitBytes, outputLimitBytes)
        return limits
    }

    /// How often the slot checks a watched room: often enough for the shortest limit, and at most as
    /// often as a person would notice.
    var tick: Duration {
        min(.milliseconds(250), max(.milliseconds(10), min(stallLimit, obedienceLimit, startLimit) / 4))
    }
}

/// A setting with an invalid value.
public struct RoomConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    public let field: String
    public let allowed: String

    public var description: String { "\(field) must be \(allowed)" }
}
