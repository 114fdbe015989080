import Conversion
import HTTPServer
import Ledger

/// Webhooks: who is told what, what was sent, and what could not be.
enum WebhookOperations {
    private static let number = Operation.Parameter("webhook", .whole(1...Int64(Int32.max)), "the webhook's number")

    static let all: [Operation] = [
        Operation(
            name: "listWebhooks",
            method: .get,
            path: "/api/v1/webhooks",
            summary: "webhooks: those of the caller, those that its submissions may name, and for operators all",
            access: .stewards,
            answer: Shapes.all("webhooks", Shapes.webhook)
        ) { call in
            let found = try await call.ledger.webhooks()
            return try .json(RecordPage(found))
        },
        Operation(
            name: "createWebhook",
            method: .post,
            path: "/api/v1/webhooks",
            summary: "create a webhook; the answer has its secret, which is not shown again",
            access: .stewards,
            body: .json(.object(of: NewWebhook.self)),
            answer: Shapes.createdWebhook,
            status: .created,
            run: create
        ),
        Operation(
            name: "removeWebhook",
            method: .delete,
            path: "/api/v1/webhooks/{webhook}",
            summary: "remove a webhook with its deliveries; the answer is what it was",
            access: .stewards,
            parameters: [number],
            answer: Shapes.webhook
        ) { call in
            let webhook = try await find(call)
            try await call.ledger.removeWebhook(webhook.id)
            return try .json(JSONRecord(webhook))
        },
        Operation(
            name: "testWebhook",
            method: .post,
            path: "/api/v1/webhooks/{webhook}/test",
            summary: "send a test event; the delivery says whether it was taken",
            access: .stewards,
            parameters: [number],
            answer: Shapes.begunDeliveries,
            status: .accepted
        ) { call in
            let webhook = try await find(call)
            let delivery = try await call.ledger.testWebhook(webhook.id)
            return try .json(JSONRecord(BegunDeliveries(delivery: delivery)), .accepted)
        },
        Operation(
            name: "retryDeliveries",
            method: .post,
            path: "/api/v1/webhooks/{webhook}/retry",
            summary: "send a page of the dead deliveries of a webhook again, or one of them",
            access: .stewards,
            parameters: [
                number, Operation.Parameter("delivery", .id, "only this delivery"),
                Operation.Parameter("limit", .whole(1...10_000), "at most this many; 1000 without it"),
                Operation.Parameter("after", .whole(), "where the page begins"),
            ],
            answer: Shapes.begunDeliveries,
            status: .accepted
        ) { call in
            let webhook = try await find(call)
            let (count, next) = try await call.ledger.retryPart(
                ofDeliveriesTo: webhook.id,
                call.whole("delivery"),
                after: call.whole("after") ?? 0,
                page: Int32(call.whole("limit") ?? 1_000)
            )
            return try .json(JSONRecord(BegunDeliveries(deliveries: count, next: next.map { "\($0)" })), .accepted)
        },
        Operation(
            name: "listDeliveries",
            method: .get,
            path: "/api/v1/deliveries",
            summary: "what was sent to webhooks, newest first",
            access: .stewards,
            parameters: [
                Operation.Parameter("webhook", .whole(1...Int64(Int32.max)), "deliveries to this webhook"),
                Operation.Parameter(
                    "state",
                    .choice(WebhookDelivery.State.allCases.map(\.rawValue)),
                    "deliveries in this state"
                ),
                Operation.Parameter("limit", .whole(1...1_000), "at most this many; 50 without it"),
                Operation.Parameter("before", .id, "deliveries older than this one"),
            ],
            answer: Shapes.page("deliveries", Shapes.delivery),
            run: listDeliveries
        ),
    ]

    /// The webhook of the path, if the caller may see it.
    private static func find(_ call: Call) async throws -> Webhook {
        let id = call.whole("webhook") ?? 0
        guard let webhook = try await call.ledger.webhooks().first(where: { $0.id == id }) else {
            throw Problem(.noSuchThing, "there is no webhook \(id)")
        }
        return webhook
    }

    @Sendable private static func create(_ call: Call) async throws -> HTTPAnswer {
        let body = call.body ?? .object([:])
        let scopes = NewWebhook.scopes.filter { body.members?[$0] != nil }
        guard scopes.count < 2 else {
            throw Problem(
                .badBody,
                mistakes: [.init(pointer: "/\(scopes[1])", detail: "cannot be combined with \(scopes[0])")]
            )
        }
        let wanted = try JSONText.read(JSONRecord<NewWebhook>.self, from: Array(JSONText.line(body).utf8)).record
        return try .json(JSONRecord(try await call.ledger.createWebhook(wanted)), .created)
    }

    @Sendable private static func listDeliveries(_ call: Call) async throws -> HTTPAnswer {
        let webhook = call.whole("webhook")
        if webhook != nil { _ = try await find(call) }
        let limit = Int(call.whole("limit") ?? 50)
        // One more than the limit shows whether there are others.
        let found = try await call.ledger.deliveries(
            to: webhook.map { Int32(clamping: $0) },
            in: call.text("state").flatMap(WebhookDelivery.State.init(rawValue:)),
            before: call.whole("before"),
            limit: Int32(limit + 1)
        )
        return try .json(RecordPage(found, limit: limit, \.id))
    }
}
