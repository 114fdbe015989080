public import FoundationEssentials

/// An address to which coordinators send events.
public struct Webhook: Sendable, Hashable {
    /// What a webhook can be told.
    public enum Event: String, Sendable, Hashable, Codable, CaseIterable {
        /// All jobs of a batch have ended. After a retry, this happens again.
        case batchEnded = "batch.ended"
        /// Too many jobs fail.
        case failuresHigh = "failures.high"
        case workerLost = "worker.lost"
        /// The ledger works again after an outage, or after a time in which no process did the housekeeping.
        case ledgerRecovered = "ledger.recovered"
    }

    /// The batches that it is told about.
    public enum Scope: Sendable, Hashable {
        /// All, and what concerns no batch. For operators.
        case all
        /// Those of a submitter, such as `tenant:radio`; `nil` when it is created: those of the caller.
        case submitter(String?)
        case queue(String)
        case batch(Int64)
    }

    public let id: Int32
    /// By which submissions name it.
    public let name: String?
    /// The host alone, without the path, if the caller may name the webhook but not see it.
    public let url: String
    public let events: [Event]
    public let submitter: String?
    public let batch: Int64?
    public let queue: String?
    /// Whether it is told only about batches whose submissions name it.
    public let onNotify: Bool
    /// `failuresHigh` is sent when this share of the jobs that end has failed.
    public let failurePercent: Int
    public let createdAt: Date
    public let createdBy: String
    /// How many requests in a row it has not taken.
    public let failures: Int
    /// How many events it did not get because too many others waited.
    public let skipped: Int
    /// Deliveries that wait, and dead ones; each up to 10,000.
    public let waiting: Int
    public let dead: Int
    public let deliveredAt: Date?

    init(_ row: Row) throws {
        id = try row["webhook"]
        name = try row["name"]
        url = try row["url"]
        // A ledger of a later release may have more.
        events = try (row["events"] as [String]).compactMap(Event.init)
        (submitter, batch) = (try row["submitter"], try row["batch"])
        (queue, onNotify) = (try row["queue"], try row["on_notify"])
        failurePercent = try row["failure_percent"]
        createdAt = try row["created_at"]
        createdBy = try row["created_by"]
        failures = try row["failures"]
        (skipped, waiting, dead) = (try row["skipped"], try row["waiting"], try row["dead"])
        deliveredAt = try row["delivered_at"]
    }
}

/// One event on its way to one webhook, or arrived there.
public struct WebhookDelivery: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It will be sent, or sent again.
        case waiting
        case delivered
        /// It was tried for about a day.
        case dead
    }

    public let id: Int64
    /// Stays the same when it is sent again.
    public let message: String
    public let webhook: Int32
    public let event: String
    public let state: State
    public let attempts: Int
    public let createdAt: Date
    /// When it is sent next; `nil` if it has ended.
    public let dueAt: Date?
    public let triedAt: Date?
    public let endedAt: Date?
    /// Of the last answer.
    public let status: Int?
    /// What went wrong at the last attempt.
    public let error: String?

    init(_ row: Row) throws {
        (id, message, webhook) = (try row["delivery"], try row["message"], try row["webhook"])
        event = try row["event"]
        state = try row.value("state")
        attempts = try row["attempts"]
        (createdAt, dueAt, triedAt, endedAt) = (
            try row["created_at"], try row["due_at"], try row["tried_at"], try row["ended_at"]
        )
        status = try row["status"]
        error = try row["error"]
    }
}

/// A delivery that a coordinator has taken and must send.
public struct TakenDelivery: Sendable {
    public let id: Int64
    public let message: String
    public let webhook: Int32
    public let url: String
    public let secret: WebhookSecret
    /// From 1.
    public let attempt: Int
    public let lease: UUID
    public let body: String
    /// Whether the webhook did not take the last request.
    public let fails: Bool
    /// Whether a tenant has created the webhook.
    public let isOfTenant: Bool

    init(_ row: Row) throws {
        (id, message, webhook) = (try row["delivery"], try row["message"], try row["webhook"])
        url = try row["url"]
        secret = WebhookSecret(bytes: Array(try row["secret"] as Data))
        attempt = try row["attempt"]
        (lease, body) = (try row["lease"], try row["body"])
        (fails, isOfTenant) = (try row["fails"], try row["by_tenant"])
    }
}
