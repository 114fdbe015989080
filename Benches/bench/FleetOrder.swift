import Foundation

/// What one process of the fleet bench simulates, and when it measures.
struct FleetOrder: Codable, Sendable {
    /// The calls that the simulated workers make.
    enum Calls: String, Codable, Sendable {
        /// All that a worker makes: it claims, publishes, finishes, beats, polls and takes its part of the chores.
        case all
        /// Registration and heartbeats only.
        case beats
    }

    var url: String
    /// The number of the first worker, for names and seeds.
    var first: Int
    var workers: Int
    var slots: Int
    /// The mean length of a job.
    var jobSeconds: Double
    var calls: Calls
    /// The time, from the start of the process, over which the workers start.
    var startSeconds: Double
    /// When the measurement begins and ends, in seconds since 1970.
    var from: Double
    var until: Double
}

/// What a process of the fleet bench has measured.
struct FleetTally: Codable, Sendable {
    /// Workers that the ledger has registered, including those that registered again.
    var registrations = 0
    /// Milliseconds of each claim that brought jobs.
    var claims: [Double] = []
    var claimedJobs = 0
    /// Milliseconds of each claim that brought none.
    var emptyClaims: [Double] = []
    var finishedJobs = 0
    var beats = 0
    /// Beats that were answered later than a third of the lease after their planned time, or not at all.
    var lateBeats = 0
    /// The longest time from the plan of a beat to its answer.
    var longestBeatSeconds = 0.0
    var overdueLeases = 0
    var lostLeases = 0
    var failedCalls = 0
    var firstFailure: String?
    /// The sum of the busy slots, and how often they were counted.
    var busySlots = 0
    var slotCounts = 0
    /// Processor time of the simulation itself during the measurement.
    var cpuSeconds = 0.0

    mutating func add(_ other: FleetTally) {
        registrations += other.registrations
        claims += other.claims
        claimedJobs += other.claimedJobs
        emptyClaims += other.emptyClaims
        finishedJobs += other.finishedJobs
        beats += other.beats
        lateBeats += other.lateBeats
        longestBeatSeconds = max(longestBeatSeconds, other.longestBeatSeconds)
        overdueLeases += other.overdueLeases
        lostLeases += other.lostLeases
        failedCalls += other.failedCalls
        firstFailure = firstFailure ?? other.firstFailure
        busySlots += other.busySlots
        slotCounts += other.slotCounts
        cpuSeconds += other.cpuSeconds
    }
}
