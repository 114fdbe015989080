import API
import Conversion
import FoundationEssentials
import Ledger

/// The workers: what each does now, what it may use, and those that ended in the last day.
struct WorkersView {
    let workers: [WorkerSummary]
    var running = RunningJobs()
    let now: Date
    var mayChange = false
    /// Workers of each kind on one page.
    private static let mostWorkers = 60

    var content: PageContent {
        let running = workers.filter { $0.endedAt == nil }
        let ended = workers.filter { $0.endedAt != nil }
        let census = WorkerCensus(running, at: now)
        let heading =
            running.isEmpty
            ? "No workers are running"
            : "\(Figures.count(running.count, "worker")); \(Figures.grouped(census.busySlots)) of "
                + "\(Figures.count(census.slots, "slot")) busy"
        let hidden = running.count - Self.mostWorkers
        let rest: HTML = hidden > 0 ? "<p class=\"soft\">\(Figures.count(hidden, "worker")) more not shown.</p>" : ""
        let none: HTML =
            running.isEmpty
            ? "<section class=\"empty\"><p class=\"soft\"><code>sluice worker</code> starts one on each machine.</p></section>"
            : ""
        let sections: HTML = "<div class=\"workers\">\(.all(running.prefix(Self.mostWorkers).map(section)))</div>"
        let form: HTML = mayChange ? "<form method=\"post\" action=\"/workers\">\(sections)</form>" : sections
        return PageContent(
            title: "Workers",
            section: .workers,
            main: "<div class=\"head\"><h1>\(heading)</h1></div>\(none)\n\(form)\(rest)\(endedTable(ended))\n",
            live: [("queues", "true")],
            moves: census.busySlots > 0,
            terminal: "sluice workers --ended-since 1d"
        )
    }

    /// What its conversions make together: `1,702x`.
    static func speed(_ worker: WorkerSummary) -> String {
        guard let paces = worker.status.paces, !paces.isEmpty else { return "-" }
        return Figures.speed(paces.reduce(0) { $0 + $1.speed })
    }

    private func section(_ worker: WorkerSummary) -> HTML {
        let name = worker.name.cutInside(to: 80)
        let libraries: HTML = worker.libraries.map { ", \($0.cutInside(to: 80))" } ?? ""
        let sandbox: HTML =
            worker.status.sandbox.map { text in
                let isWhole = text != "off" && !text.contains("without ")
                let words = text.cutInside(to: 200)
                return isWhole
                    ? "<dt>Lock</dt><dd>\(words)</dd>" : "<dt>Lock</dt><dd><span class=\"s note\">\(words)</span></dd>"
            } ?? ""
        return """

            <section class="worker" id="w\(worker.worker)" aria-labelledby="n\(worker.worker)"><div>\
            <h2 id="n\(worker.worker)"><bdi>\(name)</bdi></h2><p>\(Mark.of(worker.state(at: now)))</p>\
            <dl class="facts"><dt>Host</dt><dd>\(worker.host.cutInside(to: 120))</dd>\
            <dt>Version</dt><dd>\(worker.build.cutInside(to: 80))\(libraries)</dd>\(sandbox)\
            <dt>Speed</dt><dd>\(Self.speed(worker)) real time</dd>\
            <dt>Heartbeat</dt><dd>\(PageTime.ago(worker.beatAt, at: now))</dd></dl>\(buttons(worker))</div><div>\(roots(worker))\
            <p>\(Picture.slots(running.fills(of: worker)))</p>\
            <p class="soft">\(worker.busy) of \(Figures.count(worker.slots, "slot")) busy; it holds \
            \(Figures.count(worker.holds, "job")).</p>\(troubles(worker))\(jobs(worker))</div></section>
            """
    }

    /// What an operator may ask of a worker, without what was asked already.
    private func buttons(_ worker: WorkerSummary) -> HTML {
        guard mayChange else { return "" }
        let buttons: [HTML] = WorkerWish.allCases.filter { $0 != worker.wish }.map { wish in
            let word: HTML =
                switch wish {
                case .run: "Work again"
                case .quiet: "Quiet"
                case .drain: "Drain"
                }
            return """
                <button class="b" name="\(wish.rawValue)" value="\(worker.worker)">\(word)\
                <span class="vh"> \(worker.name.cutInside(to: 80))</span></button>
                """
        }
        return "<p class=\"do\">\(.joined(buttons, by: " "))</p>"
    }

    private func roots(_ worker: WorkerSummary) -> HTML {
        let roots = worker.abilities.filter { $0.hasPrefix("root:") }.map { String($0.dropFirst(5)) }.sorted()
        guard !roots.isEmpty else { return "" }
        let names: HTML = .all(roots.prefix(20).map { "<span><bdi>\($0.cutInside(to: 60))</bdi></span> " })
        return "<p class=\"roots\"><span class=\"soft\">Roots</span> \(names)</p>"
    }

    private func troubles(_ worker: WorkerSummary) -> HTML {
        .all(
            [worker].troubles(at: now).map { trouble in
                "<p><span class=\"s note\"></span> \(trouble.note.cutInside(to: 600).sentence)</p>"
            }
        )
    }

    /// What its slots convert, with the speeds of conversions that have run long enough to be measured.
    private func jobs(_ worker: WorkerSummary) -> HTML {
        let jobs = running.jobs(of: worker)
        guard !jobs.isEmpty else { return "" }
        let paces = Dictionary((worker.status.paces ?? []).map { ($0.job, $0) }) { first, _ in first }
        let rows: HTML = .all(
            jobs.prefix(32).map { slot, job in
                let share: HTML = job.share.map { "\(Int($0 * 100))%" } ?? ""
                let speed: HTML = paces[job.job].map { "\(Figures.speed($0.speed))" } ?? ""
                let left: HTML =
                    paces[job.job]?.remaining.map { "<span class=\"soft\">\(Figures.clock(seconds: $0)) left</span>" }
                    ?? ""
                return """
                    <tr><td class="t">\(Picture.gate(job.share ?? 0))\(slot)</td><td class="t">\(job.job)</td>\
                    <td class="src w">\(LocationText.cell(job.source, .job(job.job)))</td><td class="n">\(share)</td>\
                    <td class="n">\(speed)</td><td class="n e">\(left)</td></tr>
                    """
            }
        )
        return """
            <table class="rows"><thead class="vh"><tr><th scope="col">Slot</th><th scope="col">Job</th>\
            <th scope="col">Source</th><th scope="col">Done</th><th scope="col">Speed</th><th scope="col">Left</th></tr>\
            </thead><tbody>\(rows)</tbody></table>
            """
    }

    private func endedTable(_ ended: [WorkerSummary]) -> HTML {
        guard !ended.isEmpty else { return "" }
        let rows: HTML = .all(
            ended.prefix(Self.mostWorkers).map { worker in
                """
                <tr><th scope="row"><bdi>\(worker.name.cutInside(to: 80))</bdi></th>\
                <td class="t">\(Mark.of(worker.state(at: now)))</td><td class="t">\(worker.host.cutInside(to: 120))</td>\
                <td class="n e">\(PageTime.ago(worker.seenAt, at: now))</td></tr>
                """
            }
        )
        return """
            <section aria-labelledby="ended"><h2 id="ended">Ended in the last day</h2><table class="rows"><thead><tr>\
            <th scope="col">Worker</th><th scope="col">How</th><th scope="col">Host</th>\
            <th scope="col" class="n">Last seen</th></tr></thead><tbody>\(rows)</tbody></table></section>
            """
    }
}
