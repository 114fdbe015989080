import API
import Conversion
import FoundationEssentials
import Ledger

/// The cluster at a glance: what needs attention, how fast work goes on, and where it is.
struct OverviewView {
    let facts: StatusFacts
    let rights: CallerRights
    var queues: [QueueSummary] = []
    /// `nil` for those who may not see it.
    var workers: [WorkerSummary]?
    var running = RunningJobs()
    var paces: [MinuteThroughput]?
    var failures: [FailureGroup] = []
    var batches: [BatchSummary] = []

    /// The seconds that sparklines and the chart show.
    static let span = 6.0 * 3_600
    /// Rows of a list, and notes.
    private static let (mostRows, mostNotes) = (8, 8)
    /// Batches that are looked at, and that are shown.
    static let (newestBatches, mostBatches) = (20, 5)
    /// Batches of paused queues that are shown before others that wait.
    static let mostPaused = 2

    init(facts: StatusFacts, rights: CallerRights) { (self.facts, self.rights) = (facts, rights) }

    private var status: LedgerStatus { facts.status }
    private var now: Date { status.time }

    var content: PageContent {
        let needs = self.needs
        return PageContent(
            title: "Overview",
            section: .overview,
            main: """
                <div class="head"><div><h1>\(heading(needs.count))</h1><p class="soft">\(about)</p></div></div>
                \(list(needs))\(figures)
                \(queueTable)\(throughput)\(workerTable)\(causes)\(batchTable)
                """,
            isOverview: true,
            live: [("queues", "true")],
            moves: status.jobs.running > 0,
            terminal: "sluice status"
        )
    }

    private func heading(_ needs: Int) -> String {
        let jobs = status.jobs
        let state =
            if jobs.running + jobs.publishing > 0 {
                "Jobs are running"
            } else if jobs.waiting > 0 {
                "Jobs are waiting"
            } else {
                jobs.delayed > 0 ? "Jobs are delayed" : "No jobs are waiting"
            }
        switch needs {
        case 0: return "\(state); nothing needs attention"
        case 1: return "\(state); 1 thing needs attention"
        default: return "\(state); \(needs) things need attention"
        }
    }

    private var about: HTML {
        var parts: [HTML] = []
        let server = facts.server.map { "PostgreSQL \($0), " } ?? ""
        let version = facts.version.map { ", ledger version \($0.version)" } ?? ""
        parts.append("\(server)\(facts.place)\(version).")
        if let kept = status.keptHouseAt { parts.append("Housekeeping ran \(PageTime.ago(kept, at: now)).") }
        parts.append("As of \(PageTime.clock(now, at: now)).")
        return .joined(parts, by: " ")
    }

    // MARK: - What needs attention

    private struct Need {
        let shape: String
        let text: HTML
        var link: (words: String, target: PageLink)?
        /// What mends it.
        var button: HTML = ""
    }

    private var needs: [Need] {
        // A paused queue has a button beside its note, below.
        var needs = facts.notes.filter { $0.kind != .paused }.map { note in
            Need(shape: Self.shape(note.kind), text: "\(note.text.cutInside(to: 600).sentence)", link: link(note.kind))
        }
        for queue in queues where queue.isPaused && queue.jobs.waiting + queue.jobs.delayed > 0 {
            let count = queue.jobs.waiting + queue.jobs.delayed
            let jobs = "\(Figures.count(count, "job")) \(count == 1 ? "waits" : "wait")"
            needs.append(
                Need(
                    shape: "paused",
                    text: "Queue <b><bdi>\(queue.name.cutInside(to: 60))</bdi></b> is paused; \(jobs) in it.",
                    link: ("Its jobs", PageLink(["jobs"], query: [("queue", queue.name)])),
                    button: resume(queue)
                )
            )
        }
        return needs
    }

    private func resume(_ queue: QueueSummary) -> HTML {
        guard rights.may("changeQueue") else { return "" }
        return steering("<button class=\"b\" name=\"resume\" value=\"\(value: queue.name)\">Resume</button>")
    }

    private static func shape(_ kind: StatusNote.Kind) -> String {
        switch kind {
        case .noWorkers, .failures, .losses: "failed"
        case .housekeeping, .trouble, .unable, .paused, .held, .webhooks, .versions: "note"
        }
    }

    private func link(_ kind: StatusNote.Kind) -> (words: String, target: PageLink)? {
        switch kind {
        case .failures: ("All causes", PageLink(["failures"], query: [("since", "1h")]))
        case .losses, .trouble: rights.may("listWorkers") ? ("Workers", PageLink(["workers"])) : nil
        case .unable, .paused: ("Queues", PageLink(["queues"]))
        case .noWorkers, .housekeeping, .held, .webhooks, .versions: nil
        }
    }

    private func list(_ needs: [Need]) -> HTML {
        guard !needs.isEmpty else { return "" }
        let items: HTML = .all(
            needs.prefix(Self.mostNotes).map { need in
                let link: HTML =
                    need.link.map { "<a class=\"b plain\" href=\"\($0.target)\">\($0.words)</a> " } ?? ""
                let ways: HTML =
                    link.isEmpty && need.button.isEmpty ? "" : "<div class=\"do\">\(link)\(need.button)</div>"
                return "<li><span class=\"s \(need.shape)\"></span><div><p>\(need.text)</p></div>\(ways)</li>"
            }
        )
        let hidden = needs.count - Self.mostNotes
        let rest: HTML = hidden > 0 ? "<p class=\"soft\">and \(hidden) more; the command shows all</p>" : ""
        return """
            <section class="tall" aria-labelledby="needs"><h2 id="needs" class="vh">What needs attention</h2>\
            <ul class="needs">\(items)</ul>\(rest)</section>

            """
    }

    // MARK: - Figures

    /// Jobs that ended in a second, and seconds of sound in one: of the last minute, or of the last hour if it had none.
    private var pace: (files: Double, speed: Double, words: String)? {
        if let completed = status.completedLastMinute, completed > 0, let audio = status.audioLastMinute,
            let span = status.lastMinuteSpan, span > .zero
        {
            return (Double(completed) / span.seconds, audio / span, "in the last minute")
        }
        guard status.completedLately > 0, let span = status.paceSpan, span > .zero else { return nil }
        return (Double(status.completedLately) / span.seconds, status.audioLately / span, "in the last hour")
    }

    private var figures: HTML {
        let jobs = status.jobs
        var items: [HTML] = []
        if let pace {
            let speed = Figures.speed(pace.speed).dropLast()
            items.append("<div><dt>of real time, \(pace.words)</dt><dd>\(String(speed)) <span>x</span></dd></div>")
            let files = Figures.decimals(pace.files, pace.files < 10 ? 1 : 0)
            items.append("<div><dt>files finished</dt><dd>\(files) <span>per second</span></dd></div>")
        }
        let slots = Figures.grouped(facts.workers.slots)
        items.append(
            workers == nil
                ? "<div><dt>slots of \(Figures.count(facts.workers.alive, "worker"))</dt><dd>\(slots)</dd></div>"
                : "<div><dt>slots busy</dt><dd>\(Figures.grouped(facts.workers.busySlots)) <span>of \(slots)</span></dd></div>"
        )
        let oldest = status.oldestWaiting.map { ", oldest \(TimeWords.span(seconds: now.timeIntervalSince($0)))" } ?? ""
        items.append("<div><dt>jobs wait\(oldest)</dt><dd>\(Figures.grouped(jobs.waiting))</dd></div>")
        items.append("<div><dt>left\(until)</dt><dd>\(left)</dd></div>")
        return "<dl class=\"figs\">\(.all(items))</dl>"
    }

    /// How long the open jobs take, or why that cannot be told.
    private var left: HTML {
        if status.jobs.open == 0 { return "nothing" }
        if facts.workers.alive == 0 { return "no workers" }
        if isStuck { return "<span class=\"s note\">waits for space</span>" }
        if openUnpaused == 0 { return "<span class=\"s paused\">paused</span>" }
        return secondsLeft.map { "\(TimeWords.span(seconds: $0))" } ?? "unknown"
    }

    /// The open jobs without those of paused queues.
    private var openUnpaused: Int {
        status.jobs.open - queues.filter(\.isPaused).reduce(0) { $0 + $1.jobs.open }
    }

    /// Whether nothing goes on because a file system is full.
    private var isStuck: Bool {
        let isFull = facts.troubles.contains { if case .full = $0.kind { true } else { false } }
        return isFull && status.completedLastMinute ?? 0 == 0
    }

    /// By the pace of an hour, because that of a minute moves too much. Jobs of paused queues are not counted.
    private var secondsLeft: Double? {
        guard openUnpaused > 0, facts.workers.alive > 0, !isStuck, status.completedLately > 0,
            let span = status.paceSpan, span > .zero
        else { return nil }
        return Double(openUnpaused) / (Double(status.completedLately) / span.seconds)
    }

    /// `, until 17:10`: within a day, as far as that can be known.
    private var until: HTML {
        guard let seconds = secondsLeft, seconds < 86_400 else { return "" }
        return ", until \(Self.hour(now.addingTimeInterval(seconds)))"
    }

    /// `17:10`
    private static func hour(_ date: Date) -> String { String(date.formatted(.iso8601).dropFirst(11).prefix(5)) }

    // MARK: - Queues

    /// What was done in each part of the time that is shown, of a queue or of all.
    private func parts(_ count: Int, _ queue: String?, _ value: (MinuteThroughput) -> Double) -> [Double] {
        var parts = [Double](repeating: 0, count: count)
        let start = now.addingTimeInterval(-Self.span)
        for minute in paces ?? [] where queue == nil || minute.queue == queue {
            let place = Int(minute.minute.timeIntervalSince(start) / Self.span * Double(count))
            if parts.indices.contains(place) { parts[place] += value(minute) }
        }
        return parts
    }

    private var queueTable: HTML {
        guard !queues.isEmpty else { return "" }
        // Those with work first.
        let shown = queues.sorted { $0.jobs.open == $1.jobs.open ? $0.name < $1.name : $0.jobs.open > $1.jobs.open }
        let spark: HTML = paces == nil ? "" : "<th scope=\"col\" class=\"n\">Last 6 h</th>"
        let action: HTML = rights.may("changeQueue") ? QueuesView.actionHead : ""
        let table: HTML = """
            <table class="rows"><thead><tr><th scope="col">Queue</th>\
            <th scope="col" class="n">Waiting</th><th scope="col" class="n">Running</th><th scope="col" class="n">Limit</th>\
            \(spark)<th scope="col">State</th>\(action)</tr></thead><tbody>\(.all(shown.prefix(Self.mostRows).map(queueRow)))\
            </tbody></table>
            """
        return """
            <section class="late" aria-labelledby="queues"><div class="bar"><h2 id="queues">Queues</h2> \
            <a href="/queues">All queues</a></div>\(steering(table))</section>

            """
    }

    private func queueRow(_ queue: QueueSummary) -> HTML {
        let link = PageLink(["jobs"], query: [("queue", queue.name)])
        let spark: HTML =
            paces == nil
            ? "" : "<td class=\"n up\">\(Picture.spark(parts(24, queue.name) { Double($0.completed) }))</td>"
        return """
            <tr><th scope="row"><a class="quiet" href="\(link)"><bdi>\(queue.name.cutInside(to: 60))</bdi></a></th>\
            <td class="n" data-k="waiting">\(Figures.grouped(queue.jobs.waiting))</td>\
            <td class="n" data-k="running">\(Figures.grouped(queue.jobs.running + queue.jobs.publishing))</td>\
            \(QueuesView.limit(queue))\(spark)<td class="w">\(state(queue))</td>\
            \(rights.may("changeQueue") ? QueuesView.action(queue) : "")</tr>
            """
    }

    /// Why its work does not go on, or how long it takes by what it did in the last hour.
    private func state(_ queue: QueueSummary) -> HTML {
        let state = QueuesView.state(queue, facts.unable)
        guard state.isEmpty, !isStuck else { return state }
        let done = parts(6, queue.name) { Double($0.completed) }.last ?? 0
        guard done > 0 else { return "" }
        let seconds = Double(queue.jobs.open) / done * Self.span / 6
        return "<span class=\"soft\">\(TimeWords.span(seconds: seconds)) left</span>"
    }

    /// A form around the buttons of queues, from which the browser comes back.
    private func steering(_ content: HTML) -> HTML {
        guard rights.may("changeQueue") else { return content }
        return """
            <form method="post" action="/queues"><input type="hidden" name="next" value="/">\(content)</form>
            """
    }

    private var throughput: HTML {
        guard paces != nil else { return "" }
        let values = parts(72, nil) { $0.audio.seconds / (Self.span / 72) }
        let most = values.max() ?? 0
        let words = most > 0 ? "Throughput up to \(Figures.speed(most)) real time" : "Nothing was converted"
        // The hour of each third.
        var marks = (0..<3).map { (third: Int) -> String in
            let time = now.addingTimeInterval(Double(third) * Self.span / 3 - Self.span)
            return Self.hour(time)
        }
        marks.append("now")
        return """
            <section class="pair" aria-labelledby="pace"><div class="bar"><h2 id="pace">Throughput</h2> \
            <span class="soft near">x real time, last 6 hours</span></div>\
            \(Picture.chart(values, words: words, marks: marks))</section>

            """
    }

    // MARK: - Workers

    private var workerTable: HTML {
        guard let workers else { return "" }
        let rows: HTML =
            workers.isEmpty
            ? "<tr><td class=\"soft w\">No workers are running; <code>sluice worker</code> starts one.</td></tr>"
            : .all(workers.prefix(Self.mostRows).map(workerRow))
        return """
            <section class="pair late" aria-labelledby="workers"><div class="bar"><h2 id="workers">Workers</h2> \
            <span class="soft near">a slot fills as its job advances</span> <a href="/workers">All workers</a></div><table class="rows"><thead class="vh"><tr><th scope="col">Worker</th>\
            <th scope="col">Slots</th><th scope="col">Busy</th><th scope="col">Speed</th><th scope="col">State</th></tr>\
            </thead><tbody>\(rows)</tbody></table></section>

            """
    }

    private func workerRow(_ worker: WorkerSummary) -> HTML {
        """
        <tr><th scope="row"><a class="quiet" href="/workers#w\(worker.worker)"><bdi>\(worker.name.cutInside(to: 40))</bdi>\
        </a></th><td>\(Picture.slots(running.fills(of: worker)))</td><td class="n">\(worker.busy) of \(worker.slots)</td>\
        <td class="n">\(WorkersView.speed(worker))</td><td class="w">\(Mark.of(worker.state(at: now)))</td></tr>
        """
    }

    // MARK: - Failures and batches

    private var causes: HTML {
        let groups = failures.filter { $0.jobs > 0 }
        guard !groups.isEmpty else { return "" }
        let rows: HTML = .all(
            groups.prefix(5).map { group in
                let source = group.exampleSource ?? "job \(group.example)"
                return """
                    <tr><th scope="row"><a class="quiet" href="/failures#\(group.fragment)">\
                    <code>\(group.code)</code></a></th><td class="n" data-k="jobs">\(Figures.grouped(group.jobs))</td>\
                    <td class="t up">\(PageTime.ago(group.lastAt, at: now))</td>\
                    <td class="src w">\(LocationText.cell(source, .job(group.example)))</td></tr>
                    """
            }
        )
        return """
            <section class="late" aria-labelledby="fails"><div class="bar"><h2 id="fails">Failures by cause</h2> \
            <span class="soft near">in the last \(rights.caller.tenant == nil ? "day" : "hour")</span> <a href="/failures">All causes</a></div><table class="rows">\
            <thead><tr><th scope="col">Code</th><th scope="col" class="n">Jobs</th><th scope="col">Last</th>\
            <th scope="col">Example</th></tr></thead><tbody>\(rows)</tbody></table></section>

            """
    }

    private static let pausedMark: HTML = " <span class=\"s paused\">paused</span>"

    private var batchTable: HTML {
        let open = batches.filter { $0.jobs.open > 0 }
        guard !open.isEmpty else { return "" }
        let paused = Set(queues.lazy.filter(\.isPaused).map(\.name))
        // Those whose jobs run first, then some of paused queues: older ones are here for that.
        var (shown, others) = (open.filter { $0.jobs.running > 0 }, open.filter { $0.jobs.running == 0 })
        let held = others.filter { paused.contains($0.queue) }.suffix(Self.mostPaused)
        others.removeAll { batch in held.contains { $0.batch == batch.batch } }
        shown += held + others
        let rows: HTML = .all(
            shown.prefix(Self.mostBatches).map { batch in
                """
                <tr><td class="src w"><a href="\(PageLink.batch(batch.batch))">\(batch.batch) \
                <bdi>\((batch.name ?? "").cutInside(to: 100))</bdi></a>\(paused.contains(batch.queue) ? Self.pausedMark : "")</td>\
                <td class="t">\(Picture.progress(batch.jobs.share))</td>\
                <td class="n" data-k="failed">\(Figures.grouped(batch.jobs.failed))</td></tr>
                """
            }
        )
        return """
            <section class="late" aria-labelledby="batches"><div class="bar"><h2 id="batches">Batches under way</h2> \
            <span class="soft near">of the newest, those whose jobs run, and of paused queues</span> <a href="/batches">All batches</a></div><table class="rows"><thead><tr><th scope="col">Batch</th>\
            <th scope="col">Done</th><th scope="col" class="n">Failed</th></tr></thead><tbody>\(rows)</tbody></table></section>

            """
    }
}
