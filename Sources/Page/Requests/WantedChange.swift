import API
import Conversion
import Ledger

/// A change of jobs, as forms and URLs name it: `retry`, `retry:conceal`, `cancel`, `prioritize`, `accept`, `accept:undo`.
enum WantedChange: Sendable, Hashable {
    /// With another treatment of damage, or that of each job.
    case retry(DamageMode?)
    case cancel
    /// To which priority is asked together with the confirmation.
    case prioritize
    case accept(undo: Bool)

    /// The fields of its forms, besides those of the filter. They may be left empty.
    static let fields: Set = ["change", "damage", "conceal-limit", "priority"]

    /// `nil` if the text is none.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
        switch (parts.first, parts.dropFirst().first) {
        case ("retry", let mode):
            guard let mode else {
                self = .retry(nil)
                return
            }
            guard let damage = DamageMode(rawValue: mode) else { return nil }
            self = .retry(damage)
        case ("cancel", nil): self = .cancel
        case ("prioritize", nil): self = .prioritize
        case ("accept", nil): self = .accept(undo: false)
        case ("accept", "undo"): self = .accept(undo: true)
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .retry(let damage): damage.map { "retry:\($0.rawValue)" } ?? "retry"
        case .cancel: "cancel"
        case .prioritize: "prioritize"
        case .accept(let undo): undo ? "accept:undo" : "accept"
        }
    }

    /// As the ledger counts the jobs to which it applies.
    var change: JobChange {
        switch self {
        case .retry(let damage): damage.map { .retryWithDamage($0) } ?? .retry
        case .cancel: .cancel
        case .prioritize: .prioritize(0)
        case .accept(let undo): .accept(undo: undo)
        }
    }

    /// The button that does it to so many jobs.
    func button(_ count: Int) -> String {
        let jobs = Figures.count(count, "job")
        switch self {
        case .retry: return "Retry \(jobs)"
        case .cancel: return "Cancel \(jobs)"
        case .prioritize: return "Move \(jobs)"
        case .accept(undo: false): return "Accept \(Figures.count(count, "failure"))"
        case .accept(undo: true): return "Count \(jobs) as failed again"
        }
    }

    /// The members of a request to the API. Fields of the form refine what it says.
    func body(_ query: PageQuery) throws(Problem) -> [String: JSONValue] {
        switch self {
        case .retry(let damage):
            var body: [String: JSONValue] = ["change": .text("retry")]
            guard let mode = query.text("damage") ?? damage?.rawValue else { return body }
            body["onDamage"] = .text(mode)
            // It belongs to conceal, and the form has it for all.
            if mode == DamageMode.conceal.rawValue { body["concealLimit"] = try query.whole("conceal-limit") }
            return body
        case .cancel: return ["change": .text("cancel")]
        case .prioritize:
            var body: [String: JSONValue] = ["change": .text("prioritize")]
            body["priority"] = try query.whole("priority")
            return body
        case .accept(let undo):
            return undo ? ["change": .text("accept"), "undo": .truth(true)] : ["change": .text("accept")]
        }
    }
}

extension DamageMode {
    /// The same in a word.
    var word: String {
        switch self {
        case .strict: "strictly"
        case .conceal: "concealed"
        case .skip: "skipped"
        case .trustPackets: "as it decodes"
        }
    }

    /// What becomes of damage: `damage concealed`.
    var words: String {
        switch self {
        case .strict: "failing at damage"
        case .conceal: "damage concealed"
        case .skip: "damage left out"
        case .trustPackets: "all that decodes"
        }
    }
}
