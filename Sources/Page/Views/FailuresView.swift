import API
import Conversion
import FoundationEssentials
import Ledger

/// Failures by their causes, the most frequent first.
struct FailuresView {
    let now: Date
    /// Since when, in the words of the URL.
    var since = "1d"
    var queue: String?
    var batch: String?
    /// Whether the jobs themselves are counted: of a batch, and for a tenant. Otherwise the ledger keeps the numbers.
    var isOfJobs = false
    var groups: [FailureGroup] = []
    var mayChange = false
    /// The attempts that failed in each hour from a time on; none where only jobs are counted.
    var hours: [FailureHour] = []
    var from = Date.distantPast
    /// Causes on one page.
    private static let mostGroups = 40

    init(now: Date) { self.now = now }

    /// `in the last day`, `in the last 7 days`, `since 2026-11-20`
    private var time: String {
        // No span of time has a hyphen, and every date has one.
        guard !since.contains("-") else { return "since \(since)" }
        let words = PageMoment.offered.first { $0.0 == since }?.1 ?? since
        return "in the last \(words.hasPrefix("1 ") ? String(words.dropFirst(2)) : words)"
    }

    var content: PageContent {
        let jobs = groups.reduce(0) { $0 + $1.jobs }
        let title =
            jobs == 0
            ? "No job failed for good \(time)" : "\(Figures.count(jobs, "job")) failed for good \(time)"
        let causes = groups.count { $0.jobs > 0 }
        let accepted = groups.reduce(0) { $0 + $1.accepted }
        let more = accepted > 0 ? " \(Figures.grouped(accepted)) more \(Plural.be(accepted)) accepted." : ""
        let hidden = groups.count - Self.mostGroups
        let rest: HTML = hidden > 0 ? "<p class=\"soft\">\(Figures.count(hidden, "rarer cause")) not shown.</p>" : ""
        return PageContent(
            title: "Failures",
            section: .failures,
            main: """
                <div class="head"><div><h1>\(title)</h1><p class="soft">\(Figures.count(causes, "cause")). \
                Counted by the hour.\(more)</p></div></div>
                \(filter)
                <ol class="groups">\(.all(groups.prefix(Self.mostGroups).map(group)))</ol>\(rest)

                """,
            live: isOfJobs && jobs + accepted > BatchView.mostCounted ? [] : [("queues", "true")],
            terminal: command
        )
    }

    private var filter: HTML {
        let times: HTML = .all(
            PageMoment.offered.map { value, words in
                let mark: HTML = value == since ? " checked" : ""
                return """
                    <label class="chip"><input type="radio" name="since" value="\(value)"\(mark)>\(words)</label>
                    """
            }
        )
        return """
            <search><form class="filter" action="/failures"><div><fieldset class="chips"><legend>In the last</legend>\
            \(times)</fieldset><label class="f">Queue <input name="queue" value="\(value: queue ?? "")" size="12"></label>\
            <label class="f">Batch <input name="batch" value="\(value: batch ?? "")" size="8" inputmode="numeric"></label>\
            <button class="b">Show</button></div></form></search>
            """
    }

    private var command: String {
        var words = "sluice errors --since \(since.shellWord)"
        if let queue { words += " --queue \(queue.shellWord)" }
        if let batch { words += " --batch \(batch.shellWord)" }
        return words
    }

    private func group(_ group: FailureGroup) -> HTML {
        let known = FailureCode(rawValue: group.code)
        let meaning: HTML = known.map { "<p>\($0.entry.meaning.unmarked.sentence)</p>" } ?? ""
        let example = group.exampleSource ?? "job \(group.example)"
        let hint: HTML = group.hint.map { "<p class=\"soft\">\($0.unmarked.cutInside(to: 600).sentence)</p>" } ?? ""
        let tries = group.attempts.map { ", \(Figures.count($0, "attempt")) in all" } ?? ""
        let accepted: HTML =
            group.accepted > 0 ? " <small>\(Figures.grouped(group.accepted)) accepted</small>" : ""
        return """

            <li id="\(group.fragment)"><p class="big">\(Figures.grouped(group.jobs))\
            <small>\(Plural.form("job", for: group.jobs))</small>\(accepted)</p>\
            <div><h2><code>\(group.code)</code> \(group.kind.rawValue), in \(group.stage)</h2>\(meaning)\
            <p class="loc"><span class="soft">such as</span> \
            <a class="quiet" href="\(PageLink.job(group.example))">\(LocationText.parts(example))</a></p>\(hint)</div>\
            <div>\(trend(group))<small>last \(PageTime.ago(group.lastAt, at: now))\(tries)</small></div><div class="do">\(ways(group))</div></li>
            """
    }

    /// When its attempts failed, in 24 parts of the time that is shown.
    private func trend(_ group: FailureGroup) -> HTML {
        let span = now.timeIntervalSince(from)
        // The counts are by the hour: of few hours they would show nothing.
        guard span >= 6 * 3_600, span < 1e9 else { return "" }
        var parts = [Double](repeating: 0, count: 24)
        for hour in hours where hour.code == group.code && hour.kind == group.kind && hour.stage == group.stage {
            let place = Int((hour.hour.timeIntervalSince(from) / span * 24).rounded(.down))
            // The hour in which the time begins has begun before it.
            parts[max(0, min(23, place))] += Double(hour.attempts)
        }
        return Picture.bars(parts)
    }

    /// What mends it: first what most probably helps.
    private func ways(_ group: FailureGroup) -> HTML {
        guard group.jobs > 0 else { return "<span class=\"s completed\">retried, or accepted</span>" }
        let filter: [(name: String, value: String)] = [
            ("state", "failed"), ("batch", batch ?? ""), ("queue", queue ?? ""), ("code", group.code),
            ("class", group.kind.rawValue), ("stage", group.stage), ("ended-since", since),
        ]
        let words = group.jobs == 1 ? "Show the job" : "Show the jobs"
        let jobs = PageLink(["jobs"], query: filter)
        guard mayChange else { return "<a class=\"b\" href=\"\(jobs)\">\(words)</a>" }
        func way(_ words: String, _ change: WantedChange, _ kind: HTML = "plain", _ letter: HTML = "") -> HTML {
            "<a class=\"b \(kind)\" href=\"\(PageLink.preview(change, of: filter))\"\(letter)>\(words)</a>"
        }
        let (retry, accept) = (JobsView.letter("r"), JobsView.letter("a"))
        var ways: [HTML] = []
        let count = Figures.grouped(group.jobs)
        if let mode = FailureCode(rawValue: group.code)?.damageModeThatHelps {
            ways = [way("Retry \(count), \(mode.word)…", .retry(mode), "", retry), way("Unchanged…", .retry(nil))]
        } else {
            ways = [way("Retry \(count)…", .retry(nil), "", retry)]
        }
        ways.append(way("Accept…", .accept(undo: false), "plain", accept))
        ways.append("<a class=\"b plain\" href=\"\(jobs)\">\(words)</a>")
        return .joined(ways, by: " ")
    }
}

extension FailureGroup {
    /// Its place on the page of failures. Groups of one code may differ in class or stage.
    var fragment: String { "\(code)-\(kind.rawValue)-\(stage)" }
}
