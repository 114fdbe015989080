import API
import Conversion
import Ledger

/// What a change of the jobs of a filter would do, and the form that has it done.
struct PreviewView {
    let wanted: WantedChange
    let list: JobListQuery
    /// The jobs that it would change.
    var count = 0
    /// Jobs that are publishing, for which a cancellation comes too late.
    var publishing = 0
    /// How fast jobs are done at present; `nil` if that is not known.
    var filesPerSecond: Double?

    var content: PageContent {
        PageContent(
            title: "Preview",
            section: .changes,
            main: """
                <div class="head"><div><p class="soft"><a class="quiet" href="\(list.link())">Jobs</a> / \
                \(list.words.cutInside(to: 400))</p><h1>\(heading)</h1></div></div>
                \(count > 0 ? form : none)

                """,
            terminal: command
        )
    }

    private var heading: String {
        guard count > 0 else { return "Nothing to change" }
        switch wanted {
        case .retry: return "\(Figures.count(count, "job")) would wait again"
        case .cancel: return "\(Figures.count(count, "job")) would be cancelled"
        case .prioritize: return "\(Figures.count(count, "job")) would move to another priority"
        case .accept(undo: false): return "\(Figures.count(count, "failure")) would be accepted"
        case .accept(undo: true): return "\(Figures.count(count, "job")) would count as failed again"
        }
    }

    // MARK: - The form

    private var form: HTML {
        let fields: HTML = .all(
            list.settled.map { name, value in
                "<input type=\"hidden\" name=\"\(name)\" value=\"\(value: value)\">"
            }
        )
        let stop: HTML = wanted == .cancel ? "stop" : "go"
        return """
            <form class="panel on" method="post" action="/changes" aria-label="The change">\(fields)\
            <input type="hidden" name="change" value="\(verb)"><div class="two">\(choices)\(time)</div>\
            <p class="soft">\(meaning)</p><p class="do"><button class="b \(stop)">\(wanted.button(count))</button> \
            <a class="b plain" href="\(list.link())">Leave it</a></p></form>
            """
    }

    /// A choice of the form takes the place of what the address says of damage.
    private var verb: String {
        guard case .retry = wanted else { return wanted.text }
        return WantedChange.retry(nil).text
    }

    private var choices: HTML {
        switch wanted {
        case .retry(let chosen):
            let modes: [DamageMode] = [.conceal, .skip, .trustPackets, .strict]
            let options: HTML = .all(
                modes.map { mode in
                    let mark: HTML = mode == chosen ? " selected" : ""
                    return "<option value=\"\(mode.rawValue)\"\(mark)>\(mode.words)</option>"
                }
            )
            return """
                <label class="f">Damage <select name="damage"><option value="">as each job says</option>\(options)</select>\
                </label><label class="f">Most silence in one output, in seconds <input name="conceal-limit" type="number" \
                min="1" max="\(Recipe.Limits.concealChoices.upperBound)" placeholder="600, or 4 times the sound"></label>
                """
        case .prioritize:
            let bounds = LedgerRules.priorities
            return """
                <label class="f">Priority <input name="priority" type="number" min="\(bounds.lowerBound)" \
                max="\(bounds.upperBound)" required aria-describedby="priority"></label>
                """
        case .cancel, .accept: return ""
        }
    }

    private var time: HTML {
        guard case .retry = wanted, let filesPerSecond, filesPerSecond > 0 else { return "" }
        let span = TimeWords.span(seconds: Double(count) / filesPerSecond)
        return "<div class=\"f\"><span>Will take about</span><span><b>\(span)</b> at the present pace</span></div>"
    }

    private var meaning: HTML {
        switch wanted {
        case .retry:
            "They get a fresh set of attempts; what happened so far stays on record. It can be undone while they wait."
        case .cancel:
            "\(late)Waiting jobs end at once, and workers stop running ones. Those that waited can be brought back."
        case .prioritize:
            "<span id=\"priority\">Higher goes first; 0 is usual.</span> It can be undone while they wait."
        case .accept(undo: false):
            "They no longer count as failed, and no wait fails for them. It can be undone."
        case .accept(undo: true): "Those who wait for them learn that they have failed."
        }
    }

    private var late: HTML {
        publishing > 0 ? "\(Figures.subject(publishing, "job")) already publishing: too late to cancel. " : ""
    }

    private var none: HTML {
        """
        <section class="empty" aria-labelledby="none"><h2 id="none">No job that matches can be changed this way</h2>\
        <p class="soft">\(late)\(eligible) Submitters change only their own jobs.</p><p class="do"><a class="b go" href="\(list.link())">Back to the jobs</a></p>\
        </section>
        """
    }

    private var eligible: String {
        switch wanted {
        case .retry:
            "Failed, accepted, cancelled and delayed jobs can be retried. Without a state, failed ones are meant."
        case .cancel: "Waiting, delayed and running jobs can be cancelled."
        case .prioritize: "The priority of waiting and delayed jobs can be changed."
        case .accept(let undo):
            undo ? "Only accepted failures can count again." : "Only the failures of failed jobs can be accepted."
        }
    }

    // MARK: - The same in a terminal

    private var command: String {
        let ids = (list.filter.ids ?? []).prefix(20).map { " \($0)" }.joined()
        let words: String =
            switch wanted {
            case .retry(let mode): "retry" + (mode.map { " --on-damage \($0.rawValue)" } ?? "")
            case .cancel: "cancel"
            case .prioritize: "prioritize N"
            case .accept(let undo): undo ? "accept --undo" : "accept"
            }
        return "sluice \(words)\(ids)\(list.given.isEmpty ? " --all" : list.options)"
    }
}
