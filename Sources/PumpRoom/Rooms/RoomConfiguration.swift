public import Conversion

/// How a slot treats its rooms. Every default stands here.
public struct RoomConfiguration: Sendable, Hashable {
    /// The program that is started as a room, with the word `pump-room`: this one itself, also after its file was replaced.
    public var executable = "/proc/self/exe"
    /// Whether a process stays behind that later rooms are made of, sooner than the program starts. Pays where rooms are replaced.
    public var keepsNursery = true
    /// What happens where a room cannot lock itself whole.
    public var sandbox = RoomSandbox.bestEffort
    /// Memory that a room may take beyond what the program has by itself, as address space.
    public var memoryLimitBytes: Int64 = 1 << 30
    /// Processor time after which a room is ended, whatever it does. Jobs have limits of their own.
    public var cpuLimit = Duration.seconds(7 * 86_400)
    /// No output becomes larger, whatever its recipe says.
    public var outputLimitBytes: Int64 = 1 << 40
    /// Seconds of processor time that opening a source may take, also where nothing else is limited.
    public static let usualOpenSeconds = 10
    /// For recipes that do not say otherwise. Time has limits of its own below.
    public var usualLimits = Recipe.Limits(
        outputBytes: 64 << 30,
        decodedSeconds: 7 * 86_400,
        expansionRatio: 2_000,
        cpuSeconds: 86_400,
        openSeconds: RoomConfiguration.usualOpenSeconds
    )
    /// No recipe gets more.
    public var highestLimits = Recipe.Limits(decodedSeconds: 31 * 86_400, cpuSeconds: 7 * 86_400)
    /// Jobs that a room is given before the first of them has ended.
    public var inFlightLimit = 8
    /// A job that takes no frame for so long is hung. A recipe's own limit counts where it is shorter.
    public var stallLimit = Duration.seconds(60)
    /// No job takes longer, whatever its recipe says; `nil` leaves it to the recipes.
    public var wallLimit: Duration?
    /// A job that is slower than this is ended once `paceGrace` and the time that the pace gives it are over. 1 is a second of
    /// sound in a second; `nil` takes any pace. What a room says of its progress counts for no more than the source's size allows.
    ///
    /// A quarter, since an honest file on a slow or overloaded machine may be slower than it plays.
    public var slowestPace: Double? = 0.25
    public var paceGrace = Duration.seconds(600)
    /// A room is replaced after so many jobs.
    public var jobsPerRoom = 1_000
    /// A room is replaced when it has so much more memory than at the end of its first job.
    public var growthLimitBytes: Int64 = 96 << 20
    /// A room that has been asked to stop and does not, is killed after so long.
    public var obedienceLimit = Duration.seconds(5)
    /// A room that is not ready after so long has failed to start.
    public var startLimit = Duration.seconds(30)

    public init() {}

    /// Throws for the first field that no slot could work with.
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
        try check(slowestPace.map { $0 > 0 && $0.isFinite } ?? true, "slowestPace", "above 0")
        try check(paceGrace > .zero, "paceGrace", "above 0")
        try check(highestLimits.cpuSeconds ?? 1 >= 1, "highestLimits.cpuSeconds", "1 or more")
        try check(jobsPerRoom > 0, "jobsPerRoom", "1 or more")
        try check(growthLimitBytes > 0, "growthLimitBytes", "1 or more")
        try check(obedienceLimit > .zero, "obedienceLimit", "above 0")
        try check(startLimit > .zero, "startLimit", "above 0")
    }

    /// What may be written between two looks at a job's budget.
    static let unnoticedBytes: Int64 = 64 << 20

    /// What its rooms are told.
    var rules: RoomRules {
        RoomRules(
            sandbox: sandbox,
            memoryBytes: memoryLimitBytes,
            cpuSeconds: cpuLimit.components.seconds,
            // Beyond what a job is told, so that it is the job that notices.
            fileBytes: outputLimitBytes + Self.unnoticedBytes
        )
    }

    /// What a job may use whose recipe says `wanted`.
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

    /// How often a watched room is looked at: often enough for the shortest limit, and no more often than eyes need.
    var tick: Duration {
        min(.milliseconds(250), max(.milliseconds(10), min(stallLimit, obedienceLimit, startLimit) / 4))
    }
}

/// A setting that no slot could work with.
public struct RoomConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    public let field: String
    public let allowed: String

    public var description: String { "\(field): allowed is \(allowed)" }
}
