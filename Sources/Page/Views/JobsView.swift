import API
import Conversion
import FoundationEssentials
import HTTPServer
import Ledger

/// A list of jobs with its filter.
struct JobsView {
    /// As many as the first answer of a page has space for.
    static let pageLength: Int32 = 18
    /// Calls of the ledger for one page, of which each reads 20,000 sources.
    static let mostCalls = 5

    let query: JobListQuery
    let now: Date
    var jobs: [JobSummary] = []
    var next: JobCursor?
    /// Whether a search ended before it had found a whole page.
    var isCutShort = false
    var mayChange = false
    /// Filters that have names, and whether this one may get one.
    var saved: [SavedFilter] = []
    var maySave = false

    init(query: JobListQuery, now: Date, jobs: [JobSummary] = [], next: JobCursor? = nil) {
        (self.query, self.now, self.jobs, self.next) = (query, now, jobs, next)
    }

    var content: PageContent {
        PageContent(
            title: "Jobs",
            section: .jobs,
            main: "<div class=\"head\"><h1>Jobs</h1></div>\n\(filter)\n\(query.mistakes.isEmpty ? list : mistakes)\n",
            live: live,
            moves: jobs.contains { $0.state == .running },
            terminal: query.command,
            status: query.mistakes.isEmpty ? .ok : .badRequest
        )
    }

    /// Counts of queues change when jobs enter other states; jobs that run also tell how far they are. A search costs too much to
    /// be repeated.
    private var live: [(name: String, value: String)] {
        guard query.filter.sourceContains == nil else { return [] }
        let running = jobs.filter { $0.state == .running }.map { "\($0.job)" }.joined(separator: ",")
        return [("queues", "true"), ("job", running)]
    }

    // MARK: - The filter

    private var filter: HTML {
        let chosen = query.filter.states ?? []
        let chips: HTML = .all(
            JobState.allCases.map { state in
                let mark: HTML = chosen.contains(state) ? " checked" : ""
                return """
                    <label class="chip"><input type="checkbox" name="state" value="\(state.rawValue)"\(mark)>\
                    \(Mark.of(state))</label>
                    """
            }
        )
        // What the form has no field for stays in the filter.
        let others: HTML = .all(
            ["class", "stage", "source", "since"].filter { !query.text($0).isEmpty }.map { name in
                "<input type=\"hidden\" name=\"\(name)\" value=\"\(value: query.text(name))\">"
            }
        )
        let remarks: HTML = query.filter.hasRemarks == true ? " checked" : ""
        return """
            <search><details class="fold"><summary>Filter: \(query.words.cutInside(to: 200))</summary>
            <form class="filter" action="/jobs"><fieldset class="chips"><legend class="vh">State</legend>\(chips)</fieldset>
            <div><label class="f grow">Source contains <input name="source-contains" value="\(value: query.text("source-contains"))" \
            placeholder="a part of a location" autocomplete="off"></label>\
            <label class="f">Queue <input name="queue" value="\(value: query.text("queue"))" size="10"></label>\
            <label class="f">Code <input name="code" value="\(value: query.text("code"))" size="14" placeholder="any"></label>\
            <label class="f">Batch <input name="batch" value="\(value: query.text("batch"))" size="8" inputmode="numeric"></label>\
            <label class="f">Ended since <select name="ended-since">\(times)</select></label>\
            <label class="chip"><input type="checkbox" name="remarks" value="true"\(remarks)>\
            <span class="s note">with warnings</span></label>\(others)\
            <button class="b go">Show</button> <a class="b plain" href="/jobs">Clear</a></div></form>\(names)\(naming)</details>\
            </search>
            """
    }

    /// Links to the filters that have names.
    private var names: HTML {
        let links: [HTML] = saved.prefix(100).compactMap { filter in
            guard let link = PageLink(list: filter) else { return nil }
            let mark: HTML = link == query.link() ? " aria-current=\"true\"" : ""
            return "<a class=\"chip\" href=\"\(link)\"\(mark)><bdi>\(filter.name)</bdi></a>"
        }
        guard !links.isEmpty else { return "" }
        return "<div class=\"chips\"><span class=\"soft\">Saved:</span> \(.joined(links, by: " "))</div>"
    }

    /// A form that gives this filter a name, or removes the name that it has.
    private var naming: HTML {
        guard maySave, query.mistakes.isEmpty, !query.given.isEmpty, query.filter.ids == nil else { return "" }
        let link = query.link()
        if let known = saved.first(where: { PageLink(list: $0) == link }) {
            return """
                <form method="post" action="/jobs"><button class="b plain" name="remove" value="\(value: known.name)">\
                Remove the saved filter <bdi>\(known.name)</bdi></button></form>
                """
        }
        return """
            <form class="filter" method="post" action="/jobs"><input type="hidden" name="next" value="\(value: link.text)">\
            <div><label class="f">Save this filter as <input name="save" required maxlength="60" autocomplete="off"></label>\
            <button class="b">Save</button></div></form>
            """
    }

    private var times: HTML {
        let chosen = query.text("ended-since")
        var offered = [("", "any time")] + PageMoment.offered
        if !offered.contains(where: { $0.0 == chosen }) { offered.append((chosen, chosen)) }
        return .all(
            offered.map { value, words in
                let mark: HTML = value == chosen ? " selected" : ""
                return "<option value=\"\(value)\"\(mark)>\(words)</option>"
            }
        )
    }

    private var mistakes: HTML {
        let lines: HTML = .all(query.mistakes.map { "<p><b>\($0.name)</b> \($0.why).</p>" })
        return """
            <div class="panel err" role="alert"><h2><span class="s failed">The filter cannot be used</span></h2>\(lines)</div>
            """
    }

    // MARK: - The list

    private var list: HTML {
        guard !jobs.isEmpty else { return isCutShort ? noneYet : query.after == nil ? none : end }
        let order = query.filter.sourcePrefix == nil ? "Newest first" : "By source"
        let list: HTML = """
            <div class="bar"><h2 id="list">\(order)</h2>\(changes)</div>
            <table class="rows"><thead><tr><th scope="col">ID</th><th scope="col">State</th><th scope="col">Source</th>\
            <th scope="col">What</th><th scope="col" class="n">Attempts</th><th scope="col" class="opt">Queue</th>\
            <th scope="col" class="n">When</th><th scope="col">Worker</th></tr></thead>
            <tbody>\(.all(jobs.map(row)))
            </tbody></table>
            """
        let form: HTML = hasChanges ? "<form action=\"/changes/preview\">\(fields)\(list)</form>" : list
        return """
            <section aria-labelledby="list">\(form)
            \(pages)</section>
            """
    }

    /// Whether jobs can be selected and changed. A change cannot select them by remarks, and numbers in the filter would add
    /// to those that are selected here.
    private var hasChanges: Bool { mayChange && query.filter.hasRemarks == nil && query.filter.ids == nil }

    /// Of the selected jobs, or of all that match if none is.
    private var changes: HTML {
        guard hasChanges else { return "" }
        let buttons: [(String, HTML, WantedChange)] = [
            ("Retry…", Self.letter("r"), .retry(nil)), ("Priority…", "", .prioritize),
            ("Accept…", Self.letter("a"), .accept(undo: false)), ("Cancel…", Self.letter("c"), .cancel),
        ]
        let parts: [HTML] = buttons.map { words, letter, change in
            let kind: HTML = change == .cancel ? " stop" : ""
            return "<button class=\"b\(kind)\" name=\"change\" value=\"\(change.text)\"\(letter)>\(words)</button>"
        }
        return """
            <span class="soft near">those selected, or all that match:</span> <p class="do">\(.joined(parts, by: " "))</p>
            """
    }

    /// Has a letter press a button while a row of its list has the focus.
    static func letter(_ letter: String) -> HTML { " aria-keyshortcuts=\"\(letter)\"" }

    /// The filter in a form, as it is meant now.
    private var fields: HTML {
        .all(
            query.settled.map { name, value in
                "<input type=\"hidden\" name=\"\(name)\" value=\"\(value: value)\">"
            }
        )
    }

    private func row(_ job: JobSummary) -> HTML {
        // On a phone only a number that says something is shown, with its name.
        let attempts: HTML = job.attempts > 1 ? "\" data-k=\"attempts" : " alt"
        let count = job.state == .delayed ? "\(job.attempts) of \(job.maxAttempts)" : "\(job.attempts)"
        let when = job.readyAt.map { PageTime.ahead($0, at: now) } ?? PageTime.ago(job.since, at: now)
        let place = job.worker.map { name in job.slot.map { "\(name)/\($0)" } ?? name } ?? ""
        let id: HTML =
            hasChanges
            ? """
            <td class="t tick"><label><input type="checkbox" name="id" value="\(job.job)"> \(job.job)</label></td>
            """ : "<td class=\"t\">\(job.job)</td>"
        return """

            <tr>\(id)<td class="t">\(Mark.state(job))</td>\
            <td class="src w">\(LocationText.cell(job.source, .job(job.job)))</td><td class="w what">\(Self.what(job, at: now))</td>\
            <td class="n\(attempts)">\(count)</td><td class="t opt">\(job.queue.cutInside(to: 40))</td>\
            <td class="n e">\(when)</td><td class="t">\(place.cutInside(to: 40))</td></tr>
            """
    }

    /// What is worth knowing about a job, in a few words.
    static func what(_ job: JobSummary, at now: Date) -> HTML {
        let code: HTML = job.code.map { "<code>\($0)</code>" } ?? ""
        switch job.state {
        case .running:
            return job.share.map(Picture.progress) ?? ""
        case .publishing: return "<span class=\"soft\">gets its name</span>"
        case .failed: return job.stage.map { "\(code) <span class=\"soft\">in \($0)</span>" } ?? code
        case .delayed:
            return job.readyAt.map { "\(code) <span class=\"soft\">again \(PageTime.ahead($0, at: now))</span>" }
                ?? code
        case .accepted: return job.acceptedBy.map { "\(code) <span class=\"soft\">by \($0)</span>" } ?? code
        case .skipped: return "<span class=\"soft\">another file is there and stays</span>"
        case .completed:
            if let remarks = job.remarks { return "<span class=\"soft\">\(words(remarks))</span>" }
            return job.hasRemarks ? "<span class=\"s note\">with warnings</span>" : ""
        case .waiting, .cancelled: return code
        }
    }

    private static func words(_ remarks: JobRemarks) -> String {
        var words = remarks.damage.isEmpty ? [] : ["damage at \(Figures.count(remarks.damage.stretchCount, "place"))"]
        for word in remarks.remarks.map(\.brief) where !words.contains(word) { words.append(word) }
        return words.joined(separator: ", ").cutInside(to: 120)
    }

    private var pages: HTML {
        PagesBar(
            first: query.after == nil ? nil : query.link(),
            next: next.map { query.link(after: $0) },
            nextWord: isCutShort ? "Search on" : "Next"
        ).html
    }

    /// A part of the ledger has been searched.
    private var noneYet: HTML {
        """
        <section class="empty" aria-labelledby="none"><h2 id="none">No job matches so far</h2>
        <p class="soft">\(Figures.grouped(20_000 * Self.mostCalls)) sources were searched.</p>\
        \(pages)</section>
        """
    }

    private var none: HTML {
        guard !query.given.isEmpty else {
            return """
                <section class="empty" aria-labelledby="none"><h2 id="none">No jobs yet</h2>
                <p class="soft">Jobs come from <code>sluice submit</code>, or from programs that use the API.</p></section>
                """
        }
        let ways: HTML = .all(
            query.given.map { "<a class=\"b\" href=\"\(query.link(without: $0.name))\">Without \($0.name)</a> " }
        )
        return """
            <section class="empty" aria-labelledby="none"><h2 id="none">No job matches</h2>
            <p class="soft">The filter is: \(query.words.cutInside(to: 400)). Case matters.</p>
            <p class="do">\(ways)<a class="b go" href="/jobs">Clear the filter</a></p></section>
            """
    }

    private var end: HTML {
        """
        <section class="empty" aria-labelledby="none"><h2 id="none">No more jobs</h2>
        <p class="do"><a class="b go" href="\(query.link())">First page</a></p></section>
        """
    }
}
