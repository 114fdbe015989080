import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// What a tenant may submit.
struct QuotaTests {
    /// A ledger with a tenant, and the ledger as the tenant sees it.
    private struct Scene {
        let lab: LedgerLab
        let tenant: JobLedger

        init(_ limits: TenantLimits) async throws {
            lab = try await LedgerLab()
            #expect(try await lab.ledger.createTenant("radio"))
            #expect(try await lab.ledger.setLimits(limits, of: "radio"))
            tenant = try lab.ledger.acting(for: Principal(name: "ci", role: .submitter, tenant: "radio"))
        }

        func code(_ body: @escaping @Sendable () async throws -> Void) async throws -> FailureCode {
            try await failure(of: { try await body() }).code
        }

        /// Ways to submit `count` jobs.
        func submit(_ count: Int, key: String? = nil) async throws -> SubmissionReceipt {
            try await tenant.submit(Submission(key: key), LedgerLab.requests(count))
        }
    }

    private static func request(_ source: String, _ output: String) -> JobRequest {
        JobRequest(Recipe(from: Recipe.Source(location: source), to: Recipe.Output(location: output)))
    }

    @Test func onlySoManyBytesAreUploadedInADay() async throws {
        let scene = try await Scene(TenantLimits(writes: ["in:radio/"], uploadBytes: 1_000))
        @Sendable func begin(_ bytes: Int64, to location: String = "in:radio/a", _ upload: UploadID = UploadID())
            async throws
        {
            try await scene.tenant.beginUpload(upload, to: location, bytes: bytes)
        }
        for place in ["in:a", "in:radio", "in:radio/../a", "out:radio/a"] {
            #expect(try await scene.code { try await begin(1, to: place) } == .ledgerPermissionDenied)
        }
        let (first, second) = (UploadID(), UploadID())
        try await begin(600, first)
        // A repeated call counts once.
        try await begin(600, first)
        #expect(try await scene.code { try await begin(401) } == .ledgerQuotaExceeded)
        try await begin(400, second)
        #expect(try await scene.code { try await begin(1) } == .ledgerQuotaExceeded)
        try await scene.tenant.cancelUpload(second)
        try await begin(400)
        try await scene.tenant.endUpload(first, to: "in:radio/a", bytes: 600, digest: "aa", isNew: false)
        try await begin(600)
        #expect(try await scene.code { try await begin(1) } == .ledgerQuotaExceeded)
        #expect(try await scene.lab.ledger.audit().first?.what == "upload")
        // Only a process that acts for another records uploads.
        let direct = scene.lab.ledger
        #expect(
            try await scene.code { try await direct.endUpload(first, to: "x", bytes: 1, digest: "", isNew: true) }
                == .ledgerRefused
        )
    }

    @Test func onlySoManyJobsWait() async throws {
        let scene = try await Scene(TenantLimits(waitingJobs: 300))
        _ = try await scene.submit(1)
        let receipt = try await scene.submit(298, key: "k")
        #expect(try await scene.code { _ = try await scene.submit(2) } == .ledgerQuotaExceeded)
        #expect(try await scene.code { _ = try await scene.submit(400) } == .ledgerQuotaExceeded)
        _ = try await scene.submit(1)
        #expect(try await scene.code { _ = try await scene.submit(1) } == .ledgerQuotaExceeded)
        // A repetition adds nothing, so it is answered.
        #expect(try await scene.submit(298, key: "k").batch == receipt.batch)
        #expect(try await scene.lab.truth() == ["waiting": 300])
        // Others have no such limit.
        try await scene.lab.submit(500)

        // A job that has started makes room for another, and a retry may not exceed the limit either.
        let worker = try await scene.lab.worker()
        _ = try await scene.lab.ledger.apply(.prioritize(9), to: JobFilter(batch: receipt.batch))
        #expect(try await scene.lab.claim(10, for: worker).count == 10)
        _ = try await scene.submit(10)
        #expect(try await scene.tenant.apply(.cancel, to: JobFilter(states: [.waiting])).changed == 300)
        _ = try await scene.submit(290)
        #expect(
            try await scene.code { try await scene.tenant.apply(.retry, to: JobFilter(batch: receipt.batch)) }
                == .ledgerQuotaExceeded
        )
        #expect(try await scene.lab.ledger.setLimits(TenantLimits(), of: "radio"))
        #expect(try await scene.tenant.apply(.retry, to: JobFilter(batch: receipt.batch)).changed == 288)
    }

    @Test func manySubmissionsAtOnceDoNotExceedTheLimit() async throws {
        let scene = try await Scene(TenantLimits(waitingJobs: 25))
        let results = await withTaskGroup(of: Bool.self) { tasks in
            for number in 0..<60 {
                tasks.addTask {
                    do {
                        _ = try await scene.tenant.submit(recipes: [LedgerLab.recipe("n\(number)")])
                        return true
                    } catch let error as LedgerError {
                        #expect(error.code == .ledgerQuotaExceeded)
                        return false
                    } catch { return false }
                }
            }
            return await tasks.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(results == 25)
        #expect(try await scene.lab.truth() == ["waiting": 25])
    }

    @Test func placesOfOthersAreRefused() async throws {
        let scene = try await Scene(TenantLimits(reads: ["in:radio/", "archive:"], writes: ["out:radio/"]))
        let tenant = scene.tenant
        let right = [("in:radio/a.wav", "out:radio/a.flac"), ("archive:x/y.wav", "out:radio/b/c.flac")]
        for (source, output) in right { _ = try await tenant.submit(Submission(), [Self.request(source, output)]) }
        let wrong = [
            ("in:tv/a.wav", "out:radio/a.flac"), ("in:radio/a.wav", "out:tv/a.flac"),
            ("in:radio/../tv/a.wav", "out:radio/a.flac"), ("in:radio/a.wav", "out:radio/../a.flac"),
            ("archive:../x.wav", "out:radio/a.flac"), ("/etc/passwd.wav", "out:radio/a.flac"),
            ("in:radio", "out:radio/a.flac"), ("in:radio/a.wav", "/tmp/a.flac"), ("in:radio/a.wav", "archive:a.flac"),
        ]
        for (source, output) in wrong {
            let request = Self.request(source, output)
            #expect(
                try await scene.code { _ = try await tenant.submit(Submission(), [request]) }
                    == .ledgerPermissionDenied,
                "\(source) \(output)"
            )
            // Among many, by COPY.
            let many = (0..<300).map { Self.request("in:radio/\($0).wav", "out:radio/\($0).flac") } + [request]
            #expect(
                try await scene.code { _ = try await tenant.submit(Submission(), many) } == .ledgerPermissionDenied,
                "\(source) \(output)"
            )
        }
        // A second source or output counts as well.
        let second = Recipe.Source(location: "in:tv/b.wav")
        var recipe = Self.request("in:radio/a.wav", "out:radio/a.flac").recipe
        recipe.sources.append(second)
        let two = JobRequest(recipe)
        #expect(try await scene.code { _ = try await tenant.submit(Submission(), [two]) } == .ledgerPermissionDenied)
        #expect(try await scene.lab.truth() == ["waiting": 2])
        #expect(try await scene.lab.ledger.setLimits(TenantLimits(reads: [], writes: nil), of: "radio"))
        #expect(
            try await scene.code {
                _ = try await tenant.submit(Submission(), [Self.request("in:radio/a.wav", "out:radio/a.flac")])
            } == .ledgerPermissionDenied
        )
    }

    /// The folders are those of `TenantDestinationTests`: who makes destinations and who checks them must agree.
    @Test func outputsGoWhereTheTemplateSays() async throws {
        let scene = try await Scene(TenantLimits(destination: "out:{tenant}/{label}/{stem}.{ext}"))
        @Sendable func places(_ template: String?, _ writes: [String]?) async throws -> [String]? {
            let limits = TenantLimits(writes: writes, destination: template)
            #expect(try await scene.lab.ledger.setLimits(limits, of: "radio"))
            let schema = scene.lab.schema
            return try await scene.lab.value(
                "select coalesce(\(schema).output_places(n), array['*']) from \(schema).tenant n where n.name = 'radio'"
            )
        }
        _ = try await scene.tenant.submit(Submission(), [Self.request("in:a.wav", "out:radio/x/a.flac")])
        for output in ["out:tv/a.flac", "out:radio", "out:radio-2/a.flac", "out:radio/../tv/a.flac", "in:radio/a.flac"]
        {
            let request = Self.request("in:a.wav", output)
            #expect(
                try await scene.code { _ = try await scene.tenant.submit(Submission(), [request]) }
                    == .ledgerPermissionDenied,
                "\(output)"
            )
        }
        #expect(try await places(nil, nil) == ["*"])
        #expect(try await places(nil, ["a:"]) == ["a:"])
        #expect(try await places("out:{tenant}/{stem}", ["out:", "in:"]) == ["out:radio/"])
        #expect(try await places("out:{stem}", ["out:x/", "out:y/"]) == ["out:x/", "out:y/"])
        #expect(try await places("out:{tenant}/{stem}", ["out:tv/"]) == [])
        for (template, folder) in [
            ("out:{tenant}/{label}/{stem}.{ext}", "out:radio/"), ("out:a/{tenant}-x/b{stem}", "out:a/radio-x/"),
            ("out:{tenant}{stem}", "out:"), ("out:{stem}", "out:"), ("out:a/{{b}}/{stem}", "out:a/"),
            ("out:{dir}/{tenant}/{stem}", "out:"), ("out:a/}}{tenant}/{stem}", "out:a/"),
            ("out:a/{{tenant}}/{stem}", "out:a/"),
        ] {
            #expect(try await places(template, nil) == [folder], "\(template)")
        }
        #expect(try await scene.code { _ = try await places("{stem}", nil) } == .ledgerRefused)
    }

    @Test func prioritiesAndAttemptsAreBounded() async throws {
        let scene = try await Scene(TenantLimits(topPriority: 3, maxAttempts: 2))
        let tenant = scene.tenant
        let recipes = [LedgerLab.recipe("a")]
        _ = try await tenant.submit(Submission(priority: 3, maxAttempts: 2), recipes: recipes)
        // The default of the ledger is three.
        _ = try await tenant.submit(Submission(), recipes: recipes)
        #expect(
            try await scene.code { _ = try await tenant.submit(Submission(priority: 4), recipes: recipes) }
                == .ledgerPermissionDenied
        )
        #expect(
            try await scene.code { _ = try await tenant.submit(Submission(maxAttempts: 3), recipes: recipes) }
                == .ledgerPermissionDenied
        )
        #expect(
            try await scene.code {
                _ = try await tenant.submit(Submission(priority: 4, maxAttempts: 3), LedgerLab.requests(300))
            } == .ledgerPermissionDenied
        )
        #expect(
            try await scene.code { try await tenant.apply(.prioritize(4), to: JobFilter()) } == .ledgerPermissionDenied
        )
        #expect(try await tenant.apply(.prioritize(2), to: JobFilter()).changed == 2)
        #expect(try await scene.lab.ledger.apply(.prioritize(9), to: JobFilter()).changed == 2)
    }

    /// Workers get the lower of both limits, also of jobs that waited before, and the stored recipe stays.
    @Test func limitsOfRecipesAreClamped() async throws {
        let scene = try await Scene(TenantLimits())
        func request(_ limits: Recipe.Limits?) -> JobRequest {
            var request = Self.request("in:a.wav", "out:a.flac")
            request.recipe.limits = limits
            return request
        }
        let asked = [
            nil, Recipe.Limits(wallSeconds: 100), Recipe.Limits(cpuSeconds: 5, wallSeconds: 5_000, openSeconds: 3),
        ]
        let receipt = try await scene.tenant.submit(Submission(), asked.map(request))
        let ceilings = JobCeilings(wallSeconds: 600, cpuSeconds: 60, outputBytes: 1 << 40)
        #expect(try await scene.lab.ledger.setLimits(TenantLimits(jobs: ceilings), of: "radio"))
        let worker = try await scene.lab.worker()
        let expected: [Recipe.Limits?] = [
            Recipe.Limits(outputBytes: 1 << 40, cpuSeconds: 60, wallSeconds: 600),
            Recipe.Limits(outputBytes: 1 << 40, cpuSeconds: 60, wallSeconds: 100),
            Recipe.Limits(outputBytes: 1 << 40, cpuSeconds: 5, wallSeconds: 600, openSeconds: 3),
        ]
        #expect(try await scene.lab.claim(3, for: worker).map(\.recipe.limits) == expected)
        #expect(try await scene.lab.ledger.held(by: worker.worker).jobs.map(\.recipe.limits) == expected)
        let story = try #require(try await scene.tenant.story(of: receipt.lastJob))
        #expect(try Recipe(json: Array(story.recipe.utf8)).limits == asked[2])
        #expect(ceilings.exceeded(by: asked[2]) == ["wallSeconds"] && ceilings.exceeded(by: nil) == [])
        // Others are not concerned.
        _ = try await scene.lab.ledger.submit(Submission(), [request(asked[2])])
        #expect(try await scene.lab.claim(1, for: worker).map(\.recipe.limits) == [asked[2]])
        #expect(try await scene.lab.ledger.tenants().map(\.limits.jobs) == [ceilings])
        for wrong in [JobCeilings(wallSeconds: 0), JobCeilings(outputBytes: -1), JobCeilings(cpuSeconds: .max)] {
            #expect(
                try await scene.code {
                    _ = try await scene.lab.ledger.setLimits(TenantLimits(jobs: wrong), of: "radio")
                }
                    == .ledgerRefused
            )
        }
    }

    @Test func outputsOfAJobAreBounded() async throws {
        let scene = try await Scene(TenantLimits(maxOutputs: 2))
        func request(_ outputs: Int) -> JobRequest {
            var request = Self.request("in:a.wav", "out:0.flac")
            for number in 1..<outputs { request.recipe.outputs.append(Recipe.Output(location: "out:\(number).flac")) }
            return request
        }
        _ = try await scene.tenant.submit(Submission(), [request(2)])
        for jobs in [[request(3)], Array(repeating: request(1), count: 300) + [request(3)]] {
            #expect(
                try await scene.code { _ = try await scene.tenant.submit(Submission(), jobs) }
                    == .ledgerPermissionDenied
            )
        }
        #expect(try await scene.lab.truth() == ["waiting": 1])
    }

    @Test func aTenantThatIsNotThereSubmitsNothing() async throws {
        let lab = try await LedgerLab()
        let stranger = try lab.ledger.acting(for: Principal(name: "x", role: .submitter, tenant: "nobody"))
        let problem = try await failure(of: { _ = try await stranger.submit(recipes: [LedgerLab.recipe("a")]) })
        #expect(problem.code == .ledgerPermissionDenied)
        #expect(try await !lab.ledger.setLimits(TenantLimits(), of: "nobody"))
        _ = try await lab.ledger.createTenant("radio")
        #expect(
            try await failure(of: { _ = try await lab.ledger.setLimits(TenantLimits(waitingJobs: -1), of: "radio") })
                .code == .ledgerRefused
        )
    }
}
