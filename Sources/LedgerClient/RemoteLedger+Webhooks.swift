import API
import Conversion
package import Ledger

extension RemoteLedger {
    package func webhooks() async throws -> [Webhook] {
        let request = CoordinatorConnection.Request(path: "/api/v1/webhooks", operation: "list webhooks")
        return try await ask(RecordPage<Webhook>.self, request).records
    }

    package func createWebhook(_ wanted: NewWebhook) async throws -> CreatedWebhook {
        // Each request makes another one.
        try await ask(
            JSONRecord<CreatedWebhook>.self,
            post("/api/v1/webhooks", JSONText.members(JSONRecord(wanted)), "create a webhook"),
            .forbidden
        ).record
    }

    package func removeWebhook(_ id: Int32) async throws {
        // One that an earlier try has removed is no longer there.
        _ = try await find(
            JSONRecord<Webhook>.self,
            .init(method: "DELETE", path: "/api/v1/webhooks/\(id)", operation: "remove a webhook")
        )
    }

    package func testWebhook(_ id: Int32) async throws -> Int64 {
        let request = CoordinatorConnection.Request(
            method: "POST",
            path: "/api/v1/webhooks/\(id)/test",
            operation: "test a webhook"
        )
        guard let delivery = try await ask(JSONRecord<BegunDeliveries>.self, request, .forbidden).record.delivery else {
            throw misfit(request.operation, "it names no delivery")
        }
        return delivery
    }

    package func deliveries(to webhook: Int32?, in state: WebhookDelivery.State?, before: Int64?, limit: Int32)
        async throws -> [WebhookDelivery]
    {
        var query: [(name: String, value: String)] = []
        if let webhook { query.append(("webhook", "\(webhook)")) }
        if let state { query.append(("state", state.rawValue)) }
        return try await newestFirst(
            "/api/v1/deliveries",
            query,
            before: before,
            limit: limit,
            \.id,
            "list deliveries"
        )
    }

    package func retryDeliveries(to webhook: Int32, _ delivery: Int64?, progress: @escaping @Sendable (Int) -> Void)
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
            let part = try await ask(JSONRecord<BegunDeliveries>.self, request, .forbidden).record
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
