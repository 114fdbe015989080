import API
import Conversion
import FoundationEssentials
import Ledger

/// Changes of many jobs with their progress, newest first.
struct ChangesView {
    static let pageLength = 20

    let changes: [BulkChange]
    let hasMore: Bool
    let isFirst: Bool
    let now: Date

    var content: PageContent {
        PageContent(
            title: "Changes",
            section: .changes,
            main: "<div class=\"head\"><h1>Changes of many jobs</h1></div>\n\(changes.isEmpty ? none : table)\n",
            live: [("queues", "true")],
            terminal: "sluice changes"
        )
    }

    private var none: HTML {
        """
        <section class="empty" aria-labelledby="none"><h2 id="none">\(isFirst ? "No changes yet" : "No more changes")</h2>
        <p class="soft">Retry, cancel, prioritise or accept many jobs: choose them under <a href="/jobs">Jobs</a>, or a cause \
        under <a href="/failures">Failures</a>.</p></section>
        """
    }

    private var table: HTML {
        let older = PageLink(["changes"], query: [("before", "\(changes.last?.number ?? 0)")])
        let pages = PagesBar(first: isFirst ? nil : PageLink(["changes"]), next: hasMore ? older : nil)
        return """
            <table class="rows"><thead><tr><th scope="col">Change</th><th scope="col">State</th>\
            <th scope="col" class="n">Jobs</th><th scope="col" class="n">Changed</th><th scope="col" class="n">Undone</th>\
            <th scope="col">By</th><th scope="col" class="n">When</th></tr></thead>
            <tbody>\(.all(changes.map(row)))
            </tbody></table>\(pages.html)
            """
    }

    private func row(_ change: BulkChange) -> HTML {
        """

        <tr><td class="src w"><a href="\(PageLink.change(change.number))">\(change.number) \(change.change.words)</a></td>\
        <td class="t">\(Mark.of(change.phase))</td><td class="n" data-k="jobs">\(Figures.grouped(change.expected))</td>\
        <td class="n" data-k="changed">\(Figures.grouped(change.tally.changed))</td>\
        <td class="n" data-k="undone">\(Figures.grouped(change.undone))</td>\
        <td class="t"><bdi>\(change.token.cutInside(to: 60))</bdi></td>\
        <td class="n e">\(PageTime.ago(change.createdAt, at: now))</td></tr>
        """
    }
}

/// A change of many jobs: how far it is, and how to end it or take it back.
struct ChangeView {
    let change: BulkChange
    var maySteer = false
    let now: Date

    var content: PageContent {
        let tally = change.tally
        let error: HTML =
            change.error.map {
                "<p role=\"alert\"><span class=\"s failed\">\($0.cutInside(to: 600).sentence)</span></p>"
            } ?? ""
        return PageContent(
            title: "Change \(change.number)",
            section: .changes,
            main: """
                <div class="head"><div><p class="soft"><a class="quiet" href="/changes">Changes</a> / \(change.number)</p>\
                <h1>\(change.change.words)</h1><p>\(Mark.of(change.phase)) \(progress)</p>\(error)</div>\(buttons)</div>
                <dl class="figs"><div><dt>jobs, when it began</dt><dd>\(Figures.grouped(change.expected))</dd></div>\
                <div><dt>looked at</dt><dd>\(Figures.grouped(tally.seen))</dd></div>\
                <div><dt>changed</dt><dd>\(Figures.grouped(tally.changed))</dd></div>\(asked)\(publishing)\(undone)</dl>
                <p class="soft">Asked for by <bdi>\(change.token.cutInside(to: 80))</bdi>, for the jobs of \
                <bdi>\(change.submitter.cutInside(to: 80))</bdi>, \(PageTime.clock(change.createdAt, at: now))\(end). A coordinator \
                carries it out, also when this page is closed.</p>

                """,
            live: [("queues", "true")],
            moves: change.isUnderWay,
            terminal: "sluice changes show \(change.number)"
        )
    }

    private var progress: HTML {
        guard change.isUnderWay else { return "" }
        let link: HTML = "<a class=\"b plain\" href=\"\(PageLink.change(change.number))\">Look again</a>"
        guard change.expected > 0 else { return link }
        // What is undone is counted from the same jobs.
        let done = change.phase == .undoing ? change.undone : change.tally.seen
        let all = change.phase == .undoing ? max(1, change.tally.changed) : change.expected
        return "\(Picture.progress(Double(done) / Double(all))) \(link)"
    }

    private var end: HTML { change.endedAt.map { " to \(PageTime.clock($0, at: now))" } ?? "" }

    private func figure(_ words: String, _ count: Int) -> HTML {
        count > 0 ? "<div><dt>\(words)</dt><dd>\(Figures.grouped(count))</dd></div>" : ""
    }

    private var asked: HTML { figure("running, being stopped", change.tally.asked) }
    private var publishing: HTML { figure("publishing, left alone", change.tally.publishing) }
    private var undone: HTML { figure("changed back", change.undone) }

    private var buttons: HTML {
        guard maySteer else { return "" }
        var buttons: [HTML] = []
        if change.isUnderWay { buttons.append("<button class=\"b stop\" name=\"wish\" value=\"stop\">Stop</button>") }
        if change.phase != .undoing, change.phase != .undone, change.tally.changed > 0 {
            buttons.append("<button class=\"b\" name=\"wish\" value=\"undo\">Undo, where jobs still wait</button>")
        }
        guard !buttons.isEmpty else { return "" }
        return """
            <form class="do" method="post" action="\(PageLink.change(change.number))">\(.joined(buttons, by: " "))</form>
            """
    }
}

extension JobChange {
    /// `Retry, damage concealed`
    var words: String {
        switch self {
        case .retry: "Retry"
        case .retryWithDamage(let mode, let limit):
            "Retry, \(mode.words)" + (limit.map { ", at most \($0) s of silence" } ?? "")
        case .cancel: "Cancel"
        case .prioritize(let priority): "Move to priority \(priority)"
        case .accept(undo: false): "Accept failures"
        case .accept(undo: true): "Count as failed again"
        }
    }
}
