import Conversion
import Foundation
import Ledger
import Testing

@testable import API
@testable import Page

/// Views of records as they may come from untrusted files, and of people who may see different things.
@Suite struct RenderingTests {
    @Test(arguments: Material.hostile) func `a hostile name stays a text in every view`(name: String) throws {
        let frame = try Material.frame(name: name)
        for content in try Material.contents(name) {
            let document = frame.document(content).text
            let check = MarkupCheck(document)
            #expect(check.mistakes == [], "\(content.title)")
            let isClean = !document.unicodeScalars.contains { $0.isUnprintable && $0 != "\n" }
            #expect(isClean, "\(content.title)")
            // A name of 10,000 characters is cut wherever it is shown.
            #expect(document.utf8.count < 60_000, "\(content.title)")
        }
        let passage = frame.passage(to: PageLink(["jobs"], query: [("queue", name)])).text
        #expect(MarkupCheck(passage).mistakes == [])
    }

    @Test func `the style sheet has every class`() throws {
        let sheet = try #require(PageAsset.all.first { $0.name == "page" }).text
        var classes: Set<String> = []
        for content in try Material.contents("in:a.wav") {
            classes.formUnion(MarkupCheck(try Material.frame().document(content).text).classes)
        }
        let missing = classes.filter { !sheet.contains(".\($0)") }.sorted()
        #expect(missing == [])
        #expect(classes.count > 40)
    }

    @Test func `each view has the right of an operation that exists`() throws {
        let names = Set(try APIServer.operations(version: "1").map(\.name))
        let routes: [PageRoute] = [
            .overview, .jobs, .job("1"), .batches, .batch("1"), .failures, .workers, .queues,
        ]
        for route in routes { #expect(names.contains(route.operation ?? ""), "\(route)") }
    }

    @Test func `a tenant is shown no workers`() throws {
        let content = try Material.overview("a", .submitter, tenant: "acme").content
        let document = try Material.frame(.submitter, tenant: "acme").document(content).text
        #expect(!document.contains("/workers"))
        #expect(!document.contains("Throughput"))
        #expect(document.contains("tenant <bdi>acme</bdi>"))
        for role in AccessRole.allCases {
            let whole = try Material.overview("a", role).content
            #expect(try Material.frame(role).document(whole).text.contains("href=\"/workers\""))
        }
    }

    @Test func `views are small`() throws {
        let jobs = (0..<Int64(JobsView.pageLength)).map { number in
            var job = Material.job(
                418_213 + number,
                "podcasts:2026/ep-\(number)-the-tide-tables-of-the-harbour.flac",
                .completed
            )
            (job.queue, job.worker, job.code, job.stage) = ("speech-set", "pump-1", nil, nil)
            return job
        }
        let query = JobListQuery(PageQuery([(name: "ended-since", value: "1d")]), now: Material.now)
        let list = JobsView(query: query, now: Material.now, jobs: jobs, next: JobCursor(text: "{\"job\": 418213}"))
            .content
        var overview = try Material.overview("default")
        overview.queues = (1...5).map { Material.queue("queue-\($0)") }
        overview.workers = (1...5).map { Material.worker("pump-\($0)") }
        overview.failures = (1...4).map { Material.group("corrupt_stream_\($0)") }
        overview.batches = (1...3).map { Material.batch("podcasts autumn \($0)") }
        // What a server may send before it hears of the client again is some 14 kB.
        let sizes = try [list, overview.content].map { try Material.frame().document($0).text.utf8.count }
        #expect(sizes[0] <= 14 << 10)
        #expect(sizes[1] <= 18 << 10)
    }

    @Test func `work that cannot go on says why where its time would be`() throws {
        // A worker of the material reports a full file system.
        let full = try Material.overview("a").content.main.text
        #expect(full.contains("waits for space"))
        #expect(full.contains("Queue <b><bdi>a</bdi></b> is paused; 7 jobs wait in it."))
    }

    @Test func `an empty list says what to do`() throws {
        let none = JobsView(query: JobListQuery(PageQuery([]), now: Material.now), now: Material.now).content.main.text
        #expect(none.contains("No jobs yet") && none.contains("sluice submit"))
        let query = JobListQuery(PageQuery([(name: "queue", value: "x")]), now: Material.now)
        let filtered = JobsView(query: query, now: Material.now).content.main.text
        #expect(filtered.contains("No job matches") && filtered.contains("Without queue"))
    }

    @Test func `a slot fills as its job advances`() {
        let worker = Material.worker("pump-1")
        let running = RunningJobs([Material.job(9, "pump-1", .running), Material.job(10, "pump-2", .running)])
        // The job is in slot 3 and a fifth of it is done. The worker reports two more busy slots.
        let fills: [Double?] = [0, 0, nil, 0.2, nil, nil, nil, nil]
        #expect(running.fills(of: worker) == fills)
        let numbers = running.jobs(of: worker).map { $0.job.job }
        #expect(numbers == [9])
        let unknown = RunningJobs().fills(of: worker).count { $0 != nil }
        #expect(unknown == 3)
        let picture = Picture.slots(running.fills(of: worker)).text
        #expect(picture.contains("aria-label=\"3 of 8 slots busy\""))
    }
}
