public import Conversion
import FoundationEssentials
import Glibc
import ObjectStorage
public import PumpRoom
public import Storage
import WorkerRules

/// A worker's settings, fixed when it starts.
public struct WorkerConfiguration: Sendable, Hashable {
    /// A name for display; need not be unique.
    public var name = Self.hostName
    /// The version of the binary.
    public var build = "unknown"
    /// The number of simultaneous conversions.
    public var slots = Self.cores
    /// The queues to take jobs from; all if empty.
    public var queues: [String] = []
    /// The folders in which the worker reads sources and publishes outputs.
    public var roots: [RootPlace] = []
    /// The roots that are no folders, in which the worker reads sources.
    package var objectRoots: [ObjectRoot] = []
    /// Codecs to leave to other workers, in addition to those that the libraries here cannot write.
    public var codecsToLeave: Set<Codec> = []
    /// Settings of the rooms in which conversions run.
    public var room = RoomConfiguration()
    /// The libraries of its rooms; with `nil`, the worker asks the program of the rooms.
    public var libraries: RoomLibraries?
    /// How often to report that the worker makes progress.
    public var pulseInterval: Duration = .seconds(5)
    /// How long running jobs may go on after a stop.
    public var gracePeriod: Duration = .seconds(30)
    /// How long the worker keeps its jobs while the ledger does not answer. If this is shorter than a lease, it
    /// keeps them until the lease ends.
    public var outageLimit: Duration = .seconds(3_600)
    /// Whether the worker ends by itself once it holds no job and a claim has found none.
    public var endsWhenIdle = false
    /// How much work to claim ahead for each slot.
    public var workAhead: Duration = .seconds(1)
    /// The largest number of outputs published together.
    public var groupLimit = 200
    /// The largest number of finished outputs that may wait to be published. Each holds an open file.
    public var unpublishedLimit = 256
    /// Whether the worker does the ledger's housekeeping when no other process does.
    public var keepsHouse = true
    /// The age from which an attempt's file may be swept.
    public var sweepAge: Duration = .seconds(600)
    /// How often to sweep a folder that the worker writes to.
    public var sweepInterval: Duration = .seconds(1_800)
    /// How long the worker waits after it has paused itself. The wait doubles each time, up to `longestPause`.
    public var firstPause: Duration = .seconds(5)
    public var longestPause: Duration = .seconds(300)
    /// How long the file system of a root may take to answer before the worker sets the root aside.
    public var silenceLimit: Duration = .seconds(10)
    /// How long a call to a root's files may take, without going on, before the worker sets the root aside although its
    /// file system answers. Longer than a slow disk takes to flush what the kernel keeps in memory.
    public var callLimit: Duration = .seconds(900)

    public init() {}

    /// A root's name and the folder that it stands for on this machine.
    public struct RootPlace: Sendable, Hashable {
        public var name: String
        public var path: String
        public var rules: RootRules

        public init(name: String, path: String, rules: RootRules = RootRules()) {
            self.name = name
            self.path = path
            self.rules = rules
        }
    }

    /// Throws `badConfiguration` with the field and the limit that it breaks.
    public func validate() throws(WorkerError) {
        func require(_ isRight: Bool, _ rule: String) throws(WorkerError) {
            guard isRight else { throw WorkerError(during: "read the configuration", rule) }
        }
        try require((1...200).contains(name.utf8.count), "name must have 1 to 200 bytes, not \(name.utf8.count)")
        try require((1...1_024).contains(slots), "slots must be 1 to 1024, not \(slots)")
        try require(!queues.contains(""), "queues must not contain an empty name")
        let names = namesOfRoots
        try require(Set(names).count == names.count, "the names of roots must be unique")
        do throws(RoomConfigurationError) {
            try room.validate()
        } catch {
            try require(false, "room.\(error)")
        }
        try require(gracePeriod >= .zero, "gracePeriod must be at least 0, not \(gracePeriod)")
        try require(pulseInterval > .zero, "pulseInterval must be more than 0, not \(pulseInterval)")
        try require(
            outageLimit >= .zero && outageLimit <= .seconds(2_592_000),
            "outageLimit must be 0 to 30 days, not \(outageLimit)"
        )
        try require(workAhead >= .zero && workAhead <= .seconds(60), "workAhead must be 0 to 60 s, not \(workAhead)")
        try require((1...1_000).contains(groupLimit), "groupLimit must be 1 to 1000, not \(groupLimit)")
        try require(unpublishedLimit >= 1, "unpublishedLimit must be at least 1, not \(unpublishedLimit)")
        try require(sweepAge >= .zero, "sweepAge must be at least 0, not \(sweepAge)")
        try require(sweepInterval > .zero, "sweepInterval must be more than 0, not \(sweepInterval)")
        try require(firstPause > .zero, "firstPause must be more than 0, not \(firstPause)")
        try require(silenceLimit > .zero, "silenceLimit must be more than 0, not \(silenceLimit)")
        try require(callLimit > .zero, "callLimit must be more than 0, not \(callLimit)")
        try require(longestPause >= firstPause, "longestPause must be at least firstPause, which is \(firstPause)")
    }

    /// Of all roots.
    private var namesOfRoots: [String] { roots.map(\.name) + objectRoots.map(\.name) }

    /// All roots, for people.
    var placesOfRoots: [RootPlace] {
        var rules = RootRules()
        rules.mayWrite = false
        return roots + objectRoots.map { RootPlace(name: $0.name, path: $0.text, rules: rules) }
    }

    /// The codecs that this worker writes.
    var codecs: Set<Codec> { Set(libraries?.writableCodecs ?? []).subtracting(codecsToLeave) }

    /// Jobs that one slot works on at once while jobs are short: one converts, the others are being prepared.
    static let pipelinesPerSlot = 3

    /// The settings that the worker's decisions depend on.
    var rules: WorkerSettings {
        WorkerSettings(
            slots: slots,
            pipelinesPerSlot: Self.pipelinesPerSlot,
            workAhead: workAhead,
            unpublishedLimit: unpublishedLimit,
            groupLimit: groupLimit,
            outageLimit: outageLimit,
            firstPause: firstPause,
            longestPause: longestPause,
            roots: namesOfRoots,
            codecs: codecs,
            formats: room.formats ?? .all,
            libav: libraries?.codecMajor ?? 0,
            endsWhenIdle: endsWhenIdle,
            seed: .random(in: .min ... .max)
        )
    }

    /// How long a job waits for a file system that has been unavailable since `since`. The wait grows with the outage,
    /// because each try costs a claim. The worker recalls all such jobs as soon as the file system can be used.
    func hold(since: ContinuousClock.Instant) -> Duration {
        min(longestPause, max(firstPause, .now - since)) * Double.random(in: 0.8...1.2)
    }

    /// The host name of this machine.
    public static var hostName: String {
        var letters = [CChar](repeating: 0, count: 256)
        guard gethostname(&letters, letters.count - 1) == 0 else { return "localhost" }
        let name = String(decoding: letters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? "localhost" : name
    }

    /// The processors that this process may use; a container may have fewer than the machine.
    static var cores: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }
}

/// An error that keeps a worker from starting. Later errors belong to jobs, the ledger or the storage.
public struct WorkerError: Error, Sendable, Hashable {
    public var operation: String
    public var detail: String

    public init(during operation: String, _ detail: String) {
        self.operation = operation
        self.detail = detail
    }
}

extension WorkerError: CustomStringConvertible {
    public var description: String { "cannot \(operation): \(detail)" }
}
