import API
import Conversion
import Ledger

/// All queues with their settings and the states of their jobs.
struct QueuesView {
    let queues: [QueueSummary]
    let unable: [UnableLane]
    var mayChange = false
    /// The form for limit and weight, if it was not taken.
    var refused: RefusedForm?
    /// Rows of the page.
    private static let mostRows = 200

    var content: PageContent {
        let shown = queues.sorted { $0.jobs.open == $1.jobs.open ? $0.name < $1.name : $0.jobs.open > $1.jobs.open }
        let hidden = queues.count - Self.mostRows
        let rest: HTML =
            hidden > 0 ? "<p class=\"soft\">\(Figures.count(hidden, "queue")) with less work not shown.</p>" : ""
        let paused = queues.count(where: \.isPaused)
        let heading = Figures.count(queues.count, "queue") + (paused > 0 ? ", \(paused) paused" : "")
        let table: HTML = """
            <table class="rows"><thead><tr><th scope="col">Queue</th><th scope="col" class="n">Waiting</th>\
            <th scope="col" class="n">Delayed</th><th scope="col" class="n">Running</th>\
            <th scope="col" class="n">Limit</th><th scope="col" class="n">Weight</th><th scope="col" class="n">Completed</th>\
            <th scope="col" class="n">Failed</th><th scope="col">State</th>\(mayChange ? Self.actionHead : "")</tr></thead>
            <tbody>\(.all(shown.prefix(Self.mostRows).map(row)))</tbody></table>
            """
        let form: HTML = mayChange ? "<form method=\"post\" action=\"/queues\">\(table)</form>" : table
        return PageContent(
            title: "Queues",
            section: .queues,
            main: """
                <div class="head"><h1>\(heading)</h1></div>
                \(refused == nil ? "" : settings(shown))\(form)\(rest)\(refused == nil ? settings(shown) : "")

                """,
            // What was told must stay until it has been read.
            live: refused == nil ? [("queues", "true")] : [],
            terminal: "sluice queues"
        )
    }

    private func row(_ queue: QueueSummary) -> HTML {
        let link = PageLink(["jobs"], query: [("queue", queue.name)])
        let failed = PageLink(["jobs"], query: [("state", "failed"), ("queue", queue.name)])
        let jobs = queue.jobs
        let failures: HTML =
            jobs.failed > 0 ? "<a href=\"\(failed)\">\(Figures.grouped(jobs.failed))</a>" : "0"
        return """

            <tr><th scope="row"><a class="quiet" href="\(link)"><bdi>\(queue.name.cutInside(to: 60))</bdi></a></th>\
            <td class="n" data-k="waiting">\(Figures.grouped(jobs.waiting))</td>\
            <td class="n" data-k="delayed">\(Figures.grouped(jobs.delayed))</td>\
            <td class="n" data-k="running">\(Figures.grouped(jobs.running + jobs.publishing))</td>\(Self.limit(queue))\
            <td class="n" data-k="weight">\(queue.weight)</td>\
            <td class="n" data-k="completed">\(Figures.grouped(jobs.completed + jobs.skipped))</td>\
            <td class="n" data-k="failed">\(failures)</td><td class="w">\(Self.state(queue, unable))</td>\(mayChange ? Self.action(queue) : "")</tr>
            """
    }

    /// The head of the column with the buttons.
    static let actionHead: HTML = "<th scope=\"col\"><span class=\"vh\">Action</span></th>"

    /// The cell with the button of a queue, in a form for all of them.
    static func action(_ queue: QueueSummary) -> HTML {
        let (verb, word): (HTML, HTML) = queue.isPaused ? ("resume", "Resume") : ("pause", "Pause")
        return """
            <td class="n up"><button class="b" name="\(verb)" value="\(value: queue.name)">\(word)\
            <span class="vh"> \(queue.name.cutInside(to: 60))</span></button></td>
            """
    }

    private func settings(_ queues: [QueueSummary]) -> HTML {
        guard mayChange, !queues.isEmpty else { return "" }
        let names: HTML = .all(
            queues.prefix(Self.mostRows).map { queue in
                let mark: HTML = queue.name == refused?.text("queue") ? " selected" : ""
                return "<option value=\"\(value: queue.name)\"\(mark)>\(queue.name.cutInside(to: 60))</option>"
            }
        )
        let (limit, weight) = (refused?.text("limit") ?? "", refused?.text("weight") ?? "")
        return """
            \(refused?.problem.panel() ?? "")<section aria-labelledby="settings"><h2 id="settings">Limit and weight</h2>
            <form class="filter" method="post" action="/queues"><div><label class="f">Queue <select name="queue">\(names)\
            </select></label><label class="f">Running at most <input name="limit" type="number" min="0" max="1000000" \
            value="\(value: limit)" placeholder="same" aria-describedby="bounds"></label><label class="f">Weight <input name="weight" \
            type="number" min="1" max="10000" value="\(value: weight)" placeholder="same"></label><button class="b">Save</button></div>\
            <p class="soft" id="bounds">0 removes the limit. A queue of twice the weight gets twice the turns; 100 is usual.</p>\
            </form></section>
            """
    }

    /// The cell with the limit of a queue, which is empty without one.
    static func limit(_ queue: QueueSummary) -> HTML {
        queue.runningLimit.map { "<td class=\"n\" data-k=\"limit\">\(Figures.grouped($0))</td>" }
            ?? "<td class=\"n\"></td>"
    }

    /// Why the work of a queue does not go on, or that there is none.
    static func state(_ queue: QueueSummary, _ unable: [UnableLane]) -> HTML {
        if queue.isPaused { return "<span class=\"s paused\">paused</span>" }
        if let lane = unable.first(where: { $0.queue == queue.name }) {
            let what = (lane.missing.isEmpty ? lane.needs : lane.missing).joined(separator: ", ").cutInside(to: 120)
            return "<span class=\"s note\">jobs wait for \(what)</span>"
        }
        if queue.jobs.open == 0 { return "<span class=\"soft\">empty</span>" }
        if let limit = queue.runningLimit, queue.jobs.running >= limit, queue.jobs.waiting > 0 {
            return "<span class=\"soft\">at its limit</span>"
        }
        return ""
    }
}
