import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Jobs whose conversions had remarks are listed, and counted without counting jobs.
struct RemarksTests {
    private static func report(damage: DamageReport = DamageReport(), _ remarks: Remark...) throws -> ConversionReport {
        let shape = AudioShape(
            sampleRateHz: 48_000,
            channelCount: 2,
            bitDepth: 16,
            codecName: "mp3",
            isLossless: false
        )
        return ConversionReport(
            source: .init(track: 0, codec: "mp3", sampleRateHz: 48_000, channelCount: 2, frames: 48_000),
            format: try AudioFormat(container: .wav).resolved(for: shape),
            plannedFrames: 48_000,
            writtenFrames: 48_000,
            decodedFrames: 48_000,
            bytes: 1_234,
            damage: damage,
            isVerified: false,
            digest: nil,
            lostTags: [],
            remarks: remarks
        )
    }

    private func complete(_ lab: LedgerLab, _ fences: [Fence], _ report: ConversionReport?) async throws {
        let outputs = fences.map { fence in
            var output = LedgerLab.publication(fence)
            output.facts.report = report
            return output
        }
        #expect(try await lab.ledger.publish(outputs).allSatisfy { $0 == .done })
    }

    private func finish(_ lab: LedgerLab, _ fences: [Fence], _ placement: Placement = .published) async throws {
        let jobs = fences.map { FinishedJob($0, placement) }
        #expect(try await lab.ledger.finish(jobs).allSatisfy { $0 == .done })
    }

    @Test func onlyCompletedJobsWithRemarksAreListed() async throws {
        let lab = try await LedgerLab()
        let batch = try await lab.submit(7, Submission(queue: "a", label: "first"))
        let other = try await lab.submit(1, Submission(queue: "b", label: "second"))
        let worker = try await lab.worker()
        let fences = try await lab.claim(8, for: worker).map(\.fence).sorted { $0.job < $1.job }
        let cover = Remark(.cover, "WAV cannot store a cover")
        let damage = DamageReport(
            frames: 4_096,
            stretchCount: 2,
            stretches: [.init(start: 0, frames: 4_096, code: "corrupt_stream")]
        )
        try await complete(lab, [fences[0]], Self.report(cover))
        try await complete(lab, [fences[1]], Self.report(damage: damage))
        try await complete(lab, [fences[2]], Self.report())
        try await complete(lab, [fences[3]], nil)
        try await complete(lab, [fences[4]], Self.report(cover))
        try await complete(lab, [fences[7]], Self.report(cover, Remark(.chapters, "2 chapters were lost", count: 2)))
        try await finish(lab, [0, 1, 2, 3, 7].map { fences[$0] })
        // A job that was skipped has no output that could lack anything.
        try await finish(lab, [fences[4]], .skipped)
        try await lab.ledger.fail([
            AttemptFailure(
                fences[5],
                LedgerLab.failure(.permanent),
                facts: AttemptFacts(report: try Self.report(cover))
            )
        ])

        let all = JobFilter(hasRemarks: true)
        for _ in 0..<2 {
            let jobs = try await lab.ledger.jobs(matching: all).jobs
            #expect(jobs.map(\.job) == [7, 1, 0].map { fences[$0].job })
            #expect(jobs.allSatisfy { $0.state == .completed && $0.hasRemarks })
            #expect(jobs.map { $0.remarks?.remarks.map(\.kind) } == [[.cover, .chapters], [], [.cover]])
            #expect(jobs[1].remarks?.damage == DamageReport(frames: 4_096, stretchCount: 2))
            #expect(try await lab.ledger.batch(batch.batch)?.jobsWithRemarks == 2)
            #expect(try await lab.ledger.batches().map(\.jobsWithRemarks) == [1, 2])
            #expect(try await lab.ledger.count(matching: all) == 3)
            // The counts are the same after folding.
            _ = try await lab.ledger.keepHouse()
        }
        func count(_ change: (inout JobFilter) -> Void) async throws -> Int {
            var filter = all
            change(&filter)
            let found = try await lab.ledger.jobs(matching: filter).jobs.count
            #expect(try await lab.ledger.count(matching: filter) == found)
            return found
        }
        #expect(try await count { $0.batch = batch.batch } == 2)
        #expect(try await count { $0.batch = other.batch } == 1)
        #expect(try await count { $0.queue = "a" } == 2)
        #expect(try await count { $0.states = [.completed] } == 3)
        #expect(try await count { $0.states = [.failed, .skipped] } == 0)
        #expect(try await count { $0.sourcePrefix = "in:first/" } == 2)
        #expect(try await count { $0.sourceContains = "first/1" } == 1)
        #expect(try await count { $0.ids = [fences[0].job, fences[2].job] } == 1)

        // Other lists tell which jobs have remarks, and do not read the remarks.
        let rest = try await lab.ledger.jobs().jobs
        #expect(Set(rest.filter(\.hasRemarks).map(\.job)) == Set([0, 1, 7].map { fences[$0].job }))
        #expect(rest.allSatisfy { $0.remarks == nil })
        #expect(try await lab.ledger.story(of: fences[0].job)?.summary.hasRemarks == true)
    }

    /// Workers send reports as JSON, which may have any form.
    @Test func reportsOfAnotherFormFailNoList() async throws {
        let lab = try await LedgerLab()
        let odd = [
            "7", "[]", "{\"conversion\": 7}", "{\"conversion\": {\"damage\": 7, \"remarks\": null}}",
            "{\"conversion\": {\"damage\": {\"frames\": \"many\"}, \"remarks\": {\"kind\": 7}}}",
            "{\"conversion\": {\"damage\": {\"stretchCount\": 1}, \"remarks\": [{\"kind\": \"new\"}]}}",
        ]
        let batch = try await lab.submit(odd.count)
        let fences = try await lab.claim(Int32(odd.count), for: lab.worker()).map(\.fence)
        for (fence, text) in zip(fences, odd) {
            let answer: String = try await lab.value(
                """
                select answer::text from \(lab.schema).publish(array[\(fence.job)], array[\(fence.epoch)],
                    array[\(fence.lease)], array['.a'], array['aa'], array[1::bigint], null, null, null, null, null,
                    reports => array[\(text)])
                """
            )
            #expect(answer == "done")
        }
        try await finish(lab, fences)
        let jobs = try await lab.ledger.jobs(matching: JobFilter(hasRemarks: true)).jobs
        #expect(jobs.map(\.job).sorted() == [fences[4].job, fences[5].job])
        #expect(jobs.allSatisfy { $0.remarks == nil })
        #expect(try await lab.ledger.batch(batch.batch)?.jobsWithRemarks == 2)
    }

    /// A batch counts only the jobs that the ledger still holds.
    @Test func countsFallWhenOldJobsAreDropped() async throws {
        let lab = try await LedgerLab()
        try await lab.set("span_size = 1000, keep = '2 h'")
        let batch = try await lab.submit(1_500)
        _ = try await lab.ledger.keepHouse()
        let worker = try await lab.worker()
        let fences = try await lab.claim(1_000, for: worker).map(\.fence) + lab.claim(500, for: worker).map(\.fence)
        let (with, without) = (fences.filter { $0.job % 3 == 0 }, fences.filter { $0.job % 3 != 0 })
        try await complete(lab, with, Self.report(Remark(.cover, "WAV cannot store a cover")))
        try await complete(lab, without, Self.report())
        try await finish(lab, fences)
        #expect(try await lab.ledger.batch(batch.batch)?.jobsWithRemarks == 500)
        try await lab.age(by: .seconds(7_300))
        for _ in 0..<6 {
            try await lab.age(by: .seconds(400))
            _ = try await lab.ledger.keepHouse()
        }
        let kept: Int = try await lab.value("select count(*) from \(lab.schema).finished where has_remarks")
        #expect((1..<500).contains(kept))
        #expect(try await lab.ledger.batch(batch.batch)?.jobsWithRemarks == kept)
        #expect(try await lab.ledger.count(matching: JobFilter(hasRemarks: true)) == kept)
    }
}
