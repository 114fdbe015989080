import Console
import Conversion
import FoundationEssentials
package import Ledger

/// The JSON form of everything about a job: its entry in a list, then the request and the attempts.
package struct StoryRecord: Codable {
    package let story: JobStory

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

    /// Reads a job that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        var story = JobStory(
            try JobRecord(from: decoder).job,
            recipe: try JSONText.line(try record.decode(JSONValue.self, forKey: .recipe)),
            submitter: try record.decode(String.self, forKey: .submitter),
            submittedAt: try record.decode(Date.self, forKey: .submittedAt),
            cost: try record.count(.cost)
        )
        story.batchName = try record.decodeIfPresent(String.self, forKey: .batchName)
        story.runAt = try record.decodeIfPresent(Date.self, forKey: .runAt)
        story.needs = try record.decode([String].self, forKey: .needs)
        story.missing = try record.decodeIfPresent([String].self, forKey: .missing) ?? []
        story.labels = try record.decode([String: String].self, forKey: .labels)
        story.batchLabels = try record.decode([String: String].self, forKey: .batchLabels)
        story.waitingFor = try record.decodeIfPresent(JobStory.WaitingFor.self, forKey: .waitingFor)
        story.attempts = try record.decode([Attempt].self, forKey: .attemptRecords).map(\.record)
        story.amendments = try record.decodeIfPresent([RecipeAmendment].self, forKey: .amendments) ?? []
        self.story = story
    }

    private struct Attempt: Codable {
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

        init(from decoder: any Decoder) throws {
            let record = try decoder.container(keyedBy: CodingKeys.self)
            epoch = try record.decode(Int32.self, forKey: .epoch)
            outcome = try record.decodeIfPresent(AttemptOutcome.self, forKey: .outcome)
            startedAt = try record.decode(Date.self, forKey: .startedAt)
            endedAt = try record.decodeIfPresent(Date.self, forKey: .endedAt)
            worker = try record.id(.worker)
            workerName = try record.decodeIfPresent(String.self, forKey: .workerName)
            host = try record.decodeIfPresent(String.self, forKey: .host)
            build = try record.decodeIfPresent(String.self, forKey: .build)
            libraries = try record.decodeIfPresent(String.self, forKey: .libraries)
            slot = try record.decodeIfPresent(Int16.self, forKey: .slot)
            failure = try record.decodeIfPresent(Failure.self, forKey: .failure)
            lastWords = try record.decodeIfPresent(String.self, forKey: .lastWords)
            framesIn = try record.sizeIfPresent(.framesIn)
            framesOut = try record.sizeIfPresent(.framesOut)
            audioSeconds = try record.secondsIfPresent(.audioSeconds)
            cpuSeconds = try record.secondsIfPresent(.cpuSeconds)
            peakBytes = try record.sizeIfPresent(.peakBytes)
            conversion = try record.decodeIfPresent(ConversionReport.self, forKey: .conversion)
            furtherOutputs = try record.decodeIfPresent([ConversionReport].self, forKey: .furtherOutputs)
        }

        /// What it was made of. Its times have milliseconds in the ledger, too.
        var record: AttemptRecord {
            func span(_ seconds: Double?) -> Duration? {
                seconds.map { .milliseconds(Int64(($0 * 1_000).rounded())) }
            }
            let facts = AttemptFacts(
                slot: slot,
                framesIn: framesIn,
                framesOut: framesOut,
                audio: span(audioSeconds),
                cpu: span(cpuSeconds),
                peakBytes: peakBytes,
                report: conversion,
                further: furtherOutputs ?? []
            )
            var attempt = AttemptRecord(epoch: epoch, startedAt: startedAt, worker: worker, facts: facts)
            (attempt.outcome, attempt.endedAt, attempt.workerName) = (outcome, endedAt, workerName)
            (attempt.host, attempt.build, attempt.libraries) = (host, build, libraries)
            (attempt.failure, attempt.lastWords) = (failure, lastWords)
            return attempt
        }
    }
}
