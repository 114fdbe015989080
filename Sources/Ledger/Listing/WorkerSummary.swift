public import FoundationEssentials

/// A worker process.
public struct WorkerSummary: Sendable, Hashable {
    public var worker: Int64
    public var name: String
    public var host: String
    public var build: String
    /// The libraries with which it converts; `nil` for a worker of release 0.1.0.
    public var libraries: String?
    public var slots: Int
    public var abilities: [String]
    public var wish: WorkerWish
    public var status: WorkerStatus
    public var startedAt: Date
    public var beatAt: Date
    public var leaseUntil: Date
    public var endedAt: Date?
    public var ending: Ending?
    /// How many jobs it holds.
    public var holds: Int

    /// How a worker ended.
    public enum Ending: String, Sendable, Hashable, Codable {
        /// The worker signed off.
        case stopped
        /// The ledger declared it lost.
        case lost
    }

    init(_ row: Row) throws {
        let ending: String? = try row["end_reason"]
        worker = try row["worker"]
        name = try row["name"]
        host = try row["host"]
        build = try row["build"]
        libraries = try row["libraries"]
        slots = try row["slots"]
        abilities = try row["abilities"]
        wish = try row.value("wish")
        // A worker of another build may send a status in another shape.
        status = (try? (row["status"] as JSON).decoded(during: row.operation)) ?? WorkerStatus()
        startedAt = try row["started_at"]
        beatAt = try row["beat_at"]
        leaseUntil = try row["lease_until"]
        endedAt = try row["ended_at"]
        self.ending = ending == nil ? nil : try row.value("end_reason")
        holds = try row["holds"]
        // What an ended worker last reported of its work is no longer so.
        if endedAt != nil { status = WorkerStatus(sandbox: status.sandbox) }
    }
}
