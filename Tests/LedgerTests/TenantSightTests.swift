import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// What one tenant learns of another: nothing. Both have jobs in all states, in the same queue.
struct TenantSightTests {
    /// The jobs of one tenant. All that belongs to it carries its name.
    private struct Holding {
        let name: String
        let ledger: JobLedger
        var batches: [Int64] = []
        var jobs: [Int64] = []

        /// Submits under a label, and leaves jobs waiting, delayed, running, completed, failed and cancelled, and the result of
        /// a scan.
        init(_ name: String, waiting: Int, _ lab: LedgerLab) async throws {
            self.name = name
            _ = try await lab.ledger.createTenant(name)
            ledger = try lab.ledger.acting(for: Principal(name: "\(name)-ci", role: .submitter, tenant: name))
            func submit(_ part: String, _ count: Int, at runAt: Date? = nil) async throws -> SubmissionReceipt {
                let jobs = (0..<count).map { JobRequest(LedgerLab.recipe("\(name)/\(part)/\($0)")) }
                return try await ledger.submit(
                    Submission(label: "\(name) \(part)", key: "\(name) \(part)", priority: 9, runAt: runAt),
                    jobs
                )
            }
            var receipts: [SubmissionReceipt] = []
            // Claimed at once, so all that others have submitted meanwhile stays as it is.
            receipts.append(try await submit("ended", 6))
            let worker = try await lab.worker("w-\(name)")
            let claims = try await lab.claim(6, for: worker)
            #expect(claims.count == 6)
            #expect(claims.allSatisfy { $0.tenant == name })
            #expect(try await lab.ledger.held(by: worker.worker).jobs.map(\.tenant) == claims.map(\.tenant))
            let fences = claims.map(\.fence)
            #expect(try await lab.ledger.publish(fences[..<2].map(LedgerLab.publication)) == [.done, .done])
            #expect(try await lab.ledger.finish([fences[0]]) == [.done])
            #expect(
                try await lab.ledger.fail([
                    AttemptFailure(fences[2], LedgerLab.failure(.permanent, code: "code_of_\(name)")),
                    AttemptFailure(fences[3], LedgerLab.failure(.transient, code: "later_of_\(name)")),
                ]) == [.done, .done]
            )
            let scan = Recipe(scanning: .init(location: "in:\(name)/scan.wav"))
            receipts.append(try await ledger.submit(Submission(label: "\(name) scan", priority: 9), [JobRequest(scan)]))
            let scanning = try #require(try await lab.claim(1, for: worker).first)
            #expect(scanning.recipe.scan != nil)
            let digest = String(repeating: "0f", count: 32)
            let sound = SoundDigest(sha256: digest, form: "s16le", sampleRateHz: 8_000, channelCount: 1)
            let stamp = SourceStamp(bytes: 1, modified: 2)
            #expect(try await lab.ledger.recordScan(sound, of: stamp, scanning.fence) == .recorded)
            receipts.append(try await submit("cancelled", 3))
            #expect(try await ledger.apply(.cancel, to: JobFilter(batch: receipts[2].batch)).changed == 3)
            receipts.append(try await submit("waiting", waiting))
            receipts.append(try await submit("delayed", 2, at: .now + 86_400))
            _ = try await ledger.begin(.prioritize(5), on: JobFilter(sourcePrefix: "in:\(name)/"))
            batches = receipts.map(\.batch)
            jobs = receipts.flatMap { Array($0.firstJob...$0.lastJob) }
        }

        var count: Int { jobs.count }
    }

    private struct Scene {
        let lab: LedgerLab
        let alpha: Holding
        let bravo: Holding

        /// The ids of the second tenant are recognised by their size.
        init() async throws {
            lab = try await LedgerLab()
            // The back-off is a random share of this. A job of one tenant that is due would go to the other's worker.
            try await lab.set("retry_base = '10000 days', retry_cap = '10000 days'")
            let schema = lab.schema
            alpha = try await Holding("alpha", waiting: 5, lab)
            try await lab.lab.run { connection in
                _ = try connection.script(
                    """
                    select setval('\(schema).job_id', 770000);
                    alter table \(schema).batch alter column id restart with 880000;
                    """,
                    changes: true
                )
            }
            // Claims take the newest priority first, so that each tenant's worker gets its own tenant's jobs.
            _ = try await lab.ledger.apply(.prioritize(0), to: JobFilter(batch: alpha.batches[3]))
            bravo = try await Holding("bravo", waiting: 37, lab)
            #expect(bravo.jobs.allSatisfy { $0 >= 770_000 } && bravo.batches.allSatisfy { $0 >= 880_000 })
        }

        /// What a call by a tenant answers, as JSON.
        func answer(_ call: String, to holding: Holding, _ role: AccessRole = .submitter) async throws -> String {
            let principal = try Principal(name: "\(holding.name)-ci", role: role, tenant: holding.name)
            let sql = "select coalesce(jsonb_agg(to_jsonb(r)), '[]')::text from \(lab.schema).\(call) r"
            return try await lab.ledger.source.run("test", opening: principal.opening) { connection in
                try connection.value(Statement(stringLiteral: sql))
            }
        }
    }

    private static let scans = "find_scans(array['in:bravo/ended/0.wav', 'in:bravo/scan.wav'])"
    /// Calls of all functions that tell something. `$ids`, `$batch` and `$key` are the other tenant's.
    private static let calls: [String: [String]] = [
        "batch_jobs": ["batch_jobs($batch)"], "counts": ["counts()"], "status": ["status()"],
        "list_queues": ["list_queues()"],
        "list_batches": ["list_batches()", "list_batches(only_batch => $batch)", "list_batches(before => 990000)"],
        "find_batches": ["find_batches('bravo waiting')", "find_batches(null)"],
        "find_batch": ["find_batch('bravo waiting')"],
        "show_jobs": ["show_jobs(array[$ids]::bigint[])"], "list_attempts": ["list_attempts(array[$ids]::bigint[])"],
        "list_amendments": ["list_amendments(array[$ids]::bigint[])"],
        "list_failures": [
            "list_failures()", "list_failures(batch_id => $batch)", "list_failures(queue_name => 'default')",
            "list_failures(since => now() - interval '1 day')",
        ],
        "list_unable": ["list_unable()"], "paused_batches": ["paused_batches()"],
        "list_holds": ["list_holds()"], "show_tenant": ["show_tenant()"],
        "list_presets": ["list_presets()"], "find_preset": ["find_preset('bravo-house')"],
        "list_filters": ["list_filters()"],
        "list_webhooks": ["list_webhooks()"], "unsent_deliveries": ["unsent_deliveries()"],
        "list_deliveries": ["list_deliveries()", "list_deliveries(in_state => 'waiting')"],
        "list_makers": ["list_makers(array['out:bravo/ended/0.flac', 'out:bravo/waiting/0.flac'])"],
        "list_changes": ["list_changes()"], "show_change": ["show_change(1)", "show_change(2)"],
        "find_earlier": ["find_earlier(array['out:bravo/ended/0.flac', 'out:bravo/waiting/0.flac'], true)"],
        "find_scans": [Self.scans],
    ]
    /// Calls with a filter.
    private static let filtered: Set<String> = [
        "find_jobs", "list_jobs", "list_outputs", "count_jobs", "count_containing",
    ]
    /// Filters that match jobs of both tenants, or of the other one alone.
    private static let filters =
        [
            "{}", #"{"ids": [$ids]}"#, #"{"batch": $batch}"#, #"{"queue": "default"}"#,
            #"{"submitter": "tenant:bravo"}"#, #"{"codes": ["code_of_bravo"]}"#, #"{"classes": ["permanent"]}"#,
            #"{"stages": ["decode"]}"#, #"{"source_prefix": "in:bravo"}"#, #"{"source_prefix": "in:"}"#,
            #"{"source_contains": "bravo"}"#, #"{"source_contains": "wav"}"#, #"{"remarks": true}"#,
            #"{"submitted_from": "2000-01-01"}"#, #"{"submitted_before": "2100-01-01"}"#,
            #"{"ended_from": "2000-01-01"}"#, #"{"ended_before": "2100-01-01"}"#,
        ]
        + JobState.allCases.flatMap {
            [#"{"states": ["\#($0.rawValue)"]}"#, #"{"states": ["\#($0.rawValue)"], "queue": "default"}"#]
        }
    /// What a tenant may not call, though its role may.
    private static let refused: Set<String> = [
        "demand", "paces", "failure_hours", "list_workers", "list_chores", "count_spans",
    ]
    /// What tells nothing of jobs, or changes them: see the next test.
    private static let silent: Set<String> = [
        "save_filter", "remove_filter",
        "ledger_time", "stage_jobs", "submit", "submit_each", "tell_workers", "cancel_jobs", "retry_jobs",
        "prioritize_jobs", "accept_jobs", "start_change", "wish_change", "step_change", "fail_change", "create_webhook",
        "remove_webhook",
        "test_webhook", "retry_deliveries", "add_notices",
        "begin_upload", "end_upload", "cancel_upload",
    ]

    private static func fill(_ call: String, _ other: Holding) -> String {
        call.replacing("$ids", with: other.jobs.map(String.init).joined(separator: ", "))
            .replacing("$batch", with: "\(other.batches[0])")
    }

    @Test func noFunctionTellsATenantOfAnother() async throws {
        let scene = try await Scene()
        let all = Set(Self.calls.keys).union(Self.filtered).union(Self.refused).union(Self.silent)
        // A new function needs a call here.
        #expect(GrantTests.functions["sluice_submitter"] == all)
        let filtered = Self.filtered.flatMap { name in
            Self.filters.map { "\(name)('\($0)')" } + [#"\#(name)('{"batch": $batch}')"#]
        }
        let webhook = try await scene.bravo.ledger.createWebhook(
            NewWebhook(at: "https://bravo.example/", for: .submitter(nil))
        ).id
        _ = try await scene.bravo.ledger.testWebhook(webhook)
        #expect(try await scene.lab.ledger.setLimits(TenantLimits(outputBytes: 1), of: "bravo"))
        let output = Recipe.Output(location: OwnPreset.output, format: AudioFormat(container: .flac))
        let recipe = Recipe(from: Recipe.Source(location: OwnPreset.source), to: output)
        let preset = try OwnPreset(PresetReference(name: "bravo-house"), recipe)
        _ = try await scene.lab.ledger.put(preset, ofTenant: "bravo")
        try await scene.bravo.ledger.saveFilter("bravo filter", "source=in:bravo")
        // Of a queue that runs, it would tell nothing.
        try await scene.lab.ledger.setPaused(true, queue: "default")
        _ = try await scene.lab.ledger.keepHouse()
        for call in Self.calls.values.flatMap(\.self) + filtered {
            let text = try await scene.answer(Self.fill(call, scene.bravo), to: scene.alpha)
            #expect(!text.contains("bravo") && !text.contains("webhook.test"), "\(call): \(text)")
            #expect(text.firstMatch(of: /[^0-9.:](77|88)[0-9]{4}[^0-9]/) == nil, "\(call): \(text)")
        }
        // The calls are able to tell: the other tenant sees itself.
        let paused = try await scene.answer("paused_batches()", to: scene.bravo)
        #expect(paused.firstMatch(of: /[^0-9.:]88[0-9]{4}[^0-9]/) != nil, "\(paused)")
        for call in ["list_batches()", "list_failures()", "list_jobs('{}')", "show_jobs(array[$ids]::bigint[])"] {
            let text = try await scene.answer(Self.fill(call, scene.bravo), to: scene.bravo)
            #expect(text.contains("bravo") && text.firstMatch(of: /[^0-9.:](77|88)[0-9]{4}[^0-9]/) != nil)
        }
        let scans = try await scene.answer(Self.scans, to: scene.bravo)
        #expect(scans.contains(#""is_damaged": false"#), "\(scans)")
        #expect(scans.firstMatch(of: /[^0-9.:]77[0-9]{4}[^0-9]/) != nil, "\(scans)")
        #expect(try await scene.answer("list_presets()", to: scene.bravo).contains("bravo-house"))
        #expect(try await scene.answer("list_filters()", to: scene.bravo).contains("bravo filter"))
        #expect(try await scene.answer("list_webhooks()", to: scene.bravo).contains("https://bravo.example/"))
        #expect(try await scene.answer("list_deliveries()", to: scene.bravo).contains("webhook.test"))
        #expect(try await scene.answer("list_holds()", to: scene.bravo).contains("bravo"))
        for name in Self.refused {
            let argument = ["paces", "failure_hours"].contains(name) ? "now()" : ""
            for role in [AccessRole.viewer, .submitter] {
                let problem = try await failure(of: {
                    _ = try await scene.answer("\(name)(\(argument))", to: scene.alpha, role)
                })
                #expect(problem.code == .ledgerPermissionDenied, "\(name)")
            }
        }
    }

    @Test func countsAreThoseOfTheTenant() async throws {
        let scene = try await Scene()
        for folded in [false, true] {
            if folded { _ = try await scene.lab.ledger.keepHouse() }
            for holding in [scene.alpha, scene.bravo] {
                let waiting = holding.name == "alpha" ? 5 : 37
                let status = try await holding.ledger.status()
                #expect(status.jobs.waiting == waiting && status.jobs.total == holding.count, "\(folded)")
                #expect(try await holding.ledger.counts()["default"] == status.jobs)
                #expect(try await holding.ledger.queues().map(\.jobs) == [status.jobs])
                let filters = [JobFilter(), JobFilter(queue: "default"), JobFilter(states: JobState.allCases)]
                for filter in filters {
                    let count = try await holding.ledger.count(matching: filter)
                    #expect(count == holding.count, "\(filter)")
                }
                #expect(try await holding.ledger.failures().map(\.jobs) == [1])
            }
        }
        let stranger = try scene.lab.ledger.acting(for: Principal(name: "x", role: .viewer, tenant: "nobody"))
        #expect(try await stranger.status().jobs.total == 0)
        #expect(try await stranger.queues().isEmpty)
    }

    /// What it reads does not grow with the batches of all: it read each of them.
    @Test func aTenantPaysForItsOwnBatchesOnly() async throws {
        let scene = try await Scene()
        let (schema, alpha) = (scene.lab.schema, scene.alpha)
        try await scene.lab.lab.run { connection in
            _ = try connection.script(
                """
                insert into \(schema).batch (name, queue, priority, weight, labels, submitter, created_at)
                select 'b' || i, 1, 0, 100, '{}', case i % 2 when 0 then 'postgres' else 'tenant:bravo' end, now()
                from generate_series(1, 40000) i;
                analyze \(schema).batch;
                """,
                changes: true
            )
        }
        let principal = try Principal(name: "alpha-ci", role: .viewer, tenant: "alpha")
        for call in ["counts()", "status()", "list_queues()", "list_batches()", "count_jobs('{}')"] {
            let sql = "explain (analyze, buffers) select * from \(schema).\(call)"
            let plan: [String] = try await scene.lab.ledger.source.run("test", opening: principal.opening) {
                connection in
                // The first call also reads the catalog.
                _ = try connection.rows(Statement(stringLiteral: sql)) { try $0[0] as String }
                return try connection.rows(Statement(stringLiteral: sql)) { try $0[0] }
            }
            let line = try #require(plan.first { $0.contains("Buffers: shared") })
            let blocks = line.matches(of: /(?:hit|read)=([0-9]+)/).compactMap { Int($0.1) }.reduce(0, +)
            // All batches have a thousand.
            #expect(blocks > 0 && blocks < 200, "\(call): \(line)")
        }
        #expect(try await alpha.ledger.batches().map(\.batch) == alpha.batches.reversed())
        #expect(try await alpha.ledger.batches(before: alpha.batches[2], limit: 1).map(\.batch) == [alpha.batches[1]])
    }

    /// The sums of a tenant fall with its jobs.
    @Test func countsFallWhenJobsAreDropped() async throws {
        let lab = try await LedgerLab()
        try await lab.set("span_size = 1000, keep = '2 h'")
        _ = try await lab.ledger.createTenant("radio")
        let tenant = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
        for _ in 0..<4 {
            let receipt = try await tenant.submit(Submission(), LedgerLab.requests(900))
            #expect(try await tenant.apply(.cancel, to: JobFilter(batch: receipt.batch)).changed == 900)
        }
        _ = try await lab.ledger.keepHouse()
        #expect(try await tenant.status().jobs.cancelled == 3_600)
        try await lab.age(by: .seconds(3 * 3_600))
        for _ in 0..<30 {
            try await lab.age(by: .seconds(400))
            _ = try await lab.ledger.keepHouse()
        }
        let finished: Int = try await lab.value("select count(*) from \(lab.schema).finished")
        #expect(try await tenant.status().jobs.cancelled == finished && finished < 3_600)
        #expect(try await lab.ledger.status().jobs.cancelled == finished)
    }

    @Test func aTenantLearnsWhichWorkerDidWhatOnlyIfItMay() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.createTenant("radio")
        let radio = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
        let receipt = try await radio.submit(recipes: [LedgerLab.recipe("a")])
        let worker = try await lab.worker("pump-1")
        #expect(try await lab.claim(for: worker).count == 1)
        func told(_ ledger: JobLedger) async throws -> [String?] {
            let story = try #require(try await ledger.story(of: receipt.firstJob))
            let attempt = try #require(story.attempts.first)
            let listed = try await ledger.jobs(matching: JobFilter()).jobs.first
            let names: [String?] = [story.summary.worker, listed?.worker, attempt.workerName]
            return names + [attempt.host, attempt.build, attempt.libraries]
        }
        let all = try await told(lab.ledger)
        let named: [String] = all.compactMap(\.self)
        #expect(named.prefix(5) == ["pump-1", "pump-1", "pump-1", "h", "1.0"])
        let hidden: [String] = try await told(radio).compactMap(\.self)
        #expect(hidden == [])
        try await lab.set("tenants_see_workers = true")
        let shown = try await told(radio)
        #expect(shown == all)
    }

    @Test func noChangeReachesTheJobsOfAnother() async throws {
        let scene = try await Scene()
        let (lab, alpha, bravo) = (scene.lab, scene.alpha, scene.bravo)
        func states() async throws -> [String] {
            let ids = bravo.jobs
            return try await lab.lab.run { connection in
                try connection.rows(
                    "select j.state || ' ' || j.priority from \(lab.schema).show_jobs(\(ids)) j order by j.job"
                ) { try $0[0] }
            }
        }
        let before = try await states()
        #expect(Set(before).count >= 6)
        for filter in Self.filters {
            for verb in ["cancel_jobs('$f')", "retry_jobs('$f')", "prioritize_jobs('$f', 3)", "accept_jobs('$f')"] {
                let call = Self.fill(verb.replacing("$f", with: filter), bravo)
                do { _ = try await scene.answer(call, to: alpha) } catch let error as LedgerError {
                    #expect(error.code == .ledgerPermissionDenied && filter.contains("batch"), "\(call): \(error)")
                }
            }
        }
        #expect(try await states() == before)
    }
}
