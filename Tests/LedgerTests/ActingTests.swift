import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Calls on behalf of others: who may make them, with which rights, and under which name.
struct ActingTests {
    /// A ledger over a login that may act for others and has no other right.
    private static func api(_ lab: LedgerLab) throws -> JobLedger {
        try lab.ledger(as: GrantTests.user("sluice_face", on: lab.lab.server))
    }

    /// Whether the caller has the right to a statement, whatever else fails. Leaves no changes behind.
    private static func may(_ statement: String, _ ledger: JobLedger) async throws -> Bool {
        do {
            try await ledger.source.run("test", opening: ledger.opening) { connection in
                _ = try connection.script("begin; \(ledger.opening?.sql ?? "select");", changes: false, isOpened: true)
                _ = try connection.script(statement, changes: false)
            }
            return true
        } catch let error as LedgerError {
            return error.sqlState != "42501"
        }
    }

    @Test(arguments: AccessRole.allCases)
    func anActingCallerHasTheRightsOfItsRoleAlone(role: AccessRole) async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let ledger = try Self.api(lab).acting(for: Principal(name: "t", role: role))
        // A token creates no tokens: they would outlive it.
        let allowed = try #require(GrantTests.functions[role.databaseRole])
            .subtracting(["create_token", "revoke_token", "create_tenant", "limit_tenant"])
        for call in try await GrantTests.calls(in: lab) {
            let isAllowed = try await Self.may("select \(lab.schema).\(call.name)(\(call.arguments))", ledger)
            #expect(isAllowed == allowed.contains(call.name), "\(role): \(call.name)")
        }
        #expect(try await !Self.may("select from \(lab.schema).job", ledger))
        #expect(try await !Self.may("delete from \(lab.schema).batch", ledger))
    }

    @Test func callsDoWhatTheRolePermitsAndNothingElse() async throws {
        let lab = try await LedgerLab()
        let api = try Self.api(lab)
        let viewer = try api.acting(for: Principal(name: "v", role: .viewer))
        let submitter = try api.acting(for: Principal(name: "s", role: .submitter))
        let other = try api.acting(for: Principal(name: "o", role: .submitter))
        let steward = try api.acting(for: Principal(name: "p", role: .operator))

        // One job, and many by COPY into a temporary table.
        _ = try await submitter.submit(recipes: [LedgerLab.recipe("one")])
        let receipt = try await submitter.submit(Submission(key: "k"), LedgerLab.requests(2_500))
        #expect(try await submitter.submit(Submission(key: "k"), LedgerLab.requests(2_500)).isRepetition)
        #expect(try await submitter.receipt(forKey: "k")?.batch == receipt.batch)
        #expect(try await other.receipt(forKey: "k") == nil)
        #expect(try await viewer.batch(receipt.batch)?.submitter == "token:s")
        #expect(try await submitter.lastBatch() == receipt.batch)
        #expect(try await other.lastBatch() == nil)
        #expect(try await viewer.jobs(ofBatch: receipt.batch).count == 1_000)
        #expect(try await viewer.status().jobs.waiting == 2_501)
        #expect(try await viewer.story(of: receipt.firstJob)?.submitter == "token:s")
        #expect(try await submitter.earlierJobs(at: ["out:one.flac"]).first??.batch != nil)

        // In chunks of a thousand.
        #expect(try await other.apply(.cancel, to: JobFilter()).changed == 0)
        #expect(try await submitter.apply(.prioritize(5), to: JobFilter()).changed == 2_501)
        #expect(try await submitter.count(of: .cancel, matching: JobFilter(batch: receipt.batch)) == 2_500)
        #expect(try await steward.apply(.cancel, to: JobFilter(batch: receipt.batch)).changed == 2_500)
        #expect(try await submitter.apply(.retry, to: JobFilter(batch: receipt.batch)).changed == 2_500)
        try await steward.setPaused(true, queue: "default")
        #expect(try await viewer.queues().map(\.isPaused) == [true])

        for refused: @Sendable () async throws -> Void in [
            { _ = try await viewer.submit(recipes: [LedgerLab.recipe("x")]) },
            { _ = try await viewer.submit(Submission(), LedgerLab.requests(500)) },
            { try await viewer.apply(.cancel, to: JobFilter()) }, { try await viewer.apply(.retry, to: JobFilter()) },
            { try await viewer.setPaused(true, queue: "default") },
            { try await submitter.setPaused(false, queue: "default") },
            { try await other.apply(.cancel, to: JobFilter(batch: receipt.batch)) },
            { _ = try await steward.submit(recipes: [LedgerLab.recipe("x")]) },
            { _ = try await steward.keepHouse() },
            { _ = try await steward.register(WorkerRegistration(name: "w", host: "h", build: "1", slots: 1)) },
            // The login itself has no right but those of a coordinator.
            { _ = try await api.status() }, { _ = try await api.submit(recipes: [LedgerLab.recipe("x")]) },
            { try await api.apply(.cancel, to: JobFilter()) },
        ] {
            #expect(try await failure(of: refused).code == .ledgerPermissionDenied)
        }
        #expect(try await api.keepHouse().chores.allSatisfy { $0.error == nil })
        let truth = try await lab.truth()
        #expect(truth == ["waiting": 2_501])
    }

    @Test func nothingOfACallOutlivesIt() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 1 }
        let acting = try lab.ledger.acting(for: Principal(name: "s", role: .submitter))
        _ = try await acting.submit(recipes: [LedgerLab.recipe("a")])
        // The same connection, for its own login.
        let (role, whom, owner): (String, String, Bool) = try await lab.ledger.source.run("test") { connection in
            try connection.rows(
                """
                select current_setting('role'), coalesce(current_setting('sluice.acting_for', true), ''),
                    \(lab.schema).is_operator()
                """
            ) { (try $0[0], try $0[1], try $0[2]) }[0]
        }
        #expect(role == "none" && whom.isEmpty && owner)
        #expect(
            try await failure(of: { try await acting.setPaused(true, queue: "default") }).code
                == .ledgerPermissionDenied
        )
        try await lab.ledger.setPaused(true, queue: "default")
    }

    @Test(arguments: ["sluice_submitter", "sluice_operator", "sluice_viewer", "sluice_worker"])
    func aLoginThatIsNoFaceStaysItself(role: String) async throws {
        let lab = try await LedgerLab()
        let login = try GrantTests.user(role, on: lab.lab.server)
        let source = try lab.ledger(as: login).source
        _ = try await lab.ledger.createTenant("radio")
        let victim = try lab.ledger.acting(for: Principal(name: "t", role: .submitter, tenant: "radio"))
        let receipt = try await victim.submit(recipes: [LedgerLab.recipe("a")])
        // It cannot take a role that it lacks, and the settings alone change nothing.
        for other in AccessRole.allCases where other.databaseRole != role {
            let principal = try Principal(name: "t", role: other)
            let problem = try await failure(of: {
                try await source.run("test", opening: principal.opening) { _ = try $0.execute("select 1") }
            })
            #expect(problem.code == .ledgerPermissionDenied)
        }
        let opening = TransactionOpening(settings: [
            ("sluice.acting_for", "tenant:radio"), ("sluice.acting_as", "t"),
        ])
        try await lab.lab.run { connection in
            for name in ["caller", "acting_for"] {
                _ = try connection.script("grant execute on function \(lab.schema).\(name)() to \(login)")
            }
        }
        let who: String = try await source.run("test", opening: opening) { connection in
            try connection.value("select \(lab.schema).caller()::text")
        }
        #expect(who == login)
        guard role == "sluice_submitter" else { return }
        let cancelled = try await failure(of: {
            try await source.run("test", opening: opening) { connection in
                _ = try connection.execute(
                    "select \(lab.schema).cancel_jobs(\(JSON(text: "{\"batch\": \(receipt.batch)}")))"
                )
            }
        })
        #expect(cancelled.code == .ledgerPermissionDenied)
        #expect(try await lab.state(receipt.firstJob) == "waiting")
    }

    @Test(arguments: ["postgres", "tenant:", "tenant:a b", "token:a'; drop table job; --", "tenant:\\", "operator:x"])
    func aNameThatIsNeitherATokenNorATenantIsRefused(name: String) async throws {
        let lab = try await LedgerLab()
        let opening = TransactionOpening(settings: [("role", "sluice_viewer"), ("sluice.acting_for", name)])
        let problem = try await failure(of: {
            try await lab.ledger.source.run("test", opening: opening) { connection in
                _ = try connection.execute("select * from \(lab.schema).status()")
            }
        })
        #expect(problem.sqlState == "22023")
    }

    @Test(arguments: ["", "a b", "-a", "é", "a\n", String(repeating: "a", count: 51)])
    func aPrincipalHasAPlainName(name: String) throws {
        #expect(throws: LedgerError.self) { try Principal(name: name, role: .viewer) }
        #expect(throws: LedgerError.self) { try Principal(name: "a", role: .viewer, tenant: name) }
    }

    @Test func aTenantHasNoOperators() async throws {
        #expect(throws: LedgerError.self) { try Principal(name: "a", role: .operator, tenant: "b") }
        // Nor does the ledger believe a api that says so.
        let lab = try await LedgerLab()
        let own = try await lab.ledger.submit(recipes: [LedgerLab.recipe("a")])
        let opening = TransactionOpening(settings: [("role", "sluice_operator"), ("sluice.acting_for", "tenant:b")])
        let changed: Int = try await lab.ledger.source.run("test", opening: opening) { connection in
            try connection.value("select changed from \(lab.schema).cancel_jobs('{}')")
        }
        #expect(changed == 0)
        #expect(try await lab.state(own.firstJob) == "waiting")
    }

    @Test func principalsShareServerConnectionsBehindPgBouncer() async throws {
        let bouncer = try PrivatePostgresBouncer.start(before: .shared())
        let lab = try await LedgerLab()
        var configuration = try lab.configuration(bouncer.url(database: lab.lab.database))
        configuration.connectionLimit = 8
        let ledger = try JobLedger(configuration)
        defer { withExtendedLifetime(bouncer) {} }
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let acting = try ledger.acting(
                        for: Principal(name: "t\(number)", role: .submitter, tenant: "tenant\(number)")
                    )
                    _ = try await ledger.createTenant("tenant\(number)")
                    for round in 0..<10 {
                        let few = try await acting.submit(recipes: [LedgerLab.recipe("\(number)-\(round)")])
                        let many = try await acting.submit(Submission(), LedgerLab.requests(300, "\(number)/\(round)"))
                        #expect(try await acting.batches().allSatisfy { $0.submitter == "tenant:tenant\(number)" })
                        #expect(try await acting.apply(.cancel, to: JobFilter(batch: many.batch)).changed == 300)
                        #expect(try await acting.story(of: few.firstJob) != nil)
                        #expect(try await ledger.batch(few.batch)?.submitter == "tenant:tenant\(number)")
                    }
                    #expect(try await acting.batches(limit: 1_000).count == 20)
                }
            }
            try await group.waitForAll()
        }
    }
}
