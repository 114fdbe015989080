import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Jobs are found by a text inside their sources. No call reads more than a bounded number of jobs.
struct SourceTextTests {
    /// 30,000 jobs, more than one call reads; the first ones are the last that a search reaches.
    private func lab() async throws -> (LedgerLab, SubmissionReceipt) {
        let lab = try await LedgerLab()
        let first = try await lab.submit(200, Submission(queue: "a", label: "Ärger 100%_\\"))
        try await lab.submit(29_800, Submission(queue: "b", label: "many"))
        return (lab, first)
    }

    private func all(_ lab: LedgerLab, _ filter: JobFilter, limit: Int32) async throws -> [JobSummary] {
        var (jobs, cursor): ([JobSummary], JobCursor?) = ([], nil)
        repeat {
            let page = try await lab.ledger.jobs(matching: filter, after: cursor, limit: limit)
            #expect(page.jobs.count == Int(limit) || page.next == nil)
            jobs += page.jobs
            cursor = page.next
        } while cursor != nil
        return jobs
    }

    @Test func aTextIsFoundInAnyPartOfASource() async throws {
        let (lab, first) = try await lab()
        let expected: [(JobFilter, Int)] = [
            (JobFilter(sourceContains: "Ärger 100%_\\/"), 200), (JobFilter(sourceContains: "ärger"), 0),
            (JobFilter(sourceContains: "r/1"), 0), (JobFilter(sourceContains: "\\/19"), 11),
            (JobFilter(sourceContains: "in:"), 30_000), (JobFilter(sourceContains: ""), 30_000),
            (JobFilter(sourceContains: "nothing"), 0), (JobFilter(sourceContains: "/7.wav"), 2),
            (JobFilter(queue: "a", sourceContains: "/7.wav"), 1),
            (JobFilter(batch: first.batch, sourceContains: ".wav"), 200),
            (JobFilter(states: [.running], sourceContains: ".wav"), 0),
            (JobFilter(sourcePrefix: "in:many/2", sourceContains: "99.wav"), 109),
            (JobFilter(ids: [first.firstJob, first.lastJob], sourceContains: "/0."), 1),
        ]
        for (filter, count) in expected {
            #expect(try await lab.ledger.count(matching: filter) == count, "\(filter)")
            #expect(try await lab.ledger.count(of: .cancel, matching: filter) == count, "\(filter)")
            for limit: Int32 in count > 1_000 ? [7_000] : [7, 500] {
                let jobs = try await all(lab, filter, limit: limit)
                let ids: [Int64] = jobs.map(\.job)
                #expect(jobs.count == count && Set(ids).count == count, "\(filter)")
                let text = try #require(filter.sourceContains)
                #expect(text.isEmpty || jobs.allSatisfy { $0.source.contains(text) })
                if filter.sourcePrefix == nil {
                    let newestFirst: [Int64] = ids.sorted(by: >)
                    #expect(ids == newestFirst)
                }
            }
        }
    }

    @Test func aCallStopsAfterTwentyThousandJobsAndSaysWhereToContinue() async throws {
        let (lab, first) = try await lab()
        let filter = #"{"source_contains": "Ärger"}"#
        var (behind, calls, found): (String?, [Int], Int) = (nil, [], 0)
        repeat {
            let start = behind
            let rows = try await lab.lab.run { connection in
                try connection.rows(
                    "select job, state::text, next from \(lab.schema).find_jobs(\(JSON(text: filter)), \(start.map(JSON.init(text:))), 500)"
                ) { row in (try row["job"] as Int64?, try row["state"] as String?, try row["next"] as JSON?) }
            }
            calls.append(rows.count)
            found += rows.count { $0.0 != nil }
            behind = rows.last.flatMap { $0.0 == nil ? $0.2?.text : nil }
            #expect(rows.last?.0 != nil || rows.last?.1 == nil)
        } while behind != nil
        #expect(calls == [1, 200] && found == 200)
        #expect(try await lab.value("select \(lab.schema).count_jobs(\(JSON(text: filter)))") as Int == 200)
        #expect(first.jobCount == 200)
    }

    @Test func aSearchMayBeCutShortAndContinued() async throws {
        let (lab, first) = try await lab()
        let filter = JobFilter(sourceContains: "Ärger")
        // The last 20,000 jobs have none of them.
        let none = try await lab.ledger.jobs(matching: filter, after: nil, limit: 20, calls: 1)
        #expect(none.jobs.isEmpty && none.isCutShort)
        let page = try await lab.ledger.jobs(matching: filter, after: none.next, limit: 20, calls: 1)
        #expect(page.jobs.map(\.job) == (0..<20).map { first.lastJob - $0 })
        #expect(page.next != nil && !page.isCutShort)
        let whole = try await lab.ledger.jobs(matching: filter, after: nil, limit: 20, calls: 2)
        #expect(whole == page)
        // Others than searches take one call.
        let others = try await lab.ledger.jobs(matching: JobFilter(queue: "a"), after: nil, limit: 20, calls: 1)
        #expect(others.jobs.count == 20 && !others.isCutShort)
    }

    @Test func changesAndOutputsReachTheJobsFarBack() async throws {
        let (lab, first) = try await lab()
        let fences = try await lab.claim(3, for: lab.worker(), from: ["a"]).map(\.fence)
        try await lab.ledger.publish(fences.prefix(2).map(LedgerLab.publication))
        try await lab.ledger.finish(Array(fences.prefix(2)))
        try await lab.ledger.fail([AttemptFailure(fences[2], LedgerLab.failure(.permanent))])
        let filter = JobFilter(sourceContains: "Ärger")
        var (outputs, cursor): ([RecordedOutput], JobCursor?) = ([], nil)
        repeat {
            let page = try await lab.ledger.outputs(matching: filter, after: cursor, limit: 1)
            outputs += page.outputs
            cursor = page.next
        } while cursor != nil
        #expect(Set(outputs.map(\.job)) == Set(fences.prefix(2).map(\.job)))
        #expect(try await lab.ledger.apply(.prioritize(5), to: filter).changed == 197)
        #expect(try await lab.ledger.apply(.cancel, to: filter).changed == 197)
        #expect(try await lab.ledger.apply(.retry, to: filter).changed == 198)
        #expect(try await lab.ledger.batch(first.batch)?.jobs.waiting == 198)
        #expect(try await lab.ledger.count(matching: JobFilter(states: [.waiting])) == 29_998)
    }
}
