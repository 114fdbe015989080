import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Malicious logins, each with the rights of its role and no more.
struct HostileSubmitterTests {
    private func login(_ role: String, _ lab: LedgerLab) throws -> JobLedger {
        let name = PrivatePostgres.freshName("user")
        try lab.lab.server.run("create role \(name) login in role \(role)")
        return try lab.ledger(as: name)
    }

    /// Submits directly to the SQL function, as a client with psql does.
    private func submit(_ jobs: String, as ledger: JobLedger) async throws {
        try await ledger.source.run("submit") { connection in
            _ = try connection.script(
                "select count(*) from \(ledger.schema).submit($jobs$\(jobs)$jobs$::jsonb)",
                changes: true
            )
        }
    }

    private func job(_ name: String, needs: [String] = [], more: String = "") -> String {
        let needs = needs.map { "\"\($0)\"" }.joined(separator: ",")
        return """
            {"needs": [\(needs)], "recipe": {"version": 1, "sources": [{"location": "in:\(name)"}],
             "outputs": [{"location": "out:\(name)"}]\(more)}}
            """
    }

    // MARK: - What it writes

    @Test(arguments: ["9e15", "1e300", "-1", "\"soon\"", "[1]", "{}", "true"])
    func noWallLimitStopsTheLookAtWhatRuns(limit: String) async throws {
        let lab = try await LedgerLab()
        let submitter = try login("sluice_submitter", lab)
        // The ledger refuses anything but a number from 0 to 2^63 - 1. A ledger from an older build may still hold
        // such values.
        let recipe = ", \"limits\": {\"wallSeconds\": \(limit)}"
        if limit == "9e15" {
            try await submit("[\(job("evil", more: recipe))]", as: submitter)
        } else {
            let error = try await failure { try await submit("[\(job("evil", more: recipe))]", as: submitter) }
            #expect(error.code == .ledgerRefused)
            try await submit("[\(job("evil"))]", as: submitter)
            try await lab.lab.run { connection in
                _ = try connection.script(
                    """
                    update \(lab.schema).job
                    set recipe = recipe || jsonb_build_object('limits', jsonb_build_object('wallSeconds', '\(limit)'::jsonb))
                    """,
                    changes: true
                )
            }
        }
        // A second job, whose worker has ended. The audit must find it.
        try await submit("[\(job("honest"))]", as: submitter)
        let worker = try await lab.worker()
        let fences: [Int64] = try await lab.lab.run { connection in
            let secret = WorkerSecrets[worker.worker]
            return try connection.rows("select job from \(lab.schema).claim(\(worker.worker), \(secret), 2)") {
                try $0[0]
            }
        }
        #expect(fences.count == 2)
        try await lab.lab.run { connection in
            try connection.execute(
                "update \(lab.schema).running set since = since - interval '1 day', worker = 1 where job = \(fences[1])"
            )
            try connection.execute("update \(lab.schema).running set since = since - interval '1 day'")
            try connection.execute("update \(lab.schema).house set quiet_until = '-infinity'")
        }
        let found: Int = try await lab.value("select affected from \(lab.schema).audit_running()")
        #expect(found >= 1)
        #expect(try await lab.state(fences[1]) == "waiting")
    }

    @Test func recipesAndLabelsHaveASize() async throws {
        let lab = try await LedgerLab()
        let submitter = try login("sluice_submitter", lab)
        // This text is small once it is compressed.
        let long = String(repeating: "x", count: 200_000)
        for jobs in [
            "[\(job("a", more: ", \"tags\": {\"t\": \"\(long)\"}"))]",
            "[\(job("b")), \(job("c", more: ", \"tags\": {\"t\": \"\(long)\"}"))]",
            "[{\"labels\": {\"l\": \"\(long)\"}, \(job("d").dropFirst())]",
        ] {
            let error = try await failure { try await submit(jobs, as: submitter) }
            #expect(error.code == .ledgerRefused)
            #expect(error.detail.contains("131072"), "\(error)")
        }
        // The same by COPY. The client refuses it before it sends anything.
        var recipe = LedgerLab.recipe("long")
        recipe.tags = ["t": .init(long)]
        let told = try await failure { _ = try await submitter.submit(recipes: [LedgerLab.recipe("a"), recipe]) }
        #expect(told.code == .ledgerRefused && told.detail.contains("job 2: its recipe has"), "\(told)")
        let staged = try await failure {
            try await submitter.source.run("submit") { connection in
                _ = try connection.script(
                    """
                    begin;
                    select \(lab.schema).stage_jobs();
                    insert into pg_temp.staged_job (ordinal, recipe)
                    values (1, jsonb_build_object('version', 1, 'tags', repeat('x', 70000000)));
                    select \(lab.schema).submit(null);
                    """,
                    changes: true
                )
            }
        }
        #expect(staged.code == .ledgerRefused && staged.detail.contains("131072"), "\(staged)")
        let label = try await failure {
            _ = try await submitter.submit(Submission(labels: ["l": long]), recipes: [LedgerLab.recipe("a")])
        }
        #expect(label.code == .ledgerRefused)
        #expect(try await lab.truth() == [:])
    }

    @Test func needsAreFew() async throws {
        let lab = try await LedgerLab()
        try await lab.set("lanes_per_submitter = 100")
        let submitter = try login("sluice_submitter", lab)
        let other = try login("sluice_submitter", lab)
        func jobs(_ count: Int, _ stem: String) -> String {
            "[" + (0..<count).map { job("\(stem)\($0)", needs: ["\(stem)\($0)"]) }.joined(separator: ",") + "]"
        }
        let many = try await failure { try await submit(jobs(65, "a"), as: submitter) }
        #expect(many.code == .ledgerRefused && many.detail.contains("65 different sets of requirements"), "\(many)")
        let words = try await failure {
            try await submit("[\(job("x", needs: (0..<33).map { "n\($0)" }))]", as: submitter)
        }
        #expect(words.code == .ledgerRefused)
        try await submit(jobs(64, "b"), as: submitter)
        try await submit(jobs(64, "c"), as: submitter)
        let more = try await failure { try await submit(jobs(1, "d"), as: submitter) }
        #expect(more.code == .ledgerRefused && more.detail.contains("100"), "\(more)")
        // The limit affects neither lanes that are already open nor other submitters.
        try await submit(jobs(64, "b"), as: submitter)
        try await submit(jobs(64, "e"), as: other)
        // The limit no longer applies once nothing waits in the lanes.
        _ = try await submitter.apply(.cancel, to: JobFilter())
        try await lab.age(by: .seconds(700))
        _ = try await lab.ledger.keepHouse()
        try await lab.age(by: .seconds(700))
        _ = try await lab.ledger.keepHouse()
        let open: Int = try await lab.value(
            "select count(*) from \(lab.schema).lane where is_open and not needs <@ '{recipe:1}'"
        )
        #expect(open == 64)
        try await submit(jobs(1, "d"), as: submitter)
    }

    @Test func closedLinesOpenForTheNextJob() async throws {
        let lab = try await LedgerLab()
        for round in 1...3 {
            try await lab.submit(3)
            let worker = try await lab.worker()
            // Claims work both before housekeeping has run and after it.
            #expect(try await lab.claim(1, for: worker).count == 1)
            _ = try await lab.ledger.keepHouse()
            let claims = try await lab.claim(2, for: worker)
            #expect(claims.count == 2, "round \(round)")
            try await lab.ledger.release([claims[0].fence])
            #expect(try await lab.claim(1, for: worker).count == 1)
            let held = try await lab.ledger.held(by: worker.worker).jobs.map(\.fence)
            try await lab.ledger.publish(held.map(LedgerLab.publication))
            try await lab.ledger.finish(held)
            for _ in 0..<3 {
                try await lab.age(by: .seconds(700))
                _ = try await lab.ledger.keepHouse()
            }
            let open: Int = try await lab.value("select count(*) from \(lab.schema).lane where is_open")
            #expect(open == 0)
        }
    }

    @Test func queuesAreMadeOnlySoOften() async throws {
        let lab = try await LedgerLab()
        try await lab.set("queues_allowed = 5")
        let submitter = try login("sluice_submitter", lab)
        for number in 1...4 {
            _ = try await submitter.submit(Submission(queue: "q\(number)"), recipes: [LedgerLab.recipe("a")])
        }
        let error = try await failure {
            _ = try await submitter.submit(Submission(queue: "q5"), recipes: [LedgerLab.recipe("a")])
        }
        #expect(error.code == .ledgerRefused)
        _ = try await submitter.submit(Submission(queue: "q4"), recipes: [LedgerLab.recipe("a")])
    }

    /// The refusal says which name cannot be used, and does not show the constraint of the table.
    @Test func namesThatCannotBeAreToldInWords() async throws {
        let lab = try await LedgerLab()
        func text(_ body: () async throws -> Void) async throws -> String {
            let error = try await failure { try await body() }
            #expect(error.code == .ledgerRefused && error.sqlState == "22023")
            #expect(!error.detail.contains("constraint") && !error.detail.contains("_check"), "\(error.detail)")
            return error.detail
        }
        for count in [1, 2] {
            let queue = try await text {
                _ = try await lab.ledger.submit(Submission(queue: "a b"), LedgerLab.requests(count))
            }
            #expect(queue == "\"a b\" cannot be the name of a queue")
        }
        #expect(
            try await text { _ = try await lab.ledger.createTenant("x/y") } == "\"x/y\" cannot be the name of a tenant"
        )
        let token = try await text {
            _ = try await lab.ledger.createToken(named: "ci", role: .submitter, queue: "a b")
        }
        #expect(token == "\"a b\" cannot be the name of a queue")
        let long = String(repeating: "x", count: 1_001)
        for (submission, name) in [(Submission(label: long), "name"), (Submission(key: long), "key")] {
            let text = try await text { _ = try await lab.ledger.submit(submission, LedgerLab.requests(2)) }
            #expect(text == "the \(name) of the batch takes 1001 bytes, and may take 1000")
        }
    }

    // MARK: - What it does to others

    @Test func submittersSteerTheirOwnBatches() async throws {
        let lab = try await LedgerLab()
        let (alice, bob) = (try login("sluice_submitter", lab), try login("sluice_submitter", lab))
        let operating = try login("sluice_operator", lab)
        let hers = try await alice.submit(recipes: (0..<3).map { LedgerLab.recipe("alice\($0)") })
        let his = try await bob.submit(recipes: (0..<2).map { LedgerLab.recipe("bob\($0)") })

        #expect(try await bob.count(of: .cancel, matching: JobFilter()) == 2)
        #expect(try await bob.apply(.prioritize(7), to: JobFilter()).changed == 2)
        #expect(try await bob.apply(.cancel, to: JobFilter(ids: [hers.firstJob])).changed == 0)
        #expect(try await bob.apply(.cancel, to: JobFilter(sourcePrefix: "in:alice")).changed == 0)
        // No filter that our client never sends helps either.
        for filter in [
            "null", "'[]'", "'1'", "'{\"submitter\": \"\(PrivatePostgres.freshName())\"}'", "'{\"ids\": null}'",
        ] {
            _ = try? await bob.source.run("cancel") { connection in
                _ = try connection.script(
                    "select \(lab.schema).cancel_jobs((\(filter)::jsonb) || '{\"states\": [\"running\"]}')",
                    changes: true
                )
                _ = try connection.script("select \(lab.schema).cancel_jobs(\(filter))", changes: true)
            }
        }
        #expect(try await alice.count(of: .cancel, matching: JobFilter()) == 3)
        #expect(try await bob.apply(.retry, to: JobFilter()).seen <= 2)
        #expect(try await bob.apply(.cancel, to: JobFilter()).changed == 2)
        let batch = try await failure { _ = try await bob.apply(.cancel, to: JobFilter(batch: hers.batch)) }
        #expect(batch.code == .ledgerPermissionDenied && batch.detail.contains("belongs to"), "\(batch)")
        #expect(try await lab.truth() == ["waiting": 3, "cancelled": 2])
        #expect(try await bob.apply(.retry, to: JobFilter(batch: his.batch)).changed == 2)

        let worker = try await lab.worker()
        for refused: @Sendable () async throws -> Void in [
            { try await bob.setPaused(true, queue: "default") },
            { try await bob.setRunningLimit(1, queue: "default") },
            { _ = try await bob.wish(.drain, of: worker.worker) },
            { _ = try await operating.submit(recipes: [LedgerLab.recipe("x")]) },
        ] {
            #expect(try await failure(of: refused).code == .ledgerPermissionDenied)
        }
        try await operating.setPaused(true, queue: "default")
        try await operating.setPaused(false, queue: "default")
        #expect(try await operating.wish(.drain, of: worker.worker))
        #expect(try await operating.apply(.cancel, to: JobFilter(batch: hers.batch)).changed == 3)
        // The owner of the ledger may do everything, as in a private cluster.
        #expect(try await lab.ledger.apply(.retry, to: JobFilter()).changed == 3)
    }

    @Test func submittersSeeAllOrTheirOwnAsTheLedgerIsSet() async throws {
        let lab = try await LedgerLab()
        let (alice, bob) = (try login("sluice_submitter", lab), try login("sluice_submitter", lab))
        let hers = try await alice.submit(recipes: (0..<3).map { LedgerLab.recipe("alice\($0)") })
        let his = try await bob.submit(recipes: (0..<2).map { LedgerLab.recipe("bob\($0)") })
        #expect(try await bob.jobs().jobs.count == 5)
        try await lab.set("submitters_see = 'own'")
        #expect(try await bob.jobs().jobs.map(\.batch) == [his.batch, his.batch])
        #expect(try await bob.jobs(matching: JobFilter(sourcePrefix: "in:")).jobs.count == 2)
        #expect(try await bob.jobs(matching: JobFilter(batch: hers.batch)).jobs.isEmpty)
        #expect(try await bob.count() == 2)
        #expect(try await bob.story(of: hers.firstJob) == nil)
        #expect(try await bob.story(of: his.firstJob) != nil)
        #expect(try await bob.batch(hers.batch) == nil)
        #expect(try await bob.batches().map(\.batch) == [his.batch])
        #expect(try await bob.jobs(ofBatch: hers.batch).isEmpty)
        let destinations = [LedgerLab.recipe("alice0"), LedgerLab.recipe("bob0")].map { $0.outputs[0].location }
        #expect(try await bob.earlierJobs(at: destinations).map(\.?.batch) == [nil, his.batch])
        #expect(try await bob.makers(of: destinations.map(RecordedOutput.init(at:))).map(\.count) == [0, 1])
        for role in ["sluice_viewer", "sluice_operator"] {
            let other = try login(role, lab)
            #expect(try await other.makers(of: destinations.map(RecordedOutput.init(at:))).map(\.count) == [1, 1])
            #expect(try await other.jobs().jobs.count == 5)
            #expect(try await other.count() == 5)
        }
        #expect(try await lab.ledger.jobs().jobs.count == 5)
    }

    /// Otherwise a submitter could get another's batch as the answer to a key, or block a nightly key.
    @Test func submittersTakeNoKeysFromEachOther() async throws {
        let lab = try await LedgerLab()
        let (alice, bob) = (try login("sluice_submitter", lab), try login("sluice_submitter", lab))
        let nightly = Submission(key: "nightly")
        let his = try await bob.submit(nightly, recipes: [LedgerLab.recipe("bob")])
        let hers = try await alice.submit(nightly, recipes: [LedgerLab.recipe("alice")])
        #expect(!hers.isRepetition && hers.batch != his.batch)
        let again = try await alice.submit(nightly, recipes: [LedgerLab.recipe("alice")])
        #expect(again.isRepetition && again.isSameRequest && again.batch == hers.batch)
    }

    @Test func workersSpeakForThemselvesAlone() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(2)
        let victim = try login("sluice_worker", lab)
        let entry = try await victim.register(WorkerRegistration(name: "w", host: "h", build: "1", slots: 1))
        let claims = try await victim.claim(2, for: entry.worker).jobs
        #expect(claims.count == 2)
        #expect(try await victim.held(by: entry.worker).jobs == claims)
        let thief = try login("sluice_worker", lab)
        let thiefs = try await thief.register(WorkerRegistration(name: "w", host: "h", build: "1", slots: 1)).worker
        let own = try #require(WorkerSecrets[thiefs])
        #expect(try await thief.held(by: thiefs).jobs.isEmpty)
        let calls = [
            "held(%)", "claim(%, 1)", "beat(%)", "bar_claims(%, 100)", "stop_worker(%)", "set_abilities(%, '{}')",
        ]
        for call in calls {
            for secret in ["null", "gen_random_uuid()", "'\(own.uuidString)'"] {
                let words = call.replacingOccurrences(of: "%", with: "\(entry.worker), \(secret)")
                let error = try await failure {
                    try await thief.source.run("speak for another") { connection in
                        _ = try connection.script("select \(lab.schema).\(words)", changes: true)
                    }
                }
                #expect(error.code == .ledgerPermissionDenied, "\(words)")
            }
        }
        // The same for a worker that the ledger no longer knows.
        for (worker, number) in [(Int64(4_711), 0), (entry.worker, 2)] {
            try await lab.lab.run { connection in
                try connection.execute("update \(lab.schema).running set worker = \(worker)")
            }
            let secret = WorkerSecrets[entry.worker]
            let told: Int = try await lab.value("select count(*) from \(lab.schema).held(\(worker), \(secret))")
            #expect(told == number)
        }
        #expect(try await victim.held(by: entry.worker).jobs == claims)
        #expect(try await Heartbeat(victim.configuration).beat(entry.worker).isAlive)
        // The secret cannot be read in any other way.
        for text in ["select secret from \(lab.schema).worker", "select * from \(lab.schema).list_workers()"] {
            let error = try await failure {
                try await thief.source.run("look") { _ = try $0.script(text, changes: false) }
            }
            #expect(error.code == .ledgerPermissionDenied)
        }
    }
}
