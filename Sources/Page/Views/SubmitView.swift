import API
import Conversion
import FoundationEssentials
import HTTPServer
import Ledger

/// A form for jobs, and what it would submit.
struct SubmitView {
    let draft: SubmissionDraft
    let presets: [NamedPreset]
    /// The queues that have had jobs; another name makes another queue.
    var queues: [QueueSummary] = []
    /// The roots of the workers, as far as the caller may know them.
    var roots: [String] = []
    /// The roots in which a script can look for sources, with their colons.
    var listedRoots: [String] = []
    /// The template of the caller's tenant.
    var template: String?
    /// What the locations of files begin with that the browser sends; `nil`: it cannot send any.
    var base: String?
    /// What is wrong with it.
    var problem: Problem?
    /// What it would submit.
    var plan: Plan?
    private static let mostRows = 50

    struct Plan {
        let jobs: Int
        /// `nil`: the tenant's template decides.
        let destinations: [String]?
        let key: String
    }

    init(draft: SubmissionDraft, presets: [NamedPreset]) { (self.draft, self.presets) = (draft, presets) }

    var content: PageContent {
        PageContent(
            title: "Submit",
            section: .submit,
            main: """
                <div class="head"><div><h1>Submit files</h1><p class="soft">Sources stay where they are; each becomes one job. \
                Nothing is submitted before the last button.</p></div></div>
                \(wrong)\(dryRun)
                <form class="form" method="post" action="/submit">\(key)\(sources)\(choices)\(places)\
                <p class="do"><button class="b\(plan == nil ? " go" : "")">Show what would happen</button></p></form>

                """,
            script: base == nil && listedRoots.isEmpty ? nil : "submit",
            terminal: draft.command,
            status: problem?.status ?? .ok
        )
    }

    /// What may have been submitted all the same keeps its key, by which the ledger recognises it.
    private var key: HTML {
        guard problem?.mayPass == true, let key = draft.key else { return "" }
        return "<input type=\"hidden\" name=\"key\" value=\"\(value: key)\">"
    }

    // MARK: - What is wrong, and what would happen

    private var wrong: HTML {
        guard let problem else { return "" }
        let again: HTML =
            problem.mayPass && draft.isFinal && draft.key != nil
            ? "<p>Submit it again from here: if it was taken all the same, it is not taken twice.</p>" : ""
        return problem.panel(again)
    }

    private var dryRun: HTML {
        guard let plan else { return "" }
        let rows: HTML = .all(
            draft.sources.prefix(Self.mostRows).enumerated().map { place, source in
                let target: HTML =
                    plan.destinations.map { "<bdi>\($0[place].cutInside(to: 400))</bdi>" }
                    ?? "<span class=\"soft\">as \(template ?? "the tenant's template") says</span>"
                return """
                    <tr><td class="w loc"><bdi>\(source.cutInside(to: 400))</bdi></td>\
                    <td class="w loc"><span class="soft">becomes</span> \(target)</td></tr>
                    """
            }
        )
        let hidden = draft.sources.count - Self.mostRows
        let rest: HTML = hidden > 0 ? "<p class=\"soft\">and \(Figures.grouped(hidden)) more</p>" : ""
        let jobs = Figures.count(plan.jobs, "job")
        return """
            <form class="panel on" method="post" action="/submit" aria-labelledby="dry"><div class="bar"><h2 id="dry">\
            \(Figures.count(draft.sources.count, "file")) would become \(jobs) in queue \
            <bdi>\((draft.queue ?? "default").cutInside(to: 60))</bdi></h2></div>\(draft.fields(key: plan.key))\
            <table class="rows"><thead class="vh"><tr><th scope="col">Source</th><th scope="col">Destination</th></tr></thead>\
            <tbody>\(rows)</tbody></table>\(rest)<p class="do"><button class="b go" name="step" value="submit">Submit \(jobs)\
            </button></p></form>

            """
    }

    // MARK: - The form

    private var sources: HTML {
        let lines: HTML = .joined(draft.sources.map { "\(value: $0)" }, by: "\n")
        let names: [HTML] = roots.prefix(12).map { "<code>\($0.cutInside(to: 64)):</code>" }
        let rest = roots.count > names.count ? " and \(roots.count - names.count) more" : ""
        let known: HTML = names.isEmpty ? "" : "<p class=\"soft\">Workers have \(.joined(names, by: ", "))\(rest)</p>"
        return """
            <fieldset class="form"><legend><h2>1. Which files</h2></legend>\(drop)\(finder)<label class="f">Files of the cluster, as ROOT:PATH, one in each line \
            <textarea name="sources" rows="6" required spellcheck="false" placeholder="podcasts:2026/ep-228-the-quay.flac">
            \(lines)</textarea></label>\(known)</fieldset>
            """
    }

    /// Where files can be dropped, which needs the script.
    private var drop: HTML {
        guard let base else { return "" }
        return """
            <div id="uploads" data-base="\(value: base)" hidden><label class="drop"><b>Drop files here, or choose them\
            </b><span class="soft">They are sent to <bdi>\(base.cutInside(to: 200))</bdi></span>\
            <input class="vh" type="file" multiple></label><ul class="list" hidden></ul></div>
            """
    }

    /// Where files of the cluster are found, which needs the script.
    private var finder: HTML {
        guard let first = listedRoots.first else { return "" }
        return """
            <div id="find" class="form" hidden><label class="f">Find files of the cluster <input list="places" autocomplete="off" \
            spellcheck="false" placeholder="\(value: first)" aria-describedby="finding"></label>\
            <datalist id="places"></datalist><p class="soft" id="finding">Choose or type a location, then press Add to the list. \
            A folder adds its files.</p>\
            <p class="do"><button class="b" type="button">Add to the list</button></p></div>
            """
    }

    private var choices: HTML {
        // A preset of the ledger takes the place of a built-in one.
        var (names, known): ([String], [String: NamedPreset]) = ([], [:])
        for preset in presets where known.updateValue(preset, forKey: preset.name) == nil { names.append(preset.name) }
        let cards: HTML = .all(
            names.prefix(100).map { name in
                let mark: HTML = name == draft.preset ? " checked" : ""
                return """
                    <label class="card"><input type="radio" name="preset" value="\(value: name)"\(mark)>\
                    <b>\(name.cutInside(to: 64))</b><span>\((known[name]?.summary ?? "").cutInside(to: 160))</span></label>
                    """
            }
        )
        let none: HTML = draft.preset == nil ? " checked" : ""
        return """
            <fieldset><legend><h2>2. What they become</h2></legend><div class="cards"><label class="card"><input type="radio" \
            name="preset" value=""\(none)><b>by the extension</b><span>the extension of the destination decides</span></label>\
            \(cards)</div></fieldset>
            """
    }

    private var places: HTML {
        let policies: HTML = .all(
            Recipe.ConflictPolicy.allCases.map { policy in
                let mark: HTML = policy.rawValue == draft.conflict ? " selected" : ""
                let words: HTML =
                    switch policy {
                    case .fail: "fail: the job fails"
                    case .replace: "replace it"
                    case .skip: "skip: leave it alone"
                    }
                return "<option value=\"\(policy.rawValue)\"\(mark)>\(words)</option>"
            }
        )
        let hints: HTML = .all(queues.prefix(100).map { "<option value=\"\(value: $0.name)\"></option>" })
        let targets: HTML = .all(
            roots.prefix(100).map { "<option value=\"\(value: "\($0):{dir}/{stem}.{ext}")\"></option>" }
        )
        let need: HTML = template == nil ? " required" : ""
        let note: HTML =
            template.map { "Left empty, it is as your tenant's template says: <code>\($0.cutInside(to: 200))</code>." }
            ?? "<code>{dir}</code> and <code>{stem}</code> are those of the source, <code>{ext}</code> is that of the preset."
        return """
            <fieldset class="form"><legend><h2>3. Where they go</h2></legend><label class="f">Destination \
            <input name="destination" value="\(value: draft.destination ?? "")" placeholder="out:{dir}/{stem}.{ext}"\(need) \
            spellcheck="false" list="targets" aria-describedby="fields"></label><datalist id="targets">\(targets)</datalist><p class="soft" id="fields">\(note)</p><div class="two">\
            <label class="f">If it exists already <select name="conflict">\(policies)</select></label>\
            <label class="f">Queue <input name="queue" value="\(value: draft.queue ?? "")" placeholder="default" list="queues">\
            </label><datalist id="queues">\(hints)</datalist>\
            <label class="f">Name of the batch <input name="name" value="\(value: draft.name ?? "")" maxlength="200"></label>\
            </div></fieldset>
            """
    }
}
