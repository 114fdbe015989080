public import FoundationEssentials

/// What `status` shows of a ledger.
public struct LedgerOverview: Sendable {
    /// The server's version of PostgreSQL: `15.20`.
    public let server: String
    public let status: LedgerStatus
    /// The running workers, by name.
    public let workers: [WorkerSummary]
    /// Lanes with waiting jobs that no running worker can do.
    public let unable: [UnableLane]
    public let chores: [ChoreRecord]
    /// Tenants whose jobs wait, because they have used up what they may use.
    public let holds: [TenantHold]
    /// Deliveries that no coordinator sends; `nil` if there are none.
    public let unsent: UnsentDeliveries?
    public let version: LedgerVersion
    /// Whether the caller has the right to resume a queue, which operators have.
    public let mayResumeQueues: Bool
}

/// Deliveries to webhooks that have been due for a minute, while no coordinator looked for any.
public struct UnsentDeliveries: Sendable, Hashable {
    /// 10,000 at most.
    public var count = 0
    /// When the first was due.
    public var since = Date.distantPast

    package init() {}
}

extension UnsentDeliveries: LedgerRecord {
    package static var blank: UnsentDeliveries { UnsentDeliveries() }

    package static let fields: [RecordField<UnsentDeliveries>] = [
        .always("count", \.count, .count, "10,000 at most", column: "deliveries"),
        .always("since", \.since, .moment, "when the first was due"),
    ]
}

extension JobLedger {
    /// Reads everything as it is at one moment, and in one transaction.
    public func overview() async throws -> LedgerOverview {
        try await look("read the status") { connection in
            try connection.transaction(.snapshot) {
                LedgerOverview(
                    server: try connection.serverVersion(),
                    status: try connection.status(schema),
                    workers: try connection.rows("select * from \(schema).list_workers()", WorkerSummary.init(listed:)),
                    unable: try connection.rows("select * from \(schema).list_unable()", UnableLane.init(reading:)),
                    chores: try connection.rows("select * from \(schema).list_chores()", ChoreRecord.init),
                    holds: try connection.rows("select * from \(schema).list_holds()", TenantHold.init(reading:)),
                    unsent: try connection.unsentDeliveries(schema),
                    version: try connection.ledgerVersion(schema),
                    mayResumeQueues: try connection.value(
                        """
                        select coalesce(has_function_privilege(
                            to_regprocedure('\(schema).pause_queue(text, boolean)'), 'execute'), false)
                        """
                    )
                )
            }
        }
    }

    /// Deliveries to webhooks that no coordinator sends; `nil` if there are none.
    public func unsentDeliveries() async throws -> UnsentDeliveries? {
        try await look("look for unsent deliveries") { try $0.unsentDeliveries(schema) }
    }
}

extension Connection {
    fileprivate func unsentDeliveries(_ schema: SchemaName) throws -> UnsentDeliveries? {
        try first("select * from \(schema).unsent_deliveries()", UnsentDeliveries.init(reading:))
    }
}
