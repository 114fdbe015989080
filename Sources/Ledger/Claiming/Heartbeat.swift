public import Conversion

/// The signs of life of a worker process, on a connection of their own: whatever the others wait for, this one does not.
public struct Heartbeat: Sendable {
    let source: ConnectionSource

    /// Opens no connection yet. Throws `badConfiguration`.
    public init(_ configuration: LedgerConfiguration) throws {
        var configuration = configuration
        configuration.connectionLimit = 1
        // A beat that hangs is of less use than the next one.
        configuration.operationTimeout = min(configuration.operationTimeout, .seconds(5))
        configuration.reachTimeout = min(configuration.reachTimeout, .seconds(5))
        source = try ConnectionSource(configuration)
    }

    /// Renews the lease of the whole worker, stores how far its jobs are, and brings back what the ledger has to say.
    ///
    /// An error is no sign of life: the worker goes on for as long as its `LeaseClock` says.
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
    /// Tells that a worker begins some jobs, on a connection of the ledger's own: the signs of life do not wait for it.
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
        guard let reply else { throw failure(.unexpectedAnswer, "the ledger did not answer a beat") }
        return reply
    }
}

/// A job in a worker's hands, and how far it is.
public struct RunningJob: Sendable, Hashable {
    public var fence: Fence
    /// Frames done; `nil` if there is nothing new to say.
    public var frames: Int64?
    /// Frames to do, as far as is known.
    public var totalFrames: Int64?
    public var slot: Int16?

    public init(_ fence: Fence, frames: Int64? = nil, totalFrames: Int64? = nil, slot: Int16? = nil) {
        self.fence = fence
        self.frames = frames
        self.totalFrames = totalFrames
        self.slot = slot
    }
}

/// What a worker says of itself, for people.
public struct WorkerStatus: Sendable, Hashable, Codable {
    public var busySlots: Int?
    /// Why it claims nothing, or no jobs of some roots, if that is its own wish.
    public var pausedBecause: String?
    /// The roots whose jobs it leaves alone; `nil` if that is none, or it claims nothing at all.
    public var pausedRoots: [String]?
    /// How far its pump rooms are locked, in words.
    public var sandbox: String?
    /// How fast its conversions are, of those that have gone far enough to tell.
    public var paces: [JobPace]?
    /// File systems that are full, so that it puts off the jobs that write to them.
    public var fullFileSystems: [FullFileSystem]?
    /// File systems that are no longer mounted, so that it puts off the jobs whose files lie there.
    public var missingFileSystems: [MissingFileSystem]?

    public init(
        busySlots: Int? = nil,
        pausedBecause: String? = nil,
        pausedRoots: [String]? = nil,
        sandbox: String? = nil,
        paces: [JobPace]? = nil,
        fullFileSystems: [FullFileSystem]? = nil,
        missingFileSystems: [MissingFileSystem]? = nil
    ) {
        self.busySlots = busySlots
        self.pausedBecause = pausedBecause
        self.pausedRoots = pausedRoots
        self.sandbox = sandbox
        self.paces = paces
        self.fullFileSystems = fullFileSystems
        self.missingFileSystems = missingFileSystems
    }
}

/// How fast a conversion is, by its worker's own clock.
public struct JobPace: Sendable, Hashable, Codable {
    public var job: Int64
    /// Seconds of sound per second.
    public var speed: Double
    /// Seconds to go at that speed; `nil` where that is not known, as while the output is verified.
    public var remaining: Double?

    public init(job: Int64, speed: Double, remaining: Double? = nil) {
        self.job = job
        self.speed = speed
        self.remaining = remaining
    }
}

/// What a worker is asked to do.
public enum WorkerWish: String, Sendable, Hashable, Codable, CaseIterable {
    /// Claim and work.
    case run
    /// Claim nothing more.
    case quiet
    /// Claim nothing more, and stop once nothing is in hand.
    case drain
}

/// What the ledger answers to a sign of life.
public struct BeatReply: Sendable, Hashable {
    /// False if the ledger has ended the worker: everything is lost, nothing may be written, and it registers anew.
    public var isAlive: Bool
    public var wish: WorkerWish
    public var leaseLength: Duration
    /// Of the jobs told of, those to be stopped and then reported with `fail` or `release`.
    public var cancelled: [Int64]
    /// Of the jobs told of, those that the worker has no right to any more, or has finished itself just now.
    public var lost: [Int64]
    /// Queues of which nothing is given out.
    public var pausedQueues: [String]
    /// A moment before the beat was sent.
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

    /// The attempts that `jobs` of this reply speaks of. A job that has ended meanwhile may be in hand again, by a claim that
    /// the beat knew nothing of.
    public static func attempts(of jobs: [Int64], among told: [RunningJob]) -> Set<Fence> {
        let jobs = Set(jobs)
        return Set(told.lazy.map(\.fence).filter { jobs.contains($0.job) })
    }

    init(_ row: Row, sentAt: ContinuousClock.Instant) throws {
        let isAlive: Bool = try row["alive"]
        self.init(
            isAlive: isAlive,
            // A worker that has been ended is asked nothing any more.
            wish: isAlive ? try row.value("wish") : .run,
            leaseLength: .seconds(try row["lease_seconds"] as Double),
            cancelled: try row["cancelled"],
            lost: try row["lost"],
            pausedQueues: try row["paused_queues"],
            sentAt: sentAt
        )
    }
}
