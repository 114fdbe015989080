import Console
import Conversion
import Coordinator

/// The journal line of a coordinator's event.
struct CoordinatorLine: JournalRecord {
    private let event: CoordinatorEvent

    init(_ event: CoordinatorEvent) { self.event = event }

    var priority: LogPriority {
        switch event {
        case .ledgerAway, .trouble, .reaped, .undeliverable: .warning
        case .started, .listens, .stopped, .ledgerBack, .sendsNoWebhooks: .notice
        case .finishedForOthers: .info
        }
    }

    private enum Keys: String, CodingKey { case event, count, failure, addresses, webhook, delivery }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        switch event {
        case .started: try fields.encode("started", forKey: .event)
        case .listens(let addresses):
            try fields.encode("listens", forKey: .event)
            try fields.encode(addresses, forKey: .addresses)
        case .reaped(let count):
            try fields.encode("reaped", forKey: .event)
            try fields.encode(count, forKey: .count)
        case .finishedForOthers(let count):
            try fields.encode("finished_for_others", forKey: .event)
            try fields.encode(count, forKey: .count)
        case .sendsNoWebhooks(let failure):
            try fields.encode("sends_no_webhooks", forKey: .event)
            try fields.encode(failure.cut, forKey: .failure)
        case .undeliverable(let webhook, let delivery):
            try fields.encode("undeliverable", forKey: .event)
            try fields.encode(webhook, forKey: .webhook)
            try fields.encode(delivery, forKey: .delivery)
        case .ledgerAway(let failure):
            try fields.encode("ledger_away", forKey: .event)
            try fields.encode(failure.cut, forKey: .failure)
        case .ledgerBack: try fields.encode("ledger_back", forKey: .event)
        case .trouble(let failure):
            try fields.encode("trouble", forKey: .event)
            try fields.encode(failure.cut, forKey: .failure)
        case .stopped: try fields.encode("stopped", forKey: .event)
        }
    }

    func line(_ paint: (String, Ink) -> String) -> String {
        switch event {
        case .started: "\(paint("started", .good)): running housekeeping"
        case .listens(let addresses): "serving HTTP at \(addresses.joined(separator: ", ").printable)"
        case .reaped(let count):
            "\(Figures.count(count, "worker")) stopped sending heartbeats; their jobs are back in the queue"
        case .finishedForOthers(let count): "finished \(Figures.count(count, "publication")) that other workers left"
        case .sendsNoWebhooks: "sends nothing to webhooks: its login lacks the role sluice_face"
        case .undeliverable(let webhook, let delivery):
            "delivery \(delivery) to webhook \(webhook) is dead; \"sluice webhooks deliveries --dead\" lists it"
        case .ledgerAway(let failure): "\(paint("the ledger is unreachable", .careful)): \(failure.message.bounded)"
        case .ledgerBack: paint("the ledger is reachable again", .good)
        case .trouble(let failure): "\(paint("trouble", .careful)): \(failure.code): \(failure.message.bounded)"
        case .stopped: "stopped"
        }
    }
}
