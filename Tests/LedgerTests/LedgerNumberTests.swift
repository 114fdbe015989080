import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Ledgers with numbers: they share no ids, and everything that uses ids works with high ones.
struct LedgerNumberTests {
    /// A new ledger of that number.
    private func lab(_ number: Int) async throws -> LedgerLab {
        let lab = try await LedgerLab()
        try await Migrator(lab.lab.configuration).setNumber(number)
        return lab
    }

    private func number(of lab: LedgerLab) async throws -> LedgerNumber? {
        try await Migrator(lab.lab.configuration).number()
    }

    @Test func idsOfDifferentNumbersHaveNothingInCommon() async throws {
        var (jobs, batches): ([Int64], [Int64]) = ([], [])
        for number in [0, 1, 512, 1_023] {
            let lab = try await lab(number)
            #expect(try await self.number(of: lab) == LedgerNumber(value: number, isFree: true))
            let receipts = [try await lab.submit(300), try await lab.submit(1)]
            let ids: [Int64] = try await lab.ledger.jobs(ofBatch: receipts[0].batch) + [receipts[1].firstJob]
            let own = LedgerNumber.ids(of: number)
            let expectedIds: [Int64] = Array(own.prefix(301))
            #expect(ids == expectedIds)
            let batchIds: [Int64] = receipts.map(\.batch)
            let expectedBatchIds: [Int64] = Array(own.prefix(2))
            #expect(batchIds == expectedBatchIds)
            jobs += ids
            batches += batchIds
            #expect(try await self.number(of: lab)?.isFree == false)
        }
        #expect(Set(jobs).count == jobs.count && Set(batches).count == batches.count)
        // Ids stay below 2^53, so every JSON parser keeps them exact.
        #expect(LedgerNumber.ids(of: 1_023).upperBound == (1 << 53) - 1)
        for number in 0..<1_023 {
            #expect(LedgerNumber.ids(of: number).upperBound < LedgerNumber.ids(of: number + 1).lowerBound)
        }
    }

    @Test func numberIsGivenToAnEmptyLedgerOnly() async throws {
        let lab = try await LedgerLab()
        let migrator = try Migrator(lab.lab.configuration)
        try await migrator.setNumber(7)
        try await migrator.setNumber(3)
        let receipt = try await lab.submit(1)
        #expect(receipt.firstJob == LedgerNumber.ids(of: 3).lowerBound)
        // Setting the same number again changes nothing.
        try await migrator.setNumber(3)
        let error = try await failure { try await migrator.setNumber(4) }
        #expect(error.code == .ledgerRefused && error.detail.contains("bear its number, 3"))
        for wrong in [-1, 1_024, .max, .min] {
            #expect(try await failure { try await migrator.setNumber(wrong) }.code == .ledgerRefused)
        }
        #expect(try await lab.submit(1).firstJob == receipt.firstJob + 1)
        #expect(try await number(of: lab) == LedgerNumber(value: 3, isFree: false))
    }

    @Test func thereIsNoNumberBeforeThereIsALedger() async throws {
        let lab = try await Lab()
        #expect(try await Migrator(lab.configuration).number() == nil)
    }

    /// A coordinator that started earlier has made partitions for ids of number 0.
    @Test func partitionsMadeAheadGiveWay() async throws {
        let lab = try await LedgerLab()
        try await lab.set("span_size = 1000")
        _ = try await lab.ledger.keepHouse()
        let before: Int = try await lab.value("select count(*) from \(lab.schema).span")
        #expect(before > 0)
        try await Migrator(lab.lab.configuration).setNumber(40)
        try await lab.submit(2_500)
        try await lab.age(by: .seconds(100))
        #expect(try await lab.ledger.keepHouse().chores.allSatisfy { $0.error == nil })
        let lowest: Int64 = try await lab.value("select min(first_id) from \(lab.schema).span")
        let spans: Int = try await lab.value("select count(*) from \(lab.schema).span")
        #expect(lowest == LedgerNumber.ids(of: 40).lowerBound && (5...6).contains(spans))
        let partitions: Int = try await lab.value(
            "select count(*) from pg_inherits where inhparent = '\(lab.schema).job'::regclass"
        )
        #expect(partitions == spans)
    }

    /// Queries read the last id from the sequence, which the change of a number replaces.
    @Test func queriesReadTheLastIdBeforeTheChangeOrAfterIt() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 3 }
        let lastID: Statement = "select last_value from \(lab.schema).job_id"
        try await lab.whileOpen(["select \(lab.schema).number_ledger(9)"]) {
            let meanwhile = try await failure {
                try await lab.lab.run { connection in
                    try connection.transaction {
                        try connection.execute("set local lock_timeout = '50ms'")
                        let _: Int64 = try connection.value(lastID)
                    }
                }
            }
            #expect(meanwhile.sqlState == "55P03", "\(meanwhile)")
        }
        let after: Int64 = try await lab.value(lastID)
        #expect(after == LedgerNumber.ids(of: 9).lowerBound)
    }

    @Test func jobsOfASubmissionMeanwhileAreOfOneNumber() async throws {
        for _ in 0..<5 {
            let lab = try await LedgerLab { $0.connectionLimit = 8 }
            let migrator = try Migrator(lab.lab.configuration)
            var isNumbered = false
            try await withThrowingTaskGroup(of: Bool?.self) { group in
                for number in 0..<6 {
                    group.addTask { () -> Bool? in
                        try await lab.submit(20, Submission(label: "batch \(number)"))
                        return nil
                    }
                }
                group.addTask { () -> Bool? in
                    do {
                        try await migrator.setNumber(9)
                        return true
                    } catch let error as LedgerError where error.code == .ledgerRefused {
                        return false
                    }
                }
                for try await answer in group { if let answer { isNumbered = answer } }
            }
            let own = LedgerNumber.ids(of: isNumbered ? 9 : 0)
            let jobs = try await lab.ledger.jobs(matching: JobFilter(), limit: 500).jobs
            #expect(jobs.count == 120 && jobs.allSatisfy { own.contains($0.job) && own.contains($0.batch) })
        }
    }

    // MARK: - A life with high ids

    @Test func listingsSpansAndHousekeepingWorkWithTheHighestNumber() async throws {
        let lab = try await lab(1_023)
        try await lab.set("lease = '1 h', span_size = 1000, keep = '2 h'")
        let worker = try await lab.worker()
        let receipt = try await lab.submit(2_500, Submission(label: "b", key: "old"))
        _ = try await lab.ledger.keepHouse()
        let own = LedgerNumber.ids(of: 1_023)
        #expect(receipt.firstJob == own.lowerBound && receipt.lastJob == own.lowerBound + 2_499)
        #expect(try await lab.ledger.receipt(forKey: "old")?.batch == receipt.batch)
        // Pages run from the newest job to the oldest.
        var (listed, cursor): ([Int64], JobCursor?) = ([], nil)
        repeat {
            let page = try await lab.ledger.jobs(matching: JobFilter(), after: cursor, limit: 700)
            listed += page.jobs.map(\.job)
            cursor = page.next
        } while cursor != nil
        #expect(listed == (receipt.firstJob...receipt.lastJob).reversed())
        #expect(try await lab.ledger.jobs(matching: JobFilter(sourcePrefix: "in:b/24"), limit: 500).jobs.count == 111)
        // One job fails for good and is retried, one is cancelled, and the others complete.
        let first = try await lab.claim(2, for: worker)
        #expect(first.map(\.fence.job) == [own.lowerBound, own.lowerBound + 1])
        #expect(try await lab.ledger.fail([AttemptFailure(first[0].fence, LedgerLab.failure(.permanent))]) == [.done])
        #expect(try await lab.ledger.release([first[1].fence]) == [.done])
        #expect(try await lab.ledger.apply(.retry, to: JobFilter(ids: [first[0].fence.job])).changed == 1)
        #expect(try await lab.ledger.apply(.cancel, to: JobFilter(ids: [receipt.lastJob])).changed == 1)
        let story = try #require(try await lab.ledger.story(of: own.lowerBound))
        #expect(story.summary.batch == own.lowerBound && story.attempts.count == 1)
        while true {
            let claims = try await lab.claim(1_000, for: worker)
            if claims.isEmpty { break }
            let fences = claims.map(\.fence)
            #expect(try await lab.heartbeat.beat(worker.worker, [RunningJob(fences[0], frames: 5)]).isAlive)
            #expect(try await lab.ledger.standing(Array(fences.prefix(9))).count == min(9, fences.count))
            let answers = try await lab.ledger.publish(fences.map { LedgerLab.publication($0) })
            #expect(answers.allSatisfy { $0 == .done })
            try await lab.ledger.finish(fences)
        }
        #expect(try await lab.truth() == ["completed": 2_499, "cancelled": 1])
        // Old spans are dropped, as with number 0.
        try await lab.age(by: .seconds(7_300))
        let other = try await lab.submit(1)
        var dropped = 0
        for _ in 0..<4 {
            let report = try await lab.ledger.keepHouse()
            #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
            dropped += report["drop_old"]?.affected ?? 0
            try await lab.age(by: .seconds(301))
        }
        #expect(dropped == 2)
        #expect(try await lab.truth() == ["completed": 499, "cancelled": 1, "waiting": 1])
        #expect(try await lab.ledger.batches(limit: 10).map(\.batch) == [other.batch, receipt.batch])
    }

    /// After its last id a ledger refuses jobs: the next id would belong to another ledger.
    @Test func lastIdsOfTheHighestNumberAreUsable() async throws {
        let lab = try await lab(1_023)
        let last = LedgerNumber.ids(of: 1_023).upperBound
        try await lab.lab.run { connection in
            for table in ["job", "finished", "attempt"] {
                try connection.script(
                    """
                    create table \(lab.schema).\(table)_\(last - 9) partition of \(lab.schema).\(table)
                        for values from (\(last - 9)) to (\(last + 100));
                    alter table \(lab.schema).\(table)_\(last - 9) owner to sluice_owner
                    """,
                    changes: true
                )
            }
            try connection.script(
                """
                insert into \(lab.schema).span values (\(last - 9), \(last + 100));
                select setval('\(lab.schema).job_id', \(last - 2))
                """,
                changes: true
            )
        }
        let receipt = try await lab.submit(2)
        #expect(receipt.firstJob == last - 1 && receipt.lastJob == last && last == 9_007_199_254_740_991)
        let worker = try await lab.worker()
        let claims = try await lab.claim(2, for: worker)
        #expect(claims.map(\.fence.job) == [last - 1, last])
        #expect(try await lab.ledger.publish(claims.map { LedgerLab.publication($0.fence) }) == [.done, .done])
        try await lab.ledger.finish(claims.map(\.fence))
        #expect(try await lab.ledger.jobs(matching: JobFilter(ids: [last])).jobs.map(\.job) == [last])
        #expect(try await lab.ledger.story(of: last)?.summary.state == .completed)
        #expect(try await failure { try await lab.submit(1) }.code == .ledgerRefused)
    }
}
