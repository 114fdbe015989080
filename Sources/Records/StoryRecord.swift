import Console
import Conversion
import FoundationEssentials
package import Ledger

/// The JSON form of everything about a job: its entry in a list, then the request and the attempts.
package struct StoryRecord: Encodable {
    private let story: JobStory

    package init(_ story: JobStory) { self.story = story }

    private enum CodingKeys: String, CodingKey {
        case batchName, submitter, submittedAt, runAt, cost, needs, missing, labels, batchLabels, waitingFor, recipe,
            attemptRecords, amendments
    }

    package func encode(to encoder: any Encoder) throws {
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
