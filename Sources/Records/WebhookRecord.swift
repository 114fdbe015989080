package import FoundationEssentials
package import Ledger

/// The JSON form of a webhook.
package struct WebhookRecord: Codable, Sendable {
    package let id: Int32
    package let name: String?
    package let url: String
    package let events: [String]
    package let submitter: String?
    package let batch: Int64?
    package let queue: String?
    package let onNotify: Bool
    package let failurePercent: Int
    package let createdAt: Date
    package let createdBy: String
    package let failures: Int
    package let skipped: Int
    package let waiting: Int
    package let dead: Int
    package let deliveredAt: Date?

    package init(_ webhook: Webhook) {
        (id, name, url) = (webhook.id, webhook.name, webhook.url)
        events = webhook.events.map(\.rawValue)
        (queue, onNotify) = (webhook.queue, webhook.onNotify)
        (submitter, batch, failurePercent) = (webhook.submitter, webhook.batch, webhook.failurePercent)
        (createdAt, createdBy) = (webhook.createdAt, webhook.createdBy)
        (failures, skipped) = (webhook.failures, webhook.skipped)
        (waiting, dead, deliveredAt) = (webhook.waiting, webhook.dead, webhook.deliveredAt)
    }

    /// Whether submissions may name it.
    package var mayBeNamed: Bool { batch == nil }

    package func isNamed(_ word: String) -> Bool { mayBeNamed && (name == word || "\(id)" == word) }

    /// Reads what another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        id = try record.decode(Int32.self, forKey: .id)
        name = try record.decodeIfPresent(String.self, forKey: .name)
        url = try record.decode(String.self, forKey: .url)
        events = try record.decode([String].self, forKey: .events)
        submitter = try record.decodeIfPresent(String.self, forKey: .submitter)
        batch = try record.decodeIfPresent(Int64.self, forKey: .batch)
        queue = try record.decodeIfPresent(String.self, forKey: .queue)
        onNotify = try record.decode(Bool.self, forKey: .onNotify)
        failurePercent = try record.small(.failurePercent)
        createdAt = try record.decode(Date.self, forKey: .createdAt)
        createdBy = try record.decode(String.self, forKey: .createdBy)
        (failures, skipped) = (try record.count(.failures), try record.count(.skipped))
        (waiting, dead) = (try record.count(.waiting), try record.count(.dead))
        deliveredAt = try record.decodeIfPresent(Date.self, forKey: .deliveredAt)
    }
}

/// The JSON form of a new webhook. It alone has the secret.
package struct NewWebhookRecord: Codable, Sendable {
    package let id: Int32
    package let secret: String

    package init(id: Int32, secret: WebhookSecret) { (self.id, self.secret) = (id, secret.text) }
}

/// The JSON form of a delivery.
package struct DeliveryRecord: Codable, Sendable {
    package let id: Int64
    package let message: String
    package let webhook: Int32
    package let event: String
    package let state: WebhookDelivery.State
    package let attempts: Int
    package let createdAt: Date
    package let dueAt: Date?
    package let triedAt: Date?
    package let endedAt: Date?
    package let status: Int?
    package let error: String?

    package init(_ delivery: WebhookDelivery) {
        (id, message, webhook, event) = (delivery.id, delivery.message, delivery.webhook, delivery.event)
        (state, attempts) = (delivery.state, delivery.attempts)
        (createdAt, dueAt) = (delivery.createdAt, delivery.dueAt)
        (triedAt, endedAt) = (delivery.triedAt, delivery.endedAt)
        (status, error) = (delivery.status, delivery.error)
    }

    /// Reads what another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        id = try record.id(.id)
        message = try record.decode(String.self, forKey: .message)
        webhook = try record.decode(Int32.self, forKey: .webhook)
        event = try record.decode(String.self, forKey: .event)
        state = try record.decode(WebhookDelivery.State.self, forKey: .state)
        attempts = try record.count(.attempts)
        createdAt = try record.decode(Date.self, forKey: .createdAt)
        dueAt = try record.decodeIfPresent(Date.self, forKey: .dueAt)
        triedAt = try record.decodeIfPresent(Date.self, forKey: .triedAt)
        endedAt = try record.decodeIfPresent(Date.self, forKey: .endedAt)
        status = try record.smallIfPresent(.status)
        error = try record.decodeIfPresent(String.self, forKey: .error)
    }
}

/// The JSON form of a delivery that was begun, or of how many were.
package struct BegunDeliveriesRecord: Codable, Sendable {
    /// The delivery of a test.
    package var delivery: Int64?
    /// How many dead ones will be sent again.
    package var deliveries: Int?
    /// Where the following page begins; `nil`: there is none.
    package var next: String?

    package init(delivery: Int64? = nil, deliveries: Int? = nil, next: String? = nil) {
        (self.delivery, self.deliveries, self.next) = (delivery, deliveries, next)
    }

    /// Reads what another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        // Other deliveries are found by numbers near it.
        delivery = try record.sizeIfPresent(.delivery)
        deliveries = try record.countIfPresent(.deliveries)
        next = try record.decodeIfPresent(String.self, forKey: .next)
    }
}
