import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger
@testable import PumpRoom
@testable import Worker
@testable import WorkerRules

/// Whatever a room sends, it ends in a report, a failure or the end of the room. It never ends in a trap, or in a
/// statement that the ledger refuses, which would make the job come back.
@Suite(.timeLimit(.minutes(15))) struct RoomReplyFuzzTests {
    private static let count = 100_000

    /// The replies that a slot accepts, as the worker reports them to the ledger.
    private struct Believed {
        var progress: [ConversionProgress] = []
        var reports: [AttemptFacts] = []
        var failures: [(Failure, AttemptFacts)] = []
        var counts: [String: Int] = [:]

        mutating func count(_ what: String) { counts[what, default: 0] += 1 }
    }

    /// Handles a message as the slot of a job with a source of 64 kB does, and prepares the
    /// worker's report to the ledger.
    private func hear(_ bytes: [UInt8], _ coder: WireCoder, _ bounds: JobBounds, _ believed: inout Believed) throws {
        guard let reply = try? coder.message(RoomReply.self, in: bytes) else { return believed.count("unreadable") }
        switch reply {
        case .hello: believed.count("hello")
        case .begun(_, let spent): believed.count(spent.isCredible ? "begun" : "lie")
        case .progress(_, let progress):
            guard progress.isCredible(after: nil, within: bounds) else { return believed.count("lie") }
            believed.count("progress")
            let start = ContinuousClock.now
            var meter = SpeedMeter(
                ConversionProgress(position: progress.position, frames: 0, totalFrames: progress.totalFrames),
                at: start
            )
            meter.note(progress, at: start + .nanoseconds(1))
            let told = meter.rounded(for: 1)
            _ = try JSON(WorkerStatus(paces: told.map { [$0] }))
            believed.progress.append(progress)
        case .wants(_, let question):
            var account = WindowAccount(sizes: [0: 64_000])
            believed.count(account.take(question) == nil ? "wants" : "lie")
        case .wrote(_, let report):
            guard report.isCredible(within: bounds) else { return believed.count("lie") }
            believed.count("wrote")
            _ = report.bounded
        case .converted(_, let report, let spent):
            guard spent.isCredible, report.isCredible(within: bounds) else { return believed.count("lie") }
            believed.count("converted")
            let cost = spent.cost
            let facts = AttemptFacts([report.bounded], slot: 1, cpu: cost.cpu, peakBytes: cost.peakBytes)
            _ = facts.audio?.wholeMilliseconds
            believed.reports.append(facts)
        case .measured(_, let measure, let spent):
            guard spent.isCredible, measure.isCredible(within: bounds) else { return believed.count("lie") }
            believed.count("measured")
            _ = try (measure.album.steps.map { Int16($0) }, JSON(measure.report))
        case .pointed(_, let points):
            guard points.allSatisfy(\.isCredible) else { return believed.count("lie") }
            believed.count("pointed")
            _ = points.map { ($0.end, $0.text) }
        case .described(_, let report, let spent):
            guard spent.isCredible, report.isCredible(within: bounds) else { return believed.count("lie") }
            believed.count("described")
            _ = report.bounded(count: 64, bytes: 1_000)
        case .failed(_, let failure, let spent):
            guard spent.isCredible, let failure = failure.credible else { return believed.count("lie") }
            believed.count("failed")
            let facts = AttemptFacts(slot: 1, framesIn: failure.frame, cpu: spent.cost.cpu, peakBytes: spent.peakBytes)
            believed.failures.append((failure, facts))
        }
    }

    @Test func noReplyOfARoomTrapsAWorkerOrIsRefusedByTheLedger() async throws {
        var generator = try ReplyGenerator(seed: 14)
        let coder = WireCoder()
        let folder = try TemporaryFolder.create()
        try Bytes.write([UInt8](repeating: 0, count: 64_000), to: folder.path("source"))
        let source = open(folder.path("source"), O_RDONLY)
        defer { close(source) }
        let bounds = JobBounds(RoomConfiguration().limits(for: nil), source: source)
        var believed = Believed()
        for _ in 0..<Self.count { try hear(generator.next(), coder, bounds, &believed) }
        // There were many of each kind, both accepted and rejected.
        let kinds = [
            "unreadable", "lie", "begun", "progress", "wants", "wrote", "converted", "pointed", "described", "failed",
        ]
        for what in kinds {
            #expect(believed.counts[what, default: 0] > 1_000, "\(believed.counts)")
        }
        try await tell(believed)
    }

    /// The first `count` distinct values: the altered replies, rather than thousands that are all equal.
    private func sample<Value: Hashable>(_ values: [Value], _ count: Int) -> [Value] {
        var seen: Set<Value> = []
        return Array(values.filter { seen.insert($0).inserted }.prefix(count))
    }

    private func tell(_ believed: Believed) async throws {
        let lab = try await WorkerLab()
        let facts = sample(believed.reports, 1_500)
        let failures = sample(believed.failures.map { AttemptFailure(Self.nowhere, $0.0, facts: $0.1) }, 1_500)
        let progress = sample(believed.progress, 500)
        try #require(facts.count > 200 && failures.count > 200 && progress.count > 50)
        try await lab.submit((0..<(facts.count + failures.count)).map { WorkerLab.recipe(to: "out:\($0).flac") })
        let entry = try await lab.ledger.register(
            WorkerRegistration(name: "w", host: "h", build: "1", slots: 1, abilities: ["root:in", "root:out"])
        )
        var fences: [Fence] = []
        while fences.count < facts.count + failures.count {
            let claims = try await lab.ledger.claim(1_000, for: entry.worker).jobs
            try #require(!claims.isEmpty)
            fences += claims.map(\.fence)
        }
        let heartbeat = try Heartbeat(lab.configuration)
        let running = zip(fences, progress).map {
            RunningJob($0, frames: $1.frames, totalFrames: $1.totalFrames, slot: 1)
        }
        #expect(try await heartbeat.beat(entry.worker, running).isAlive)

        let digest = String(repeating: "ab", count: 32)
        let outputs = zip(fences, facts).map {
            Publication($0, attemptName: ".a", digest: digest, bytes: 1, facts: $1)
        }
        #expect(try await lab.ledger.publish(outputs).allSatisfy { $0 == .done })
        #expect(try await lab.ledger.finish(outputs.map(\.fence)).allSatisfy { $0 == .done })
        let reports = zip(fences.dropFirst(facts.count), failures).map { fence, failure in
            AttemptFailure(fence, failure.failure, lastWords: "so it ends", facts: failure.facts)
        }
        #expect(try await lab.ledger.fail(reports).allSatisfy { $0 == .done })
        #expect(try lab.truth()["running"] == nil && lab.truth()["publishing"] == nil)
        #expect(try await lab.ledger.keepHouse().chores.allSatisfy { $0.error == nil })
        // All of it can be read back.
        for start in stride(from: 0, to: fences.count, by: 500) {
            let ids = fences[start..<min(start + 500, fences.count)].map(\.job)
            #expect(try await lab.ledger.stories(of: ids).count == ids.count)
        }
        await heartbeat.close()
    }

    private static let nowhere = Fence(job: 1, epoch: 1, lease: UUID())
}
