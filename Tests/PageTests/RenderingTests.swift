import Conversion
import Foundation
import HTTPServer
import Ledger
import Testing

@testable import API
@testable import Page

/// Views of records as they may come from untrusted files, and of people who may see different things.
@Suite struct RenderingTests {
    @Test(arguments: Material.hostile) func `a hostile name stays a text in every view`(name: String) throws {
        let frame = try Material.frame(name: name)
        for content in try Material.contents(name) + Material.others(name) {
            let document = frame.document(content).text
            let check = MarkupCheck(document)
            #expect(check.mistakes == [], "\(content.title)")
            let isClean = !document.unicodeScalars.contains { $0.isUnprintable && $0 != "\n" }
            #expect(isClean, "\(content.title)")
            // A name of 10,000 characters is cut wherever it is shown. What a person has written is not.
            let isForm = ["Submit", "Log in"].contains(content.title)
            if !isForm { #expect(document.utf8.count < 60_000, "\(content.title)") }
        }
        let passage = frame.passage(to: PageLink(["jobs"], query: [("queue", name)])).text
        #expect(MarkupCheck(passage).mistakes == [])
    }

    @Test func `the style sheet has every class`() throws {
        let sheet = try #require(PageAsset.all.first { $0.name == "page" }).text
        var classes: Set<String> = []
        for content in try Material.contents("in:a.wav") + Material.others("in:a.wav") {
            classes.formUnion(MarkupCheck(try Material.frame().document(content).text).classes)
        }
        // As a whole: `.name` is not the class `n`.
        let known = Set(sheet.matches(of: /\.([a-z][a-z-]*)/).map { String($0.output.1) })
        let missing = classes.subtracting(known).sorted()
        #expect(missing == [])
        #expect(classes.count > 40)
    }

    @Test func `each view has the right of an operation that exists`() throws {
        let names = Set(try APIServer.operations(version: "1").map(\.name))
        let routes: [PageRoute] = [
            .overview, .jobs, .job("1"), .batches, .batch("1"), .failures, .workers, .queues, .changes, .preview,
            .change("1"), .webhooks, .output("1", job: "1"), .excerpts(job: "1"), .live, .submit,
            .tokens, .tenants, .audit, .file("a", root: "in"), .places,
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

    @Test func `the owner of a private cluster is told how to log in, and needs no role`() throws {
        func words(_ hasLinks: Bool) -> String { LoginView(said: nil, next: "/", hasLinks: hasLinks).content.main.text }
        #expect(words(true).contains("<code>sluice open</code>") && !words(true).contains("sluice tokens"))
        #expect(words(false).contains("sluice tokens create") && !words(false).contains("sluice open"))
        let operations = try APIServer.operations(version: "1")
        let rights = CallerRights(
            Caller(name: "page@local", role: .operator, tenant: nil),
            and: Caller(name: "page@local", role: .submitter, tenant: nil),
            among: operations
        )
        let frame = PageFrame(name: "a", version: "1", rights: rights, hasSession: true)
        let document = frame.document(try Material.overview("a").content).text
        #expect(document.contains("Your private cluster") && !document.contains("page@local"))
        #expect(document.contains("href=\"/submit\"") && document.contains("href=\"/audit\""))
    }

    @Test func `what may change is kept up to date`() throws {
        let frame = try Material.frame()
        for content in try Material.contents("in:a.wav") + Material.others("in:a.wav") {
            let others = ["Preview", "Log in", "There is no such thing", "Webhook 5", "Submit"]
            let isSearch = content.terminal?.contains("--source-contains") == true
            let stays = others.contains(content.title) || isSearch
            let document = frame.document(content).text
            #expect(document.contains("data-live=\"/live?") == !stays, "\(content.title)")
        }
        // Only those who may see it.
        let outside = PageFrame.outside(name: "a", version: "1").document(try Material.overview("a").content).text
        #expect(!outside.contains("data-live"))
        var list = JobsView(query: JobListQuery(PageQuery([]), now: Material.now), now: Material.now)
        list.jobs = [Material.job(7, "a", .running), Material.job(8, "a", .failed), Material.job(9, "a", .running)]
        let document = frame.document(list.content).text
        #expect(document.contains("data-live=\"/live?queues=true&amp;job=7,9\" data-moves>"))
    }

    @Test func `a cluster has its colour at the edge and in its icon`() throws {
        let content = try Material.overview("a").content
        let plain = PageFrame.outside(name: "harbour", version: "1").document(content).text
        #expect(!plain.contains("data-cluster") && plain.contains("href=\"\(PageAsset.path(of: "icon"))\""))
        for colour in ClusterColour.allCases {
            let document = PageFrame.outside(name: "harbour", version: "1", colour: colour).document(content).text
            #expect(document.contains("<html lang=\"en\" data-cluster=\"\(colour.rawValue)\">"))
            let icon = try #require(PageAsset.all.first { $0.name == "icon-\(colour.rawValue)" })
            #expect(document.contains("href=\"\(icon.path)\"") && icon.text.contains(colour.code))
            let sheet = try #require(PageAsset.all.first { $0.name == "page" }).text
            #expect(sheet.contains("[data-cluster=\(colour.rawValue)]{--cluster:light-dark(\(colour.code),"))
        }
    }

    @Test func `a row of the audit is told from others of the same person`() {
        let records = [Int64(8), 7].map { number in
            var record = AuditRecord.blank
            (record.id, record.at, record.who) = (number, Material.now, "token:boss")
            return record
        }
        let text = AuditView(records: records, hasMore: false, isFirst: true, now: Material.now).content.main.text
        #expect(text.contains("<tr id=\"a8\">") && text.contains("<tr id=\"a7\">"))
    }

    @Test func `tenants that have reached a limit are counted`() {
        var tenant = Tenant.blank
        tenant.hold = TenantHold(tenant: "acme", allowance: .cpuMinutes, until: Material.now)
        func text(_ count: Int) -> String {
            TenantsView(tenants: Array(repeating: tenant, count: count), now: Material.now).content.main.text
        }
        #expect(text(1).contains("<h1>1 tenant, 1 has reached its limit</h1>"))
        #expect(text(2).contains("<h1>2 tenants, 2 have reached their limits</h1>"))
    }

    @Test func `the heading says what jobs do`() throws {
        func heading(_ change: (inout JobCounts) -> Void) throws -> String? {
            var facts = try Material.overview("a").facts
            facts.status.jobs = JobCounts()
            change(&facts.status.jobs)
            let text = OverviewView(facts: facts, rights: try Material.rights(.viewer)).content.main.text
            return text.firstMatch(of: /<h1>([^;]*);/).map { String($0.output.1) }
        }
        let headings = [
            try heading { $0.running = 1 }, try heading { $0.waiting = 1 }, try heading { $0.delayed = 1 },
            try heading { $0.completed = 1 },
        ]
        #expect(headings == ["Jobs are running", "Jobs are waiting", "Jobs are delayed", "No jobs are waiting"])
    }

    @Test func `failures are counted in a span of time, or since a date`() {
        func text(_ since: String) -> String {
            var failures = FailuresView(now: Material.now)
            failures.since = since
            return failures.content.main.text
        }
        #expect(text("1d").contains("<h1>No job failed for good in the last day</h1>"))
        #expect(text("3h").contains("<h1>No job failed for good in the last 3h</h1>"))
        #expect(text("2026-11-20").contains("<h1>No job failed for good since 2026-11-20</h1>"))
    }

    @Test func `who may change nothing is shown no way to`() throws {
        for content in try Material.contents("in:a.wav", mayChange: false) where content.title != "Preview" {
            let text = content.main.text
            #expect(!text.contains("method=\"post\""), "\(content.title)")
            #expect(!text.contains("/changes/preview"), "\(content.title)")
        }
        let forms = try Material.contents("in:a.wav").filter { $0.main.text.contains("method=\"post\"") }.map(\.title)
        let wanted: Set = [
            "Overview", "Job 12", "Workers", "Queues", "Change 29", "Preview", "Webhooks", "Submit",
            "Jobs",
        ]
        #expect(Set(forms) == wanted)
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
        var changeable = list
        changeable.mayChange = true
        var overview = try Material.overview("default")
        overview.queues = (1...5).map { Material.queue("queue-\($0)") }
        overview.workers = (1...5).map { Material.worker("pump-\($0)") }
        overview.failures = (1...4).map { Material.group("corrupt_stream_\($0)") }
        overview.batches = (1...3).map { Material.batch("podcasts autumn \($0)") }
        // What a server may send before it hears of the client again is some 14 kB.
        let views = [list.content, changeable.content, overview.content]
        let sizes = try views.map { try Material.frame().document($0).text.utf8.count }
        #expect(sizes[0] <= 14 << 10)
        #expect(sizes[1] <= 17 << 10)
        #expect(sizes[2] <= 20 << 10)
    }

    @Test func `work that cannot go on says why where its time would be`() throws {
        // A worker of the material reports a full file system.
        let full = try Material.overview("a").content.main.text
        #expect(full.contains("waits for space"))
        #expect(full.contains("Queue <b><bdi>a</bdi></b> is paused; 7 jobs wait in it."))
    }

    @Test func `the way that most probably helps comes first`() throws {
        var failures = FailuresView(now: Material.now)
        failures.mayChange = true
        var (damaged, missing) = (Material.group("a"), Material.group("a"))
        damaged.code = FailureCode.truncated.rawValue
        missing.code = FailureCode.sourceNotFound.rawValue
        failures.groups = [damaged]
        let concealed = failures.content.main.text
        #expect(concealed.contains(">Retry 3, concealed…<") && concealed.contains("change=retry:conceal&amp;"))
        failures.groups = [missing]
        let plain = failures.content.main.text
        #expect(plain.contains(">Retry 3…<") && plain.contains("change=retry&amp;"))
    }

    @Test func `a cause has its course over time`() {
        func hour(_ code: String, _ hoursAgo: Double, _ attempts: Int) -> FailureHour {
            var hour = FailureHour.blank
            (hour.code, hour.stage, hour.attempts) = (code, code, attempts)
            hour.hour = Material.now.addingTimeInterval(-3_600 * hoursAgo)
            return hour
        }
        var view = FailuresView(now: Material.now)
        view.groups = [Material.group("a"), Material.group("b")]
        view.hours = [hour("a", 24.5, 1), hour("a", 12, 10), hour("a", 0.2, 5)]
        view.from = Material.now.addingTimeInterval(-86_400)
        let text = view.content.main.text
        let bars =
            #"<rect x="0" y="90" width=".8" height="10"/><rect x="12" y="0" width=".8" height="100"/>"#
            + #"<rect x="23" y="50" width=".8" height="50"/></svg>"#
        #expect(text.contains(bars))
        // The other cause has none.
        #expect(text.matches(of: /class="spark"/).count == 1)
        view.from = Material.now.addingTimeInterval(-3_600)
        #expect(!view.content.main.text.contains("class=\"spark\""))
    }

    @Test func `a job is offered what has an effect on it`() throws {
        func changes(_ state: JobState, _ code: FailureCode? = nil) -> [String] {
            var story = JobStory.blank
            story.summary = Material.job(12, "in:a.wav", state)
            story.summary.code = code?.rawValue
            let text = JobView(story: story, mayChange: true, now: Material.now).content.main.text
            return text.matches(of: /name="change" value="([a-z:-]+)"/).map { String($0.output.1) }
        }
        #expect(changes(.failed, .truncated) == ["retry:conceal", "retry", "accept"])
        #expect(changes(.failed, .sourceNotFound) == ["retry", "accept"])
        #expect(changes(.accepted) == ["retry", "accept:undo"])
        #expect(changes(.cancelled) == ["retry"] && changes(.delayed) == ["retry", "cancel"])
        #expect(changes(.waiting) == ["cancel"] && changes(.running) == ["cancel"])
        #expect(changes(.completed) == [] && changes(.publishing) == [] && changes(.skipped) == [])
    }

    @Test func `a change without effect is told, with why`() {
        func content(_ state: JobState, _ change: WantedChange, mayChange: Bool = true) -> PageContent {
            var story = JobStory.blank
            story.summary = Material.job(12, "in:a.wav", state)
            story.submitter = "token:b"
            return JobView(story: story, mayChange: mayChange, now: Material.now, withoutEffect: change).content
        }
        let others = content(.waiting, .cancel, mayChange: false)
        #expect(others.main.text.contains("This one belongs to <bdi>token:b</bdi>.") && others.status == .conflict)
        // It stays until it has been read.
        #expect(others.live.isEmpty)
        #expect(content(.completed, .cancel).main.text.contains("The job is completed by now."))
        #expect(content(.failed, .retry(.conceal)).main.text.contains("Your token may be for another queue"))
        var story = JobStory.blank
        story.summary = Material.job(12, "in:a.wav")
        #expect(!JobView(story: story, now: Material.now).content.main.text.contains("Nothing was changed"))
    }

    @Test func `outputs can be had of the roots that are served`() throws {
        var story = JobStory.blank
        story.summary = Material.job(12, "in:a.wav", .completed)
        story.recipe =
            #"{"version": 2, "sources": [{"location": "in:a.wav"}], "outputs": [{"location": "out:a.flac"}, {"location": "#
            + #""out:a.wav"}, {"location": "out:b.wav"}]}"#
        (story.summary.digest, story.summary.bytes) = ("00", 768_000)
        story.summary.further = [PublishedFile(digest: "00", bytes: 1_000), nil]
        var view = JobView(story: story, now: Material.now)
        func links() -> [String] {
            MarkupCheck(view.content.main.text).targets.filter { $0.contains("/outputs/") }
        }
        #expect(links() == [])
        view.downloads = ["out"]
        // The third was left alone, because another file is there.
        #expect(Set(links()) == ["/jobs/12/outputs/1", "/jobs/12/outputs/2"])
        let played = view.content.main.text.matches(of: /<audio controls preload="none" src="([^"]*)"/).map {
            String($0.output.1)
        }
        #expect(played == ["/jobs/12/outputs/1", "/jobs/12/outputs/2"])
        #expect(view.content.main.text.contains("Download 768.0 kB"))
        view.downloads = ["in"]
        #expect(links() == [])
        story.summary.state = .failed
        view = JobView(story: story, now: Material.now, downloads: ["out"])
        #expect(links() == [])
    }

    @Test func `peaks that a job has made are drawn by a script`() {
        var story = JobStory.blank
        story.summary = Material.job(12, "in:a.wav", .completed)
        story.recipe =
            #"{"version": 4, "sources": [{"location": "in:a.wav"}], "outputs": [{"location": "out:a.flac"}, {"location": "#
            + #""out:a.dat", "waveform": {}}]}"#
        (story.summary.digest, story.summary.bytes) = ("00", 768_000)
        func content(_ bytes: Int64, _ downloads: Set<String> = ["out"]) -> PageContent {
            story.summary.further = [PublishedFile(digest: "00", bytes: bytes)]
            return JobView(story: story, now: Material.now, downloads: downloads).content
        }
        #expect(content(50_000).script == "sound")
        #expect(content(50_000).main.text.contains(" data-peaks=\"/jobs/12/outputs/2\"></canvas>"))
        // A page reads no long file by itself, and none that is not served.
        #expect(content(5 << 20).script == nil && !content(5 << 20).main.text.contains("<canvas"))
        #expect(content(50_000, []).script == nil && !content(50_000, []).main.text.contains("<canvas"))
    }

    @Test func `damage can be gone to where it is at the same time in the output`() throws {
        func text(_ recipe: String) -> String {
            var story = Material.story("in:a.wav")
            story.summary.state = .completed
            (story.summary.digest, story.summary.bytes) = ("00", 1_000)
            story.recipe = recipe
            let sound = SoundDigest(sha256: "", form: "s16le", sampleRateHz: 100, channelCount: 1)
            story.attempts[0].facts.scan?.sound = sound
            return JobView(story: story, now: Material.now, downloads: ["out"]).content.main.text
        }
        func recipe(_ damage: String, _ output: String, _ more: String = "") -> String {
            #"{"version": 1, "sources": [{"location": "in:a.wav"\#(more)}], "outputs": [{"location": "\#(output)"}], "#
                + #""damage": "\#(damage)"}"#
        }
        #expect(text(recipe("conceal", "out:a.flac")).contains(" data-seek=\"5.000\">"))
        for other in [
            recipe("skip", "out:a.flac"), recipe("conceal", "out:a.w64"), recipe("conceal", "other:a.flac"),
            recipe("conceal", "out:a.flac", #", "ranges": [{"to": "5"}]"#), "{}",
        ] { #expect(!text(other).contains("data-seek"), "\(other)") }
    }

    @Test func `jobs are selected within their filter`() {
        let given = [(name: "source-contains", value: "a\u{202E}b"), (name: "ended-since", value: "1h")]
        var list = JobsView(query: JobListQuery(PageQuery(given), now: Material.now), now: Material.now)
        list.jobs = [Material.job(418_213, "in:a.wav")]
        list.mayChange = true
        let text = list.content.main.text
        #expect(text.contains("<input type=\"hidden\" name=\"source-contains\" value=\"a&#8238;b\">"))
        // The time of the list, and not that of the change.
        #expect(text.contains("name=\"ended-since\" value=\"2026-"))
        #expect(text.contains("name=\"id\" value=\"418213\""))
        // The API does not select jobs by remarks: without that part, the change would have more of them.
        let remarked = [(name: "remarks", value: "true")]
        list = JobsView(query: JobListQuery(PageQuery(remarked), now: Material.now), now: Material.now)
        (list.jobs, list.mayChange) = ([Material.job(418_213, "in:a.wav")], true)
        #expect(!list.content.main.text.contains("/changes/preview"))
    }

    @Test func `the time that is left is told where work goes on`() throws {
        var overview = try Material.overview("default")
        // 703 jobs of which 100 were done in an hour; and of the queue, 7 with 30 in the last hour.
        var facts = overview.facts
        facts.troubles = []
        overview = OverviewView(facts: facts, rights: overview.rights)
        overview.queues = [Material.queue("default")]
        overview.queues[0].isPaused = false
        var minute = MinuteThroughput.blank
        (minute.minute, minute.queue, minute.completed) = (Material.now.addingTimeInterval(-600), "default", 30)
        overview.paces = [minute]
        let text = overview.content.main.text
        #expect(text.contains("<dt>left, until ") && text.contains("<dd>7 h</dd>"))
        #expect(text.contains("<span class=\"soft\">14 min left</span>"))
        // Nothing is known of what waits for space, or is paused.
        facts.troubles = try Material.overview("default").facts.troubles
        var full = OverviewView(facts: facts, rights: overview.rights)
        (full.queues, full.paces) = (overview.queues, overview.paces)
        #expect(full.content.main.text.contains("<dt>left</dt>") && !full.content.main.text.contains("14 min left"))
    }

    @Test(arguments: ["newsroom"] + Material.hostile)
    func `a form that was not taken comes back as it was written`(name: String) throws {
        var fields = ["url", "name", "queue", "limit", "weight"].map { (name: $0, value: name) }
        fields += [(name: "event", value: "failures.high"), (name: "own", value: "true")]
        let query = PageQuery(fields)
        let problem = Problem(.badBody, name, mistakes: [.init(pointer: name, detail: name)])
        let refused = RefusedForm(query: query, problem: problem)
        var webhooks = Material.webhooks("a")
        webhooks.refused = refused
        var queues = QueuesView(queues: [Material.queue("a"), Material.queue(name)], unable: [], mayChange: true)
        queues.refused = refused
        for content in [webhooks.content, queues.content] {
            let document = try Material.frame().document(content).text
            #expect(MarkupCheck(document).mistakes == [], "\(content.title)")
            #expect(document.contains("role=\"alert\"") && content.live.isEmpty)
        }
        guard name == "newsroom" else { return }
        let (first, second) = (webhooks.content.main.text, queues.content.main.text)
        #expect(first.matches(of: /value="newsroom"/).count == 3)
        #expect(first.contains("value=\"failures.high\" checked>") && first.contains("value=\"true\" checked>"))
        #expect(!first.contains("value=\"batch.ended\" checked>"))
        #expect(second.contains("<option value=\"newsroom\" selected>"))
        #expect(second.matches(of: /value="newsroom" placeholder="same"/).count == 2)
    }

    @Test func `webhooks of others have no buttons`() {
        func text(_ submitter: String?, isForAll: Bool = false) -> String {
            var webhook = Webhook.blank
            (webhook.id, webhook.name, webhook.submitter, webhook.dead) = (5, "newsroom", submitter, 3)
            return WebhooksView(
                webhooks: [webhook],
                deliveries: [],
                hasMore: false,
                isFirst: true,
                isForAll: isForAll,
                account: "token:nina",
                now: Material.now
            ).content.main.text
        }
        for own in [text("token:nina"), text(nil, isForAll: true), text("token:vera", isForAll: true)] {
            #expect(own.contains("name=\"test\"") && own.contains("name=\"remove\"") && own.contains("name=\"retry\""))
            #expect(own.contains("/webhooks?webhook=5"))
        }
        // As operators make them for those who name them.
        for other in [text(nil), text("token:vera")] {
            #expect(other.contains("<bdi>newsroom</bdi>") && !other.contains("value=\"5\""))
            #expect(!other.contains("/webhooks?webhook=5"))
        }
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
