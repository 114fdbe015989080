public import Conversion
import FoundationEssentials
import Glibc
public import PumpRoom
public import Storage

/// What a worker is told once, when it starts.
public struct WorkerConfiguration: Sendable, Hashable {
    /// For people; the ledger tells two of one name apart.
    public var name = Self.hostName
    /// The version of the binary.
    public var build = "unknown"
    /// Conversions at one time.
    public var slots = Self.cores
    /// The queues to take jobs from; all if empty.
    public var queues: [String] = []
    /// Where sources are read and outputs published.
    public var roots: [RootPlace] = []
    /// Codecs that are left to other workers, beside those that the libraries here cannot write.
    public var codecsToLeave: Set<Codec> = []
    /// How the rooms are treated in which conversions run.
    public var room = RoomConfiguration()
    /// How long a stop leaves for what has begun.
    public var gracePeriod: Duration = .seconds(30)
    /// How long jobs are kept while the ledger does not answer. Shorter than a lease: until the lease is over.
    public var outageLimit: Duration = .seconds(3_600)
    /// How much work to have in hand for each slot.
    public var workAhead: Duration = .seconds(1)
    /// The most outputs that are published together.
    public var groupLimit = 200
    /// The most finished outputs that may wait to be published. Each holds an open file.
    public var unpublishedLimit = 256
    /// Whether it keeps house for the ledger when no other process does.
    public var keepsHouse = true
    /// How old an attempt's file must be to be swept.
    public var sweepAge: Duration = .seconds(600)
    /// How often a folder that is written to is swept.
    public var sweepInterval: Duration = .seconds(1_800)
    /// How long it first waits after it has paused itself; each time twice as long, up to `longestPause`.
    public var firstPause: Duration = .seconds(5)
    public var longestPause: Duration = .seconds(300)

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
            guard isRight else { throw WorkerError(.badConfiguration, during: "read the configuration", rule) }
        }
        try require((1...200).contains(name.utf8.count), "name has 1 to 200 bytes, not \(name.utf8.count)")
        try require((1...1_024).contains(slots), "slots is 1 to 1024, not \(slots)")
        try require(!queues.contains(""), "queues has no empty name")
        try require(Set(roots.map(\.name)).count == roots.count, "roots has each name once")
        do throws(RoomConfigurationError) {
            try room.validate()
        } catch {
            try require(false, "room.\(error)")
        }
        try require(gracePeriod >= .zero, "gracePeriod is not less than 0, as \(gracePeriod) is")
        try require(
            outageLimit >= .zero && outageLimit <= .seconds(2_592_000),
            "outageLimit is 0 to 30 days, not \(outageLimit)"
        )
        try require(workAhead >= .zero && workAhead <= .seconds(60), "workAhead is 0 to 60 s, not \(workAhead)")
        try require((1...1_000).contains(groupLimit), "groupLimit is 1 to 1000, not \(groupLimit)")
        try require(unpublishedLimit >= 1, "unpublishedLimit is at least 1, not \(unpublishedLimit)")
        try require(sweepAge >= .zero, "sweepAge is not less than 0, as \(sweepAge) is")
        try require(sweepInterval > .zero, "sweepInterval is more than 0, not \(sweepInterval)")
        try require(firstPause > .zero, "firstPause is more than 0, not \(firstPause)")
        try require(longestPause >= firstPause, "longestPause is at least firstPause, \(firstPause)")
    }

    /// For how long a job waits for a file system that has been away since `since`: longer the longer that lasts, for each try costs
    /// a claim. The worker calls all of them back as soon as the file system can be used.
    func hold(since: ContinuousClock.Instant) -> Duration {
        min(longestPause, max(firstPause, .now - since)) * Double.random(in: 0.8...1.2)
    }

    /// What this machine calls itself.
    public static var hostName: String {
        var letters = [CChar](repeating: 0, count: 256)
        guard gethostname(&letters, letters.count - 1) == 0 else { return "localhost" }
        let name = String(decoding: letters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? "localhost" : name
    }

    /// The processors that this process may use: a container may have fewer than its machine.
    static var cores: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }
}

/// What a worker could not begin with. What goes wrong later is the jobs', the ledger's or the storage's own.
public struct WorkerError: Error, Sendable, Hashable {
    public enum Code: String, Sendable, Hashable, CaseIterable {
        case badConfiguration = "worker_bad_configuration"
    }

    public var code: Code
    public var operation: String
    public var detail: String

    public init(_ code: Code, during operation: String, _ detail: String) {
        self.code = code
        self.operation = operation
        self.detail = detail
    }
}

extension WorkerError: CustomStringConvertible {
    public var description: String { "\(code.rawValue) (\(operation)): \(detail)" }
}
