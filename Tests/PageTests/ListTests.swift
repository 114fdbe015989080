import Conversion
import Foundation
import HTTPServer
import Ledger
import Testing

@testable import API
@testable import Page

/// Lists on the page: which rows they have, how far they count, and where they end.
@Suite struct ListTests {
    @Test func `an empty list says what to do`() throws {
        let none = JobsView(query: JobListQuery(PageQuery([]), now: Material.now), now: Material.now).content.main.text
        #expect(none.contains("No jobs yet") && none.contains("sluice submit"))
        let query = JobListQuery(PageQuery([(name: "queue", value: "x")]), now: Material.now)
        let filtered = JobsView(query: query, now: Material.now).content.main.text
        #expect(filtered.contains("No job matches") && filtered.contains("Without queue"))
    }

    @Test func `many failed jobs are counted only when asked for, and once`() throws {
        func view(_ failed: Int, _ groups: [FailureGroup]?) -> PageContent {
            var batch = Material.batch("a")
            (batch.jobs.failed, batch.jobs.accepted) = (failed, 1)
            return BatchView(batch: batch, failures: groups, now: Material.now).content
        }
        let few = Material.batch("a")
        #expect(!BatchView.hasManyFailures(few))
        let uncounted = view(5_000, nil)
        #expect(uncounted.main.text.contains("href=\"/batches/17?causes=true\">Count the causes</a>"))
        #expect(uncounted.main.text.contains("Why 5,000 jobs failed") && !uncounted.live.isEmpty)
        let counted = view(5_000, [Material.group("a")])
        #expect(counted.live.isEmpty && !counted.main.text.contains("Count the causes"))
        #expect(!view(4_999, [Material.group("a")]).live.isEmpty)
        var failures = FailuresView(now: Material.now)
        failures.groups = [Material.group("a")]
        failures.groups[0].jobs = 100_000
        // Those of all are kept by the hour.
        #expect(!failures.content.live.isEmpty)
        failures.isOfJobs = true
        #expect(failures.content.live.isEmpty)
    }

    @Test func `a tenant is told of the failures of an hour, which are counted once`() throws {
        let whole = try Material.overview("a").content.main.text
        #expect(whole.contains("in the last day") && !whole.contains("in the last hour</span>"))
        let own = try Material.overview("a", .submitter, tenant: "acme").content.main.text
        #expect(own.contains("in the last hour</span>") && !own.contains("in the last day"))
    }

    @Test func `a search inside sources ends, and is not repeated`() {
        func view(_ jobs: [JobSummary]) -> PageContent {
            let given = [(name: "source-contains", value: "rare")]
            var view = JobsView(query: JobListQuery(PageQuery(given), now: Material.now), now: Material.now, jobs: jobs)
            (view.next, view.isCutShort) = (JobCursor(text: "{\"job\": 7}"), true)
            return view.content
        }
        for content in [view([]), view([Material.job(8, "in:rare.wav", .running)])] {
            #expect(content.live.isEmpty)
            #expect(content.main.text.contains("rel=\"next\">Search on</a>"))
        }
        #expect(view([]).main.text.contains("No job matches so far"))
    }

    @Test func `batches whose jobs run come first`() throws {
        var overview = try Material.overview("a")
        overview.batches = (1...6).reversed().map { (number: Int64) in
            var batch = Material.batch("batch \(number)")
            batch.batch = number
            batch.jobs.running = number == 1 ? 8 : 0
            return batch
        }
        let text = overview.content.main.text
        let shown = text.matches(of: /href="\/batches\/(\d+)"/).map { String($0.output.1) }
        let mark = "</bdi></a> <span class=\"s paused\">paused</span></td>"
        #expect(shown == ["1", "6", "5", "4", "3"] && !text.contains(mark))
        // An older one that a paused queue holds is behind the newest of those that the ledger has told.
        overview.batches[5].jobs.running = 0
        overview.batches[5].queue = "nightly"
        var queue = QueueSummary.blank
        (queue.name, queue.isPaused, queue.jobs.waiting) = ("nightly", true, 3)
        overview.queues = [queue]
        let held = overview.content.main.text
        let order = held.matches(of: /href="\/batches\/(\d+)"/).map { String($0.output.1) }
        #expect(order == ["1", "6", "5", "4", "3"] && held.contains(mark))
        let jobs = [Material.job(1, "a", .running), Material.job(2, "a", .running), Material.job(3, "a", .running)]
        var other = jobs
        other[1].batch = 3
        #expect(RunningJobs(other).batches == [17, 3] && RunningJobs().batches.isEmpty)
    }

    @Test func `a list leads to its first and its next page`() {
        let (first, next) = (PageLink(["jobs"]), PageLink(["jobs"], query: [("after", "7")]))
        let middle = PagesBar(first: first, next: next).html.text
        #expect(middle.contains("href=\"/jobs\">First</a> <a class=\"b\" href=\"/jobs?after=7\" rel=\"next\">Next</a>"))
        let only = PagesBar(nextWord: "Search on").html.text
        #expect(only.matches(of: /aria-disabled="true"/).count == 2 && !only.contains("href"))
        #expect(only.contains(">Search on</span>"))
    }
}
