public import FoundationEssentials

/// A worker process.
public struct WorkerSummary: Sendable, Hashable {
    public var worker: Int64 = 0
    public var name = ""
    public var host = ""
    public var build = ""
    /// The libraries with which it converts; `nil` for a worker of release 0.1.0.
    public var libraries: String?
    public var slots = 0
    public var abilities: [String] = []
    public var wish = WorkerWish.run
    public var status = WorkerStatus()
    public var startedAt = Date.distantPast
    public var beatAt = Date.distantPast
    public var leaseUntil = Date.distantPast
    public var endedAt: Date?
    public var ending: Ending?
    /// How many jobs it holds.
    public var holds = 0
    /// At how many of them a room works. An older coordinator does not tell.
    public var begun: Int?

    /// How a worker ended.
    public enum Ending: String, Sendable, Hashable, Codable, CaseIterable {
        /// The worker signed off.
        case stopped
        /// The ledger declared it lost.
        case lost
    }

    package init() {}

    /// A row of `list_workers`.
    init(listed row: Row) throws {
        try self.init(reading: row)
        // A worker of another build may send a status in another shape.
        status = (try? (row["status"] as JSON).decoded(during: row.operation)) ?? WorkerStatus()
        // What an ended worker last reported of its work is no longer so.
        if endedAt != nil { status = WorkerStatus(sandbox: status.sandbox) }
    }
}

extension WorkerSummary: LedgerRecord {
    package static var blank: WorkerSummary { WorkerSummary() }

    package static let fields: [RecordField<WorkerSummary>] = [
        .always("id", \.worker, .id, "the worker's number", column: "worker"),
        .always("name", \.name, .text, "the name that it was started with"),
        .always("host", \.host, .text, "its machine"),
        .always("build", \.build, .text, "its version of Sluice"),
        .maybe("libraries", \.libraries, .text, "with which it converts"),
        .always("slots", \.slots, .count, "how many jobs it converts at once"),
        .maybe("busySlots", \.status.busySlots, .count, "slots that are converting, from its last report")
            .withoutColumn,
        .always("jobs", \.holds, .count, "jobs that it holds", column: "holds"),
        .maybe("begunJobs", \.begun, .count, "those of them that a room converts", column: "begun"),
        .always("abilities", \.abilities, .texts, "its capabilities: what it can do"),
        .always("wish", \.wish, .choice, "what an operator asked of it"),
        .maybe("pausedBecause", \.status.pausedBecause, .text, "why it claims nothing, or why roots are disabled")
            .withoutColumn,
        .maybe("pausedRoots", \.status.pausedRoots, .texts, "roots that are disabled on it").withoutColumn,
        .maybe("sandbox", \.status.sandbox, .text, "how its rooms are locked").withoutColumn,
        .maybe("speeds", \.status.paces.ifAny, .records("JobSpeed"), "of each conversion that was measured")
            .withoutColumn,
        .maybe(
            "fullFileSystems",
            \.status.fullFileSystems.ifAny,
            .records("FullFileSystem"),
            "file systems without space, whose jobs it defers"
        ).withoutColumn,
        .maybe(
            "missingFileSystems",
            \.status.missingFileSystems.ifAny,
            .records("MissingFileSystem"),
            "file systems that are not mounted, whose jobs it defers"
        ).withoutColumn,
        .maybe(
            "unwritableRoots",
            \.status.unwritableRoots.ifAny,
            .records("UnwritableRoot"),
            "roots to which its user may not write, whose jobs it defers"
        ).withoutColumn,
        .maybe("uid", \.status.userID, .count, "the number of the user that owns what it writes").withoutColumn,
        .always("startedAt", \.startedAt, .moment, "when it signed on"),
        .always("beatAt", \.beatAt, .moment, "its last heartbeat"),
        .always("leaseUntil", \.leaseUntil, .moment, "when its lease expires without another one"),
        .maybe("endedAt", \.endedAt, .moment, "when it signed off or was declared lost"),
        .maybe("ending", \.ending, .choice, "how it ended", column: "end_reason"),
    ]
}

extension Optional where Wrapped: Collection {
    /// `nil` also for an empty list.
    fileprivate var ifAny: Wrapped? {
        get { self?.isEmpty == true ? nil : self }
        set { self = newValue }
    }
}
