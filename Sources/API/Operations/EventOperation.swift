import Conversion
import HTTPServer
import Ledger

/// How programs learn what changes without asking again and again.
enum EventOperation {
    static let answerType = "text/event-stream"

    static func value(_ hub: EventHub) -> Operation {
        Operation(
            name: "listenToEvents",
            method: .get,
            path: "/api/v1/events",
            summary:
                "server-sent events: the state of jobs, batches and queues, first at once and then when it changes",
            access: .readers,
            parameters: [
                Operation.Parameter("batch", .list(.id, most: 20), "events \"batch\" of these batches"),
                Operation.Parameter("job", .list(.id, most: 200), "events \"job\" of these jobs"),
                Operation.Parameter("queues", .truth, "events \"queue\" of all queues"),
            ],
            answerType: answerType
        ) { call in
            var wishes = EventHub.Wishes()
            wishes.batches = call.parameters["batch"]?.items?.compactMap(\.whole) ?? []
            wishes.jobs = call.parameters["job"]?.items?.compactMap(\.whole) ?? []
            wishes.queues = call.truth("queues")
            guard wishes.queues || !wishes.batches.isEmpty || !wishes.jobs.isEmpty else {
                throw Problem(.badParameter, "say what to listen to: batch, job or queues")
            }
            var answer = HTTPAnswer(.ok, fields: [("Content-Type", answerType), ("X-Accel-Buffering", "no")])
            if call.head.method == "HEAD" {
                // The header that GET would get, and no subscription.
                answer.body = .events(EventChannel())
                answer.closes = true
            } else {
                answer.body = .events(try await hub.subscribe(call.caller, call.ledger, wishes))
            }
            return answer
        }
    }
}
