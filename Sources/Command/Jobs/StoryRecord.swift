import Console
import Conversion
import FoundationEssentials
import Ledger

/// The JSON form of everything about a job: its entry in a list, then the request and the attempts.
struct StoryRecord: Encodable {
    private let story: JobStory

    init(_ story: JobStory) { self.story = story }

    private enum CodingKeys: String, CodingKey {
        case batchName, submitter, submittedAt, runAt, cost, needs, missing, labels, batchLabels, waitingFor, recipe,
            attemptRecords, amendments
    }

    func encode(to encoder: any Encoder) throws {
        try JobRecord(story.summary).encode(to: encoder)
        var record = encoder.container(keyedBy: CodingKeys.self)
        try record.encodeIfPresent(story.batchName, forKey: .batchName)
        try record.encode(story.submitter, forKey: .submitter)
        try record.encode(story.submittedAt, forKey: .submittedAt)
        try record.encodeIfPresent(story.runAt, forKey: .runAt)
        try record.encode(story.cost, forKey: .cost)
        try record.encode(story.needs, forKey: .needs)
        if story.waitingFor == .unable { try record.encode(story.missing, forKey: .missing) }
        try record.encode(story.labels, forKey: .labels)
        try record.encode(story.batchLabels, forKey: .batchLabels)
        try record.encodeIfPresent(story.waitingFor, forKey: .waitingFor)
        try record.encode(JSONValue(text: story.recipe), forKey: .recipe)
        try record.encode(story.attempts.map(Attempt.init), forKey: .attemptRecords)
        // Most recipes were never changed and have no amendments.
        if !story.amendments.isEmpty { try record.encode(story.amendments, forKey: .amendments) }
    }

    private struct Attempt: Encodable {
        let epoch: Int32
        let outcome: AttemptOutcome?
        let startedAt: Date
        let endedAt: Date?
        let worker: Int64
        let workerName: String?
        let host: String?
        let build: String?
        let libraries: String?
        let slot: Int16?
        let failure: Failure?
        let lastWords: String?
        let framesIn: Int64?
        let framesOut: Int64?
        let audioSeconds: Double?
        let cpuSeconds: Double?
        let peakBytes: Int64?
        let conversion: ConversionReport?
        let furtherOutputs: [ConversionReport]?

        init(_ attempt: AttemptRecord) {
            epoch = attempt.epoch
            outcome = attempt.outcome
            (startedAt, endedAt) = (attempt.startedAt, attempt.endedAt)
            (worker, workerName, host, build) = (attempt.worker, attempt.workerName, attempt.host, attempt.build)
            libraries = attempt.libraries
            slot = attempt.facts.slot
            failure = attempt.failure
            lastWords = attempt.lastWords
            (framesIn, framesOut) = (attempt.facts.framesIn, attempt.facts.framesOut)
            audioSeconds = attempt.facts.audio?.seconds
            cpuSeconds = attempt.facts.cpu?.seconds
            peakBytes = attempt.facts.peakBytes
            conversion = attempt.facts.report
            furtherOutputs = attempt.facts.further.isEmpty ? nil : attempt.facts.further
        }
    }
}

/// JSON from the ledger, passed through unchanged.
struct JSONValue: Codable {
    private indirect enum Node {
        case object([String: JSONValue])
        case list([JSONValue])
        case text(String)
        case whole(Int64)
        case number(Double)
        case truth(Bool)
        case nothing
    }

    private let node: Node

    /// Text that is not valid JSON becomes a JSON string.
    init(text: String) {
        do {
            self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        } catch {
            // The column is of type jsonb, so decoding fails only for a number that does not fit into a Double.
            self = JSONValue(.text(text))
        }
    }

    private init(_ node: Node) { self.node = node }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        // A decoder does not reveal the type of a value. Each type is tried in turn, and a failure only means "not
        // this type". The types that recipes use most come first, because every failed attempt builds an error with
        // its message.
        if let text = try? value.decode(String.self) {
            node = .text(text)
        } else if let members = try? value.decode([String: JSONValue].self) {
            node = .object(members)
        } else if let list = try? value.decode([JSONValue].self) {
            node = .list(list)
        } else if let whole = try? value.decode(Int64.self) {
            node = .whole(whole)
        } else if let number = try? value.decode(Double.self) {
            node = .number(number)
        } else if let truth = try? value.decode(Bool.self) {
            node = .truth(truth)
        } else if value.decodeNil() {
            node = .nothing
        } else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "not a JSON value")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch node {
        case .object(let members): try value.encode(members)
        case .list(let items): try value.encode(items)
        case .text(let text): try value.encode(text)
        case .whole(let number): try value.encode(number)
        case .number(let number): try value.encode(number)
        case .truth(let truth): try value.encode(truth)
        case .nothing: try value.encodeNil()
        }
    }
}
