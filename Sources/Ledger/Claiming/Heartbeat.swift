public import Conversion

/// The heartbeats of a worker process, on a separate connection, so that no other statement delays them.
public struct Heartbeat: Sendable {
    let source: ConnectionSource

    /// Opens no connection yet. Throws `badConfiguration`.
    public init(_ configuration: LedgerConfiguration) throws {
        var configuration = configuration
        configuration.connectionLimit = 1
        // A new beat is worth more than waiting for one that hangs.
        configuration.operationTimeout = min(configuration.operationTimeout, .seconds(5))
        configuration.reachTimeout = min(configuration.reachTimeout, .seconds(5))
        source = try ConnectionSource(configuration)
    }

    /// Renews the lease of the whole worker, stores the progress of its jobs, and returns the ledger's instructions.
    ///
    /// An error does not prove that the lease ended: the worker goes on for as long as its `LeaseClock` allows.
    public func beat(
        _ worker: Int64,
        _ jobs: [RunningJob] = [],
        status: WorkerStatus? = nil,
        within limit: Duration = .seconds(10)
    ) async throws -> BeatReply {
        let status = try status.map { try JSON($0) }
        let schema = source.configuration.schema
        return try await source.settle("beat", within: limit, tryLimit: source.configuration.operationTimeout) {
            connection,
            _ in
            try connection.beat(worker, jobs, status, schema)
        }
    }

    /// Closes the connection.
    public func close() async { await source.close() }
}

extension JobLedger {
    /// Reports that a worker starts some jobs. Uses a connection of this ledger, so heartbeats do not wait for it.
    public func begin(_ jobs: [RunningJob], of worker: Int64, within limit: Duration? = nil) async throws {
        _ = try await settle("begin jobs", within: limit) { connection, _ in
            try connection.beat(worker, jobs, nil, schema)
        }
    }
}

extension Connection {
    fileprivate func beat(
        _ worker: Int64,
        _ jobs: [RunningJob],
        _ status: JSON?,
        _ schema: SchemaName
    ) throws -> BeatReply {
        let sentAt = ContinuousClock.now
        let reply = try first(
            """
            select * from \(schema).beat(
                \(worker), \(WorkerSecrets[worker]),
                \(jobs.map(\.fence.job)), \(jobs.map(\.fence.epoch)), \(jobs.map(\.fence.lease)),
                \(jobs.map(\.frames)), \(jobs.map(\.totalFrames)), \(jobs.map(\.slot)), \(status))
            """
        ) { try BeatReply($0, sentAt: sentAt) }
        guard let reply else { throw failure(.ledgerUnexpectedAnswer, "the server did not answer every heartbeat") }
        return reply
    }
}

/// A job that a worker holds, and its progress.
public struct RunningJob: Sendable, Hashable {
    public var fence: Fence
    /// Frames done; `nil` if unchanged.
    public var frames: Int64?
    /// The total number of frames, if known.
    public var totalFrames: Int64?
    public var slot: Int16?

    public init(_ fence: Fence, frames: Int64? = nil, totalFrames: Int64? = nil, slot: Int16? = nil) {
        self.fence = fence
        self.frames = frames
        self.totalFrames = totalFrames
        self.slot = slot
    }
}

/// The status of a worker, for people.
public struct WorkerStatus: Sendable, Hashable, Codable {
    public var busySlots: Int?
    /// Why the worker itself stopped claiming all jobs, or the jobs of some roots.
    public var pausedBecause: String?
    /// The roots whose jobs the worker does not claim; `nil` if there are none, or if it claims nothing at all.
    public var pausedRoots: [String]?
    /// How strictly its pump rooms are sandboxed, as text.
    public var sandbox: String?
    /// The speed of each conversion that has run long enough to measure.
    public var paces: [JobSpeed]?
    /// Full file systems. The worker postpones jobs that write to them.
    public var fullFileSystems: [FullFileSystem]?
    /// File systems that are no longer mounted. The worker postpones jobs whose files lie there.
    public var missingFileSystems: [MissingFileSystem]?
    /// Roots to which the worker's user may not write. The worker postpones jobs that were denied there.
    public var unwritableRoots: [UnwritableRoot]?
    /// The number of the user that owns what the worker writes.
    public var userID: Int?

    public init(
        busySlots: Int? = nil,
        pausedBecause: String? = nil,
        pausedRoots: [String]? = nil,
        sandbox: String? = nil,
        paces: [JobSpeed]? = nil,
        fullFileSystems: [FullFileSystem]? = nil,
        missingFileSystems: [MissingFileSystem]? = nil,
        unwritableRoots: [UnwritableRoot]? = nil,
        userID: Int? = nil
    ) {
        self.busySlots = busySlots
        self.pausedBecause = pausedBecause
        self.pausedRoots = pausedRoots
        self.sandbox = sandbox
        self.paces = paces
        self.fullFileSystems = fullFileSystems
        self.missingFileSystems = missingFileSystems
        self.unwritableRoots = unwritableRoots
        self.userID = userID
    }
}

/// The speed of a conversion, measured on the worker's clock.
public struct JobSpeed: Sendable, Hashable, Codable {
    public var job: Int64
    /// Seconds of audio per second.
    public var speed: Double
    /// Seconds to go at that speed; `nil` where unknown, for example while the worker verifies the output.
    public var remaining: Double?

    public init(job: Int64, speed: Double, remaining: Double? = nil) {
        self.job = job
        self.speed = speed
        self.remaining = remaining
    }
}

extension JobSpeed: LedgerRecord {
    package static var blank: JobSpeed { JobSpeed(job: 0, speed: 0) }

    package static let fields: [RecordField<JobSpeed>] = [
        .always("job", \.job, .id, "the job's number"),
        .always("speed", \.speed, .number, "seconds of audio per second"),
        .maybe("remaining", \.remaining, .number, "seconds to go at that speed"),
    ]
}

/// What the ledger wants a worker to do.
public enum WorkerWish: String, Sendable, Hashable, Codable, CaseIterable {
    /// Claim and run jobs.
    case run
    /// Claim nothing more.
    case quiet
    /// Claim nothing more, and stop once the worker holds no job.
    case drain
}

/// The ledger's answer to a heartbeat.
public struct BeatReply: Sendable, Hashable {
    /// False if the ledger has ended the worker: it has lost all its jobs, may write nothing, and must register anew.
    public var isAlive: Bool
    public var wish: WorkerWish
    public var leaseLength: Duration
    /// Reported jobs that the worker must stop and then report with `fail` or `release`.
    public var cancelled: [Int64]
    /// Reported jobs that the worker no longer holds: it lost them, or has just finished them.
    public var lost: [Int64]
    /// Queues that are paused: the ledger gives out none of their jobs.
    public var pausedQueues: [String]
    /// A moment before the worker sent the beat.
    public var sentAt: ContinuousClock.Instant

    public init(
        isAlive: Bool,
        wish: WorkerWish = .run,
        leaseLength: Duration,
        cancelled: [Int64] = [],
        lost: [Int64] = [],
        pausedQueues: [String] = [],
        sentAt: ContinuousClock.Instant
    ) {
        self.isAlive = isAlive
        self.wish = wish
        self.leaseLength = leaseLength
        self.cancelled = cancelled
        self.lost = lost
        self.pausedQueues = pausedQueues
        self.sentAt = sentAt
    }

    /// The attempts in `reported` whose jobs this reply lists in `jobs`.
    ///
    /// A job that has ended since the beat may be in hand again, by a claim later than the beat.
    public static func attempts(of jobs: [Int64], among reported: [RunningJob]) -> Set<Fence> {
        let jobs = Set(jobs)
        return Set(reported.lazy.map(\.fence).filter { jobs.contains($0.job) })
    }

    init(_ row: Row, sentAt: ContinuousClock.Instant) throws {
        let isAlive: Bool = try row["alive"]
        self.init(
            isAlive: isAlive,
            // The wish of a worker that has ended means nothing.
            wish: isAlive ? try row.value("wish") : .run,
            leaseLength: .seconds(try row["lease_seconds"] as Double),
            cancelled: try row["cancelled"],
            lost: try row["lost"],
            pausedQueues: try row["paused_queues"],
            sentAt: sentAt
        )
    }
}
