import Conversion
import Ledger
import Records

extension JobLedger {
    func webhookRecords() async throws -> [WebhookRecord] { try await webhooks().map(WebhookRecord.init) }

    func newWebhook(
        at url: String,
        for scope: Webhook.Scope,
        events: [Webhook.Event]?,
        failurePercent: Int,
        named name: String?,
        onNotify: Bool
    ) async throws -> NewWebhookRecord {
        let made = try await createWebhook(
            at: url,
            for: scope,
            events: events,
            failurePercent: failurePercent,
            named: name,
            onNotify: onNotify
        )
        return NewWebhookRecord(id: made.id, secret: made.secret)
    }

    func deliveryRecords(to webhook: Int32?, in state: WebhookDelivery.State?, before: Int64?, limit: Int32)
        async throws -> [DeliveryRecord]
    {
        try await deliveries(to: webhook, in: state, before: before, limit: limit).map(DeliveryRecord.init)
    }

    func retryDeliveries(to webhook: Int32, _ delivery: Int64?, progress: @escaping @Sendable (Int) -> Void)
        async throws -> Int
    { try await retryDeliveries(to: webhook, delivery, page: 1_000, progress: progress) }
}

extension RemoteLedger {
    func webhookRecords() async throws -> [WebhookRecord] {
        try await ask(
            RemotePage<WebhookRecord>.self,
            .init(path: "/api/v1/webhooks", operation: "list webhooks")
        ).items
    }

    func newWebhook(
        at url: String,
        for scope: Webhook.Scope,
        events: [Webhook.Event]?,
        failurePercent: Int,
        named name: String?,
        onNotify: Bool
    ) async throws -> NewWebhookRecord {
        var members: [String: JSONValue] = ["url": .text(url), "failurePercent": .whole(Int64(failurePercent))]
        members["events"] = events.map { .list($0.map { .text($0.rawValue) }) }
        members["name"] = name.map { .text($0) }
        if onNotify { members["onNotify"] = .truth(true) }
        switch scope {
        case .all: break
        case .queue(let queue): members["queue"] = .text(queue)
        case .batch(let batch): members["batch"] = .whole(batch)
        case .submitter(let name?): members["tenant"] = .text(String(name.dropFirst("tenant:".count)))
        case .submitter(nil): members["own"] = .truth(true)
        }
        // Each request makes another one.
        return try await ask(
            NewWebhookRecord.self,
            post("/api/v1/webhooks", members, "create a webhook"),
            .forbidden
        )
    }

    func removeWebhook(_ id: Int32) async throws {
        // One that an earlier try has removed is no longer there.
        _ = try await find(
            WebhookRecord.self,
            .init(method: "DELETE", path: "/api/v1/webhooks/\(id)", operation: "remove a webhook")
        )
    }

    func testWebhook(_ id: Int32) async throws -> Int64 {
        let request = CoordinatorConnection.Request(
            method: "POST",
            path: "/api/v1/webhooks/\(id)/test",
            operation: "test a webhook"
        )
        guard let delivery = try await ask(BegunDeliveriesRecord.self, request, .forbidden).delivery, delivery > 0
        else {
            throw misfit(request.operation, "it names no delivery")
        }
        return delivery
    }

    func deliveryRecords(to webhook: Int32?, in state: WebhookDelivery.State?, before: Int64?, limit: Int32)
        async throws -> [DeliveryRecord]
    {
        var (deliveries, before): ([DeliveryRecord], Int64?) = ([], before)
        while deliveries.count < Int(limit) {
            var query = [("limit", "\(min(1_000, limit - Int32(deliveries.count)))")]
            if let webhook { query.append(("webhook", "\(webhook)")) }
            if let state { query.append(("state", state.rawValue)) }
            if let before { query.append(("before", "\(before)")) }
            let page = try await ask(
                RemotePage<DeliveryRecord>.self,
                .init(path: "/api/v1/deliveries", query: query, operation: "list deliveries")
            )
            deliveries += page.items.prefix(Int(limit) - deliveries.count)
            // The list goes down, so that no answer can keep this from ending.
            guard page.next != nil, let last = page.items.last?.id, last < before ?? .max else { break }
            before = last
        }
        return deliveries
    }

    func retryDeliveries(to webhook: Int32, _ delivery: Int64?, progress: @escaping @Sendable (Int) -> Void)
        async throws -> Int
    {
        var (count, after): (Int, Int64?) = (0, 0)
        while let last = after {
            let request = CoordinatorConnection.Request(
                method: "POST",
                path: "/api/v1/webhooks/\(webhook)/retry",
                query: [("after", "\(last)")] + (delivery.map { [("delivery", "\($0)")] } ?? []),
                operation: "retry deliveries"
            )
            let part = try await ask(BegunDeliveriesRecord.self, request, .forbidden)
            guard let deliveries = part.deliveries else { throw misfit(request.operation, "it does not say how many") }
            count += deliveries
            progress(count)
            after = try part.next.map { text in
                // The pages go up, so that no answer can keep this from ending.
                guard let next = Int64(text), next > last else {
                    throw misfit(request.operation, "it does not say where to go on")
                }
                return next
            }
        }
        return count
    }

    private func misfit(_ operation: String, _ why: String) -> LedgerError {
        LedgerError(
            .coordinatorUnexpectedAnswer,
            during: operation,
            "the answer of the coordinator at \(place.url) cannot be read: \(why)"
        )
    }
}
