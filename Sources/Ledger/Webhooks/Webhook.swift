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

    public var id: Int32 = 0
    /// By which submissions name it.
    public var name: String?
    /// The host alone, without the path, if the caller may name the webhook but not see it.
    public var url = ""
    public var events: [Event] = []
    public var submitter: String?
    public var batch: Int64?
    public var queue: String?
    /// Whether it is told only about batches whose submissions name it.
    public var onNotify = false
    /// `failuresHigh` is sent when this share of the jobs that end has failed.
    public var failurePercent = 0
    public var createdAt = Date.distantPast
    public var createdBy = ""
    /// How many requests in a row it has not taken.
    public var failures = 0
    /// How many events it did not get because too many others waited.
    public var skipped = 0
    /// Deliveries that wait, and dead ones; each up to 10,000.
    public var waiting = 0
    public var dead = 0
    public var deliveredAt: Date?

    package init() {}

    /// Whether submissions may name it.
    package var mayBeNamed: Bool { batch == nil }

    package func isNamed(_ word: String) -> Bool { mayBeNamed && (name == word || "\(id)" == word) }
}

extension Webhook: LedgerRecord, ListedRecord {
    package static let listName = "webhooks"
    package static var blank: Webhook { Webhook() }

    package static let fields: [RecordField<Webhook>] = [
        .always("id", \.id, .id, "its number", column: "webhook"),
        .maybe("name", \.name, .text, "by which submissions name it"),
        .always("url", \.url, .text, "of webhooks that the caller may only name, the host"),
        .always("events", \.events, .known(), "the types of events that it gets"),
        .maybe("submitter", \.submitter, .text, "whose batches; missing: all"),
        .maybe("batch", \.batch, .id, "the only batch"),
        .maybe("queue", \.queue, .text, "the only queue"),
        .always("onNotify", \.onNotify, .truth, "whether it is notified only about batches whose submissions name it"),
        .always(
            "failurePercent",
            \.failurePercent,
            .chosen(in: LedgerRules.failurePercents),
            "from which share of failures failures.high is sent"
        ),
        .always("createdAt", \.createdAt, .moment, "when it was created"),
        .always("createdBy", \.createdBy, .text, "who created it"),
        .always("failures", \.failures, .count, "requests in a row that it has not taken"),
        .always("skipped", \.skipped, .count, "events that it did not get because too many deliveries waited"),
        .always("waiting", \.waiting, .count, "deliveries that wait, up to 10,000"),
        .always("dead", \.dead, .count, "deliveries that were given up, up to 10,000"),
        .maybe("deliveredAt", \.deliveredAt, .moment, "when it last took a request"),
    ]
}

/// What a new webhook is to be, as its creator says.
public struct NewWebhook: Sendable, Hashable {
    public var url: String
    public var scope: Webhook.Scope
    /// `nil`: all that there are in its scope.
    public var events: [Webhook.Event]?
    public var failurePercent: Int
    public var name: String?
    /// Whether it is told only about batches whose submissions name it.
    public var onNotify: Bool

    public init(
        at url: String,
        for scope: Webhook.Scope,
        events: [Webhook.Event]? = nil,
        failurePercent: Int = 10,
        named name: String? = nil,
        onNotify: Bool = false
    ) {
        (self.url, self.scope, self.events) = (url, scope, events)
        (self.failurePercent, self.name, self.onNotify) = (failurePercent, name, onNotify)
    }
}

/// The body of the request that creates it.
extension NewWebhook: LedgerRecord {
    package static var blank: NewWebhook { NewWebhook(at: "", for: .all) }

    /// The members of which a request has one at most.
    package static let scopes = ["batch", "own", "tenant", "queue"]

    package static let fields: [RecordField<NewWebhook>] = [
        .always("url", \.url, .text(1...2_000), "where to send events"),
        .maybe("events", \.events, .known(most: 10), "without it, all"),
        scope("batch", .id, "only for this batch") { webhook in
            if case .batch(let batch) = webhook.scope { batch } else { nil }
        } read: {
            // The ledger knows which batches there are.
            .batch(try $0.decode(Int64.self, forKey: $1))
        },
        scope("own", .truth, "only for the batches that the caller submits") { webhook in
            webhook.scope == .submitter(nil) ? true : nil
        } read: {
            try $0.decode(Bool.self, forKey: $1) ? .submitter(nil) : .all
        },
        scope("tenant", .name(LedgerRules.tenantName), "only for the batches of this tenant") { webhook in
            if case .submitter(let name?) = webhook.scope { String(name.dropFirst("tenant:".count)) } else { nil }
        } read: {
            .submitter("tenant:" + (try $0.decode(String.self, forKey: $1)))
        },
        scope("queue", .name(LedgerRules.queueName), "only for the batches in this queue") { webhook in
            if case .queue(let queue) = webhook.scope { queue } else { nil }
        } read: {
            .queue(try $0.decode(String.self, forKey: $1))
        },
        .maybe("name", \.name, .name(LedgerRules.webhookName), "by which submissions name it"),
        .flag("onNotify", \.onNotify, "only for batches whose submissions name it"),
        .special(
            "failurePercent",
            .wholeIn(LedgerRules.failurePercents),
            "from which share of failures to send failures.high; 10",
            encode: { webhook, encoder, key in try encoder.encode(webhook.failurePercent, forKey: key) },
            decode: { webhook, decoder, key in
                if let percent = try decoder.smallIfPresent(key) { webhook.failurePercent = percent }
            }
        ),
    ]

    private static func scope<Value: Encodable & SendableMetatype>(
        _ name: String,
        _ shape: RecordShape,
        _ meaning: String,
        _ value: @escaping @Sendable (NewWebhook) -> Value?,
        read: @escaping @Sendable (RecordDecoder, RecordKey) throws -> Webhook.Scope
    ) -> RecordField<NewWebhook> {
        .special(
            name,
            shape,
            meaning,
            encode: { webhook, encoder, key in try encoder.encodeIfPresent(value(webhook), forKey: key) },
            decode: { webhook, decoder, key in
                if decoder.contains(key), try !decoder.decodeNil(forKey: key) { webhook.scope = try read(decoder, key) }
            }
        )
    }
}

/// A webhook that was just created. Its secret cannot be shown again.
public struct CreatedWebhook: Sendable {
    public var id: Int32
    public var secret: WebhookSecret
}

extension CreatedWebhook: LedgerRecord {
    package static var blank: CreatedWebhook { CreatedWebhook(id: 0, secret: WebhookSecret(bytes: [])) }

    package static let fields: [RecordField<CreatedWebhook>] = [
        .always("id", \.id, .id, "its number"),
        .special(
            "secret",
            .text,
            isRequired: true,
            "by which receivers check signatures",
            encode: { webhook, encoder, key in try encoder.encode(webhook.secret.text, forKey: key) },
            decode: { webhook, decoder, key in
                guard let secret = WebhookSecret(text: try decoder.decode(String.self, forKey: key)) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: key,
                        in: decoder,
                        debugDescription: "is not a secret"
                    )
                }
                webhook.secret = secret
            }
        ),
    ]
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

    public var id: Int64 = 0
    /// Stays the same when it is sent again.
    public var message = ""
    public var webhook: Int32 = 0
    public var event = ""
    public var state = State.waiting
    public var attempts = 0
    public var createdAt = Date.distantPast
    /// When it is sent next; `nil` if it has ended.
    public var dueAt: Date?
    public var triedAt: Date?
    public var endedAt: Date?
    /// Of the last answer.
    public var status: Int?
    /// What went wrong at the last attempt.
    public var error: String?

    package init() {}
}

extension WebhookDelivery: LedgerRecord, ListedRecord {
    package static let listName = "deliveries"
    package static var blank: WebhookDelivery { WebhookDelivery() }

    package static let fields: [RecordField<WebhookDelivery>] = [
        .always("id", \.id, .id, "its number", column: "delivery"),
        .always("message", \.message, .text, "the webhook-id of its requests"),
        .always("webhook", \.webhook, .id, "the webhook's number"),
        .always("event", \.event, .text, "its type"),
        .always("state", \.state, .choice, "how far it is"),
        .always("attempts", \.attempts, .count, "requests that were sent"),
        .always("createdAt", \.createdAt, .moment, "when the event happened"),
        .maybe("dueAt", \.dueAt, .moment, "of the next attempt"),
        .maybe("triedAt", \.triedAt, .moment, "of the last attempt"),
        .maybe("endedAt", \.endedAt, .moment, "when it was delivered or given up"),
        .maybe("status", \.status, .count, "of the last answer"),
        .maybe("error", \.error, .text, "what went wrong"),
    ]
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
