import API
import Conversion
import FoundationEssentials
import Ledger

/// Batches with their progress, newest first.
struct BatchesView {
    static let pageLength = 20

    let batches: [BatchSummary]
    let hasMore: Bool
    let isFirst: Bool
    let now: Date

    var content: PageContent {
        PageContent(
            title: "Batches",
            section: .batches,
            main: "<div class=\"head\"><h1>Batches</h1></div>\n\(batches.isEmpty ? none : table)\n",
            live: [("queues", "true")],
            terminal: "sluice batches"
        )
    }

    private var none: HTML {
        """
        <section class="empty" aria-labelledby="none"><h2 id="none">\(isFirst ? "No batches yet" : "No more batches")</h2>
        <p class="soft">Each submission is a batch: <code>sluice submit</code> makes one.</p></section>
        """
    }

    private var table: HTML {
        let older = PageLink(["batches"], query: [("before", "\(batches.last?.batch ?? 0)")])
        let pages = PagesBar(first: isFirst ? nil : PageLink(["batches"]), next: hasMore ? older : nil)
        return """
            <table class="rows"><thead><tr><th scope="col">Batch</th><th scope="col">Done</th>\
            <th scope="col" class="n">Jobs</th><th scope="col" class="n">Failed</th><th scope="col" class="n">Cancelled</th>\
            <th scope="col" class="n">Skipped</th><th scope="col" class="opt">Queue</th><th scope="col" class="n">Submitted</th>\
            </tr></thead>
            <tbody>\(.all(batches.map(row)))
            </tbody></table>\(pages.html)
            """
    }

    private func row(_ batch: BatchSummary) -> HTML {
        let jobs = batch.jobs
        func number(_ count: Int, _ name: HTML) -> HTML {
            count > 0
                ? "<td class=\"n\" data-k=\"\(name)\">\(Figures.grouped(count))</td>" : "<td class=\"n alt\">0</td>"
        }
        return """

            <tr><td class="src w"><a href="\(PageLink.batch(batch.batch))">\(batch.batch) \
            <bdi>\((batch.name ?? "").cutInside(to: 100))</bdi></a></td><td class="t">\(Picture.progress(jobs.share))</td>\
            \(number(jobs.total, "jobs"))\(number(jobs.failed, "failed"))\(number(jobs.cancelled, "cancelled"))\
            \(number(jobs.skipped, "skipped"))<td class="t opt">\(batch.queue.cutInside(to: 40))</td>\
            <td class="n e">\(PageTime.ago(batch.createdAt, at: now))</td></tr>
            """
    }
}

/// A batch: how far it is, and why jobs of it failed.
struct BatchView {
    let batch: BatchSummary
    /// `nil`: not counted, because there are many.
    let failures: [FailureGroup]?
    let now: Date
    var mayChange = false
    /// How many failed jobs are counted by their causes without being asked for, and again while the page is open.
    static let mostCounted = 5_000

    /// Whether to count the failed jobs of a batch takes long.
    static func hasManyFailures(_ batch: BatchSummary) -> Bool {
        batch.jobs.failed + batch.jobs.accepted > mostCounted
    }

    var content: PageContent {
        let jobs = batch.jobs
        let skipped =
            batch.sourcesSkipped > 0
            ? " \(Figures.count(batch.sourcesSkipped, "source")) left out: done before, or edited." : ""
        let share = Int(jobs.share * 100)
        let title: HTML = batch.name.map { "<bdi>\($0.cutInside(to: 200))</bdi>" } ?? "Batch \(batch.batch)"
        let percent = jobs.open == 0 ? "All jobs have ended" : "\(share)% done"
        return PageContent(
            title: "Batch \(batch.batch)",
            section: .batches,
            main: """
                <div class="head"><div><p class="soft"><a class="quiet" href="/batches">Batches</a> / \(batch.batch)</p>\
                <h1>\(title)</h1><p class="soft">\(Figures.count(jobs.total, "job")) in queue \
                <bdi>\(batch.queue.cutInside(to: 60))</bdi>, priority \(batch.priority), weight \(batch.weight). Submitted by \
                <bdi>\(batch.submitter.cutInside(to: 80))</bdi>, \(PageTime.clock(batch.createdAt, at: now)).\(skipped)</p>\
                </div>\(ways)</div>
                <section aria-labelledby="progress"><h2 id="progress">\(percent)</h2>\
                \(Picture.stack(jobs))<dl class="key">\(states)</dl></section>
                \(why)
                """,
            live: failures != nil && Self.hasManyFailures(batch) ? [] : [("batch", "\(batch.batch)")],
            terminal: "sluice jobs --batch \(batch.batch)"
        )
    }

    /// The changes that have an effect on jobs of it, each after a preview.
    private var ways: HTML {
        guard mayChange else { return "" }
        let jobs = batch.jobs
        let waiting = jobs.waiting + jobs.delayed
        var ways: [(words: String, change: WantedChange, state: String)] = []
        if jobs.failed > 0 {
            ways.append(("Retry \(Figures.grouped(jobs.failed)) failed…", .retry(nil), JobState.failed.rawValue))
            ways.append(("Accept…", .accept(undo: false), JobState.failed.rawValue))
        }
        if waiting > 0 { ways.append(("Priority…", .prioritize, "")) }
        if waiting + jobs.running > 0 {
            ways.append(("Cancel \(Figures.grouped(waiting + jobs.running))…", .cancel, ""))
        }
        guard !ways.isEmpty else { return "" }
        let links: [HTML] = ways.map { words, change, state in
            let link = PageLink.preview(change, of: [("batch", "\(batch.batch)"), ("state", state)])
            let kind: HTML = change == .cancel ? " stop" : ""
            return "<a class=\"b\(kind)\" href=\"\(link)\">\(words)</a>"
        }
        return "<p class=\"do\">\(.joined(links, by: " "))</p>"
    }

    private var states: HTML {
        let order: [JobState] = [
            .completed, .failed, .accepted, .cancelled, .skipped, .publishing, .running, .waiting, .delayed,
        ]
        return .all(
            order.filter { batch.jobs[$0] > 0 }.map { state in
                let link = PageLink(["jobs"], query: [("batch", "\(batch.batch)"), ("state", state.rawValue)])
                let remarked = PageLink(["jobs"], query: [("batch", "\(batch.batch)"), ("remarks", "true")])
                let remarks: HTML =
                    state == .completed && batch.jobsWithRemarks > 0
                    ? " <small><a href=\"\(remarked)\">\(Figures.grouped(batch.jobsWithRemarks)) with warnings</a></small>"
                    : ""
                return """
                    <div><dt class="s \(Mark.shape(state))">\(state.rawValue)</dt>\
                    <dd><a class="quiet" href="\(link)">\(Figures.grouped(batch.jobs[state]))</a>\(remarks)</dd></div>
                    """
            }
        )
    }

    private var why: HTML {
        guard let failures else {
            // All of them may be accepted.
            guard batch.jobs.failed > 0 else { return "" }
            let link = PageLink(["batches", "\(batch.batch)"], query: [("causes", "true")])
            return """
                <section aria-labelledby="why"><h2 id="why">Why \(Figures.count(batch.jobs.failed, "job")) failed</h2>\
                <p class="do"><a class="b" href="\(link)">Count the causes</a></p></section>
                """
        }
        let groups = failures.filter { $0.jobs > 0 }
        guard !groups.isEmpty else { return "" }
        let failed = groups.reduce(0) { $0 + $1.jobs }
        let all = PageLink(["jobs"], query: [("batch", "\(batch.batch)"), ("state", "failed")])
        let rows: HTML = .all(
            groups.prefix(20).map { group in
                let source = group.exampleSource ?? "job \(group.example)"
                let hint: HTML = group.hint.map { "\($0.unmarked.cutInside(to: 300))" } ?? ""
                return """
                    <tr><th scope="row"><code>\(group.code)</code></th>\
                    <td class="n" data-k="jobs">\(Figures.grouped(group.jobs))</td>\
                    <td class="soft t">\(group.kind.rawValue), \(group.stage)</td>\
                    <td class="src w">\(LocationText.cell(source, .job(group.example)))</td><td class="w hint">\(hint)</td></tr>
                    """
            }
        )
        return """
            <section aria-labelledby="why"><div class="bar"><h2 id="why">Why \(Figures.count(failed, "job")) failed</h2> \
            <a href="\(all)">The jobs</a></div><table class="rows"><thead><tr><th scope="col">Code</th>\
            <th scope="col" class="n">Jobs</th><th scope="col">Class, stage</th><th scope="col">Example</th>\
            <th scope="col">What to do</th></tr></thead><tbody>\(rows)</tbody></table></section>
            """
    }
}
