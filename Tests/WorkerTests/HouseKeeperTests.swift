import Conversion
import Coordinator
import Storage
import Synchronization
import TestSupport
import Testing

/// What a coordinator reports of its housekeeping.
struct HouseKeeperTests {
    @Test func choreThatFailsIsReportedAndTheOthersGoOn() async throws {
        let lab = try await WorkerLab()
        try await lab.submit(1)
        // Folding the counts of the job breaks this rule.
        try lab.sql("alter table \(lab.schema).queue_count add constraint broken check (jobs < 0)")
        let failures = Mutex<[Failure]>([])
        let roots = try StorageRoots([])
        let keeper = try HouseKeeper(lab.configuration, roots: { roots }) { event in
            if case .trouble(let failure) = event { failures.withLock { $0.append(failure) } }
        }
        let running = Task { try await keeper.run() }
        try await lab.wait("the coordinator reports it") { failures.withLock { !$0.isEmpty } }
        running.cancel()
        try await running.value
        let failure = try #require(failures.withLock { $0.first })
        #expect(failure.known == .choreFailed && failure.kind == .infrastructure && failure.stage == "ledger")
        #expect(failure.message.contains("fold_counts") && failure.message.contains("broken"))
        let done = try lab.sql("select count(*) from \(lab.schema).chore where done_at is not null and error is null")
        #expect(try #require(Int(done)) > 0, "no other chore was done")
    }
}
