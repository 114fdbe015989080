import Conversion
public import FoundationEssentials

/// A change of many jobs that the ledger keeps. Coordinators carry it out, also after the client has disconnected, and it
/// can be undone.
public struct BulkChange: Sendable, Hashable {
    public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
        case running
        /// All jobs that matched have been changed.
        case done
        case stopped
        /// It could not go on, for the reason in `error`.
        case failed
        case undoing, undone
    }

    /// What its owner may want of it.
    public enum Wish: String, Sendable, Hashable, CaseIterable {
        case stop
        /// Takes back what it changed, as far as the jobs still wait: cancelled jobs return to their lanes, jobs get their
        /// earlier priorities, and retried jobs are cancelled. Failures that it accepted count again.
        case undo
    }

    public var number: Int64 = 0
    public var change = JobChange.cancel
    public var phase = Phase.running
    /// How many jobs there were when it began.
    public var expected = 0
    public var tally = ChangeTally()
    /// How many of the changed jobs were changed back.
    public var undone = 0
    public var error: String?
    public var submitter = ""
    /// The name of the token with which it was begun.
    public var token = ""
    public var createdAt = Date.distantPast
    public var endedAt: Date?

    package init() {}

    public var isUnderWay: Bool { phase == .running || phase == .undoing }
}

extension BulkChange: LedgerRecord, ListedRecord {
    package static let listName = "changes"
    package static var blank: BulkChange { BulkChange() }

    package static let fields: [RecordField<BulkChange>] = Array(parts.joined())

    private static let parts: [[RecordField<BulkChange>]] = [
        [.always("number", \.number, .id, "its number", column: "id")],
        JobChange.fields.map { $0.of(\.change) },
        [
            .always("phase", \.phase, .choice, "how far it is"),
            .always("expected", \.expected, .count, "how many jobs there were when it began"),
            .always("seen", \.tally.seen, .count, "jobs looked at so far"),
        ],
        ChangeTally.fields.map { $0.of(\.tally) },
        [
            .always("undone", \.undone, .count, "how many of the changed jobs were changed back"),
            .maybe("error", \.error, .text, "why it failed"),
            .always("submitter", \.submitter, .text, "whose jobs it changes"),
            .always("token", \.token, .text, "who asked for it"),
            .always("createdAt", \.createdAt, .moment, "when it was asked for"),
            .maybe("endedAt", \.endedAt, .moment, "when it ended"),
        ],
    ]
}

/// A bulk change that no coordinator carries out, and the principal to act for.
public struct UnfinishedChange: Sendable, Hashable {
    public var number: Int64
    public var principal: Principal
}

extension JobChange {
    /// The words of `start_change`: the change, and its arguments.
    var words: (change: String, arguments: [String: String]) {
        switch self {
        case .cancel: ("cancel", [:])
        case .retry: ("retry", [:])
        case .retryWithDamage(let damage, let limit):
            ("retry", ["damage": damage.rawValue].merging(limit.map { ["conceal_seconds": "\($0)"] } ?? [:]) { $1 })
        case .prioritize(let priority): ("prioritize", ["priority": "\(priority)"])
        case .accept(let undo): ("accept", undo ? ["undo": "true"] : [:])
        }
    }

    /// From the same words.
    fileprivate init(word: String, _ arguments: [String: String]) {
        switch word {
        case "cancel": self = .cancel
        case "prioritize": self = .prioritize(arguments["priority"].flatMap { Int32($0) } ?? 0)
        case "accept": self = .accept(undo: arguments["undo"] == "true")
        default:
            let limit = arguments["conceal_seconds"].flatMap { Int($0) }
            let damage = arguments["damage"].flatMap(DamageMode.init(rawValue:))
            self = damage.map { .retryWithDamage($0, concealSeconds: limit) } ?? .retry
        }
    }
}

/// What is done to jobs, in the members of a larger record.
extension JobChange: LedgerRecord {
    package static var blank: JobChange { .retry }
    package static let verbs = ["retry", "cancel", "prioritize", "accept"]

    package static let fields: [RecordField<JobChange>] = [
        .special(
            "change",
            .choice(JobChange.verbs),
            isRequired: true,
            "what is done to the jobs",
            read: { change, row in
                let arguments: [String: String] = try (row["arguments"] as JSON).decoded(during: row.operation)
                change = JobChange(word: try row["change"], arguments)
            },
            encode: { change, encoder, key in try encoder.encode(change.words.change, forKey: key) },
            decode: { change, decoder, key in
                let word = try decoder.decode(String.self, forKey: key)
                guard JobChange.verbs.contains(word) else {
                    throw DecodingError.dataCorruptedError(forKey: key, in: decoder, debugDescription: "is not known")
                }
                change = JobChange(word: word, [:])
            }
        ),
        // The others refine what "change" says, so that they follow it.
        .special(
            "priority",
            .wholeIn(LedgerRules.priorities),
            "for prioritize",
            encode: { change, encoder, key in
                if case .prioritize(let priority) = change { try encoder.encode(priority, forKey: key) }
            },
            decode: { change, decoder, key in
                guard case .prioritize = change else { return }
                change = .prioritize(try decoder.decodeIfPresent(Int32.self, forKey: key) ?? 0)
            }
        ),
        .special(
            "undo",
            .truth,
            "for accept: whether the failures are accepted no longer",
            encode: { change, encoder, key in
                if case .accept(undo: true) = change { try encoder.encode(true, forKey: key) }
            },
            decode: { change, decoder, key in
                guard case .accept = change else { return }
                change = .accept(undo: try decoder.decodeIfPresent(Bool.self, forKey: key) ?? false)
            }
        ),
        .special(
            "onDamage",
            .choice(DamageMode.allCases.map(\.rawValue)),
            "for retry: how the jobs treat damage from now on",
            encode: { change, encoder, key in
                if case .retryWithDamage(let mode, _) = change { try encoder.encode(mode, forKey: key) }
            },
            decode: { change, decoder, key in
                guard let mode = try decoder.decodeIfPresent(DamageMode.self, forKey: key) else { return }
                change = .retryWithDamage(mode)
            }
        ),
        .special(
            "concealLimit",
            .whole,
            "for retry: the most seconds that conceal may fill",
            encode: { change, encoder, key in
                if case .retryWithDamage(_, let limit?) = change { try encoder.encode(limit, forKey: key) }
            },
            decode: { change, decoder, key in
                guard case .retryWithDamage(let mode, _) = change else { return }
                change = .retryWithDamage(mode, concealSeconds: try decoder.smallIfPresent(key))
            }
        ),
    ]
}
