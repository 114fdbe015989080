import API
import Conversion
import FoundationEssentials
import HTTPServer
import Ledger

/// A job: what happened to it, what its output lacks, its files and its recipe.
struct JobView {
    let story: JobStory
    var mayChange = false
    let now: Date
    /// A change that was asked for and had no effect, so that the page says why.
    var withoutEffect: WantedChange?
    /// The roots whose outputs a browser may get.
    var downloads: Set<String> = []
    /// Excerpts of its sound, if the coordinator offers them.
    var excerpts: JobExcerpts?
    /// Whether the visitor may have excerpts made.
    var mayPrepare = false
    /// Scalars of a recipe that are shown, and attempts.
    private static let mostRecipe = 6_000
    private static let mostAttempts = 20
    private static let mostChapters = 50

    private var job: JobSummary { story.summary }
    private var report: ConversionReport? { story.attempts.last { $0.outcome == .completed }?.facts.reportOnAll }

    var content: PageContent {
        let batch = story.batchName.map { "\(job.batch) \($0)" } ?? "\(job.batch)"
        // A recipe may be long: it is read once.
        let outputs = self.outputs
        let sound = SoundView(
            job: job,
            outputs: outputs,
            excerpts: excerpts,
            loudness: report?.loudness,
            downloads: downloads,
            mayPrepare: mayPrepare
        )
        let jobs = [job.job] + (excerpts?.jobs ?? [])
        return PageContent(
            title: "Job \(job.job)",
            section: .jobs,
            main: """
                <div class="head"><div><p class="soft"><a class="quiet" href="/jobs">Jobs</a> / \
                <a class="quiet" href="\(PageLink.batch(job.batch))"><bdi>\(batch.cutInside(to: 120))</bdi></a> / \(job.job)</p>\
                <h1><bdi>\(LocationText.name(job.source))</bdi></h1><p>\(line)</p></div>\(ways(outputs))</div>
                \(nothingChanged)\(sound.section)\(damage(sound))\(chapters(outputs?.recipe, sound))\
                <div class="cols half"><section aria-labelledby="attempts"><h2 id="attempts">What happened</h2>\
                <ol class="steps">\(steps)</ol></section>
                <section aria-labelledby="lack">\(lack)\(files(outputs))</section></div>
                \(recipe(outputs?.recipe))
                """,
            // What was told must stay until it has been read.
            live: withoutEffect == nil ? [("job", jobs.map { "\($0)" }.joined(separator: ","))] : [],
            moves: job.state == .running,
            script: outputs?.peaks == nil && excerpts == nil ? nil : "sound",
            terminal: "sluice job \(job.job)",
            status: withoutEffect == nil ? .ok : .conflict
        )
    }

    private var nothingChanged: HTML {
        guard let change = withoutEffect else { return "" }
        let isOffered = changes.contains { offered in
            if case .retry = offered.change, case .retry = change { return true }
            return offered.change == change
        }
        let why: HTML =
            if !mayChange {
                "Submitters change only their own jobs. This one belongs to <bdi>\(story.submitter)</bdi>."
            } else if job.isToBeCancelled, change == .cancel {
                "Its worker was asked already to stop it."
            } else if !isOffered {
                "The job is \(job.state.rawValue) by now."
            } else {
                "Your token may be for another queue, or the job was just entering another state."
            }
        return """
            <div class="panel err" role="alert"><h2><span class="s failed">Nothing was changed</span></h2><p>\(why)</p>\
            <p class="do"><a class="b" href="\(PageLink.job(job.job))">Look again</a></p></div>

            """
    }

    // MARK: - Its state

    private var line: HTML {
        let since = PageTime.ago(job.since, at: now)
        let remarks: HTML = job.hasRemarks ? ", <span class=\"s note\">with warnings</span>" : ""
        let attempt: HTML = job.attempts > 1 ? " at attempt \(job.attempts) of \(job.maxAttempts)" : ""
        let accepted: HTML = job.acceptedBy.map { ", by <bdi>\($0)</bdi>" } ?? ""
        let progress: HTML = job.state == .running ? " \(JobsView.what(job, at: now))" : ""
        return "\(Mark.state(job)) \(since)\(attempt)\(accepted)\(remarks)\(progress)\(waiting)"
    }

    // MARK: - What can be done

    private func ways(_ outputs: PublishedOutputs?) -> HTML {
        let first = outputs?.download(0) ?? ""
        return first.isEmpty ? buttons : "<div class=\"do\">\(first)\(buttons)</div>"
    }

    /// `nil` if this build cannot read the recipe.
    private var outputs: PublishedOutputs? {
        // `try?`: a recipe of a newer version says where its outputs are in words that this build does not know.
        (try? Recipe(json: story.recipe)).map { PublishedOutputs(job: job, recipe: $0, downloads: downloads) }
    }

    private var buttons: HTML {
        let changes = mayChange ? self.changes : []
        guard !changes.isEmpty else { return "" }
        let buttons: [HTML] = changes.map { words, change in
            let kind: HTML = change == .cancel ? " stop" : ""
            return "<button class=\"b\(kind)\" name=\"change\" value=\"\(change.text)\">\(words)</button>"
        }
        return """
            <form class="do" method="post" action="\(PageLink.job(job.job))">\(.joined(buttons, by: " "))</form>
            """
    }

    /// The changes that have an effect on a job in its state.
    private var changes: [(words: String, change: WantedChange)] {
        switch job.state {
        case .waiting: return [("Cancel", .cancel)]
        case .running: return job.isToBeCancelled ? [] : [("Cancel", .cancel)]
        case .delayed: return [("Retry now", .retry(nil)), ("Cancel", .cancel)]
        case .failed, .accepted, .cancelled:
            var changes: [(words: String, change: WantedChange)] = []
            if let mode = job.code.flatMap(FailureCode.init(rawValue:))?.damageModeThatHelps {
                changes.append(("Retry, \(mode.words)", .retry(mode)))
            }
            changes.append((changes.isEmpty ? "Retry" : "Retry unchanged", .retry(nil)))
            if job.state == .failed { changes.append(("Accept", .accept(undo: false))) }
            if job.state == .accepted { changes.append(("Count as failed again", .accept(undo: true))) }
            return changes
        case .publishing, .completed, .skipped: return []
        }
    }

    private var waiting: HTML {
        guard let why = story.waitingFor else { return "" }
        let time: HTML = job.readyAt.map { PageTime.ahead($0, at: now) } ?? "later"
        let words: HTML =
            switch why {
            case .paused: "its queue is paused"
            case .unable:
                "no running worker has \((story.missing.isEmpty ? story.needs : story.missing).joined(separator: ", "))"
            case .limit: "its queue has reached its limit of running jobs"
            case .cpuMinutes: "its tenant has used up its CPU time of 24 hours; it continues \(time)"
            case .outputBytes: "its tenant has used up its bytes of outputs of 24 hours; it continues \(time)"
            case .runAt: "it starts \(time), as its submitter asked"
            case .backOff: "its next attempt starts \(time)"
            case .album: "other jobs of its album have not been measured yet"
            case .line: "other jobs are ahead of it"
            }
        return ". <span class=\"soft\">It waits: \(words).</span>"
    }

    // MARK: - Damage

    private func damage(_ sound: SoundView) -> HTML {
        let scan = story.attempts.last?.facts.scan
        guard let found = report?.damage ?? scan?.damage, !found.isEmpty else { return "" }
        let frames = report?.source.frames ?? scan?.frames ?? 0
        let rate = report?.source.sampleRateHz ?? scan?.sound?.sampleRateHz ?? 0
        let canSeek = rate > 0 && sound.keepsTimes
        let rows: [HTML] = found.stretches.prefix(20).map { stretch in
            let time = rate > 0 ? MediaTime(value: stretch.start, timescale: Int32(clamping: rate)).short : "-"
            let length = stretch.frames > 0 ? Figures.count(stretch.frames, "frame") : "no frames are missing"
            let seconds = Figures.decimals(Double(stretch.start) / Double(max(1, rate)), 3)
            let seek: HTML = canSeek ? " data-seek=\"\(seconds)\"" : ""
            return """
                <tr><td class="n t"\(seek)>\(time)</td><td class="t"><span class="s failed">damage</span></td>\
                <td class="full"><code>\(stretch.code)</code>, frame \(Figures.grouped(stretch.start)), \(length)</td></tr>
                """
        }
        let count = Figures.count(found.stretchCount, "place")
        let more = found.stretchCount > rows.count ? "The first \(rows.count) of \(count)." : ""
        return """
            <section aria-labelledby="places"><div class="bar"><h2 id="places">Damage</h2> <span class="soft near">\
            \(Figures.count(found.frames, "frame")) lost at \(count). \(more)</span></div>\
            \(Picture.damage(found, frames: frames))<table><thead class="vh"><tr><th scope="col">Time</th>\
            <th scope="col">What</th><th scope="col">Details</th></tr></thead><tbody>\(.all(rows))</tbody></table></section>

            """
    }

    // MARK: - Chapters

    /// Those that the recipe gives to the output: the ledger knows no others.
    private func chapters(_ recipe: Recipe?, _ sound: SoundView) -> HTML {
        guard let chapters = recipe?.chapters, !chapters.isEmpty else { return "" }
        let rows: [HTML] = chapters.prefix(Self.mostChapters).map { chapter in
            let seconds = Figures.decimals(chapter.at.seconds, 3)
            let seek: HTML = sound.keepsOutputTimes ? " data-seek=\"\(seconds)\" data-kind=\"chapter\"" : ""
            return """
                <tr><td class="n t"\(seek)>\(chapter.at.short)</td><td class="t">chapter</td>\
                <td class="full"><bdi>\((chapter.title ?? "").cutInside(to: 200))</bdi></td></tr>
                """
        }
        let more = chapters.count > rows.count ? "The first \(rows.count) of \(Figures.grouped(chapters.count))." : ""
        return """
            <section aria-labelledby="chapters"><div class="bar"><h2 id="chapters">Chapters</h2> \
            <span class="soft near">\(more)</span></div><table><thead class="vh"><tr><th scope="col">Time</th>\
            <th scope="col">What</th><th scope="col">Title</th></tr></thead><tbody>\(.all(rows))</tbody></table></section>

            """
    }

    // MARK: - Attempts

    private var steps: HTML {
        var steps: [HTML] = [
            """
            <li><div class="bar"><span>submitted by <bdi>\(story.submitter)</bdi></span> \
            <span class="soft">\(PageTime.clock(story.submittedAt, at: now))</span></div></li>
            """
        ]
        // A job may be amended before its first attempt.
        steps += story.amendments.filter { $0.untilEpoch == 0 }.map(amended)
        let hidden = story.attempts.count - Self.mostAttempts
        if hidden > 0 {
            steps.append("<li class=\"soft\">\(Figures.count(hidden, "earlier attempt")) not shown</li>")
        }
        for attempt in story.attempts.suffix(Self.mostAttempts) {
            let before = story.amendments.filter { $0.untilEpoch == attempt.epoch }
            steps.append(step(attempt))
            steps += before.map(amended)
        }
        return .all(steps)
    }

    private func amended(_ amendment: RecipeAmendment) -> HTML {
        """
        <li><div class="bar"><span>retried by <bdi>\(amendment.changedBy)</bdi>; until then damage was treated as \
        <b>\(amendment.damage.rawValue)</b></span> <span class="soft">\(PageTime.clock(amendment.changedAt, at: now))</span>\
        </div></li>
        """
    }

    private func step(_ attempt: AttemptRecord) -> HTML {
        let kind: HTML =
            switch attempt.outcome {
            case .completed: " class=\"completed\""
            case .failed: " class=\"failed\""
            case .lost, .released, .cancelled, nil: ""
            }
        let end: HTML = attempt.endedAt.map { " to \(PageTime.clock($0, at: now))" } ?? ""
        var lines: [HTML] = []
        if let failure = attempt.failure {
            lines.append("<p>\(failure.message.cutInside(to: 1_000).sentence)</p>")
            lines.append("<p class=\"soft\">\(place(of: failure))</p>")
        }
        let measured = facts(of: attempt)
        if !measured.isEmpty { lines.append("<p class=\"soft\">\(measured.joined(separator: ", ")).</p>") }
        lines += attempt.facts.specLines.prefix(10).map { line -> HTML in "<p>\(line.cutInside(to: 400))</p>" }
        lines.append("<p class=\"soft\">\(worker(of: attempt))</p>")
        if let words = attempt.lastWords, !words.isEmpty {
            lines.append("<p class=\"soft\">Last words: \(words.cutInside(to: 400))</p>")
        }
        if let hint = attempt.failure.flatMap({ $0.hint ?? $0.known?.advice }) {
            lines.append("<p class=\"soft\">Hint: \(hint.cutInside(to: 600).sentence)</p>")
        }
        return """
            <li\(kind)><div class="bar"><span>attempt \(Int(attempt.epoch)) \(outcome(of: attempt))</span> \
            <span class="soft">\(PageTime.clock(attempt.startedAt, at: now))\(end)</span></div>\(.all(lines))</li>
            """
    }

    private func outcome(of attempt: AttemptRecord) -> HTML {
        switch attempt.outcome {
        case nil: return "is under way"
        case .completed where job.state == .skipped: return "<b>skipped</b>: its destination exists already"
        case .completed: return "<b>completed</b>"
        case .cancelled: return "<b>cancelled</b>"
        case .lost: return "<b>lost</b> with its worker: not counted"
        case .released: return "<b>released</b>: not counted"
        case .failed:
            let end: HTML =
                switch attempt.failure?.kind {
                case .permanent: ", permanent: not retried"
                case .transient: ", transient: retried, up to \(Figures.count(job.maxAttempts, "attempt"))"
                case .infrastructure: ", infrastructure: not counted"
                case nil: ""
                }
            return "<b>failed</b>\(end)"
        }
    }

    private func place(of failure: Failure) -> HTML {
        var parts: [HTML] = ["<code>\(failure.code)</code>", "stage \(failure.stage)"]
        if let stream = failure.stream { parts.append("stream \(stream)") }
        if let position = failure.position { parts.append("at \(position.short)") }
        if let frame = failure.frame { parts.append("frame \(Figures.grouped(frame))") }
        if let name = failure.libavName { parts.append("libav \(name)") }
        return .joined(parts, by: ", ")
    }

    private func facts(of attempt: AttemptRecord) -> [String] {
        let facts = attempt.facts
        let parts: [String?] = [
            facts.framesIn.map { "\(Figures.count($0, "frame")) read" },
            facts.framesOut.map { "\(Figures.grouped($0)) written" },
            facts.cpu.map { "\(Figures.duration(seconds: $0.seconds)) of CPU time" },
            facts.peakBytes.map { "\(Figures.bytes($0)) of memory" },
        ]
        return parts.compactMap { $0 }
    }

    /// The worker with its slot, and the fence.
    private func worker(of attempt: AttemptRecord) -> HTML {
        let name: HTML = attempt.workerName.map { "<bdi>\($0)</bdi>" } ?? "worker \(attempt.worker)"
        let slot: HTML = attempt.facts.slot.map { " slot \(Int($0))" } ?? ""
        let libraries: HTML = attempt.libraries.map { ", \($0.cutInside(to: 80))" } ?? ""
        return "\(name)\(slot), epoch \(Int(attempt.epoch))\(libraries)"
    }

    // MARK: - What it lacks, and its files

    private var lack: HTML {
        guard let remarks = report?.remarks.prefix(30), !remarks.isEmpty else { return "" }
        let items: HTML = .all(
            remarks.map { remark in
                let shape: HTML = remark.kind.isLoss ? "note" : "waiting"
                return """
                    <li><span class="s \(shape)"></span><div><p>\(remark.brief.capitalised)</p>\
                    <p class="soft">\(remark.detail.cutInside(to: 400).sentence)</p></div></li>
                    """
            }
        )
        return "<h2 id=\"lack\">Warnings</h2><ul class=\"needs\">\(items)</ul>"
    }

    private func files(_ outputs: PublishedOutputs?) -> HTML {
        let next: HTML =
            report?.remarks.isEmpty == false ? "<h2 class=\"next\">Files</h2>" : "<h2 id=\"lack\">Files</h2>"
        var rows: [HTML] = []
        // A recipe of a newer version is shown as its text.
        if let recipe = outputs?.recipe {
            for source in recipe.sources.prefix(10) {
                rows.append("<dt>From</dt><dd class=\"loc\"><bdi>\(source.location.cutInside(to: 600))</bdi></dd>")
            }
            if recipe.sources.count > 10 { rows.append("<dt></dt><dd>and \(recipe.sources.count - 10) more</dd>") }
            for (place, output) in recipe.outputs.prefix(10).enumerated() {
                let preset: HTML = output.presetName.map { " <span class=\"soft\">\($0)</span>" } ?? ""
                // That of the first stands at the top.
                let link: HTML = place > 0 ? " \(outputs?.download(place) ?? "")" : ""
                let location = output.location.cutInside(to: 600)
                rows.append("<dt>To</dt><dd class=\"loc\"><bdi>\(location)</bdi>\(preset)\(link)</dd>")
            }
            if recipe.outputs.count > 10 { rows.append("<dt></dt><dd>and \(recipe.outputs.count - 10) more</dd>") }
        } else {
            rows.append("<dt>From</dt><dd class=\"loc\"><bdi>\(job.source.cutInside(to: 600))</bdi></dd>")
        }
        if let bytes = job.bytes, bytes > 0 { rows.append("<dt>Size</dt><dd>\(Figures.bytes(bytes))</dd>") }
        if let digest = job.digest { rows.append("<dt>SHA-256</dt><dd><code>\(digest)</code></dd>") }
        rows.append("<dt>Queue</dt><dd><bdi>\(job.queue)</bdi>, priority \(job.priority)</dd>")
        if !story.needs.isEmpty {
            rows.append("<dt>Requires</dt><dd>\(story.needs.joined(separator: ", ").cutInside(to: 600))</dd>")
        }
        let labels = story.batchLabels.merging(story.labels) { $1 }.sorted { $0.key < $1.key }.prefix(20)
        if !labels.isEmpty {
            let words = labels.map { "\($0.key)=\($0.value)" }.joined(separator: ", ").cutInside(to: 600)
            rows.append("<dt>Labels</dt><dd>\(words)</dd>")
        }
        return "\(next)<dl class=\"facts\">\(.all(rows))</dl>"
    }

    private func recipe(_ recipe: Recipe?) -> HTML {
        let length = report.flatMap { report in
            report.source.sampleRateHz > 0
                ? MediaTime(value: report.source.frames, timescale: Int32(clamping: report.source.sampleRateHz)) : nil
        }
        let picture = recipe.flatMap { RecipePicture($0, sourceLength: length) }
        let summary: HTML = picture.map { " <span class=\"soft near\">\($0.summary)</span>" } ?? ""
        let text = Self.spread(story.recipe).cutInside(to: Self.mostRecipe)
        // Each line is escaped by itself, because line feeds must stay.
        let lines: HTML = .joined(text.split(separator: "\n").map { "\(String($0))" }, by: "\n")
        return """
            <section aria-labelledby="recipe"><div class="bar"><h2 id="recipe">Recipe</h2>\(summary)</div>\
            \(picture?.html ?? "")<details><summary>Recipe as JSON</summary>\
            <pre tabindex="0" aria-label="Recipe as JSON">\(lines)</pre></details></section>
            """
    }

    /// JSON on several lines.
    private static func spread(_ json: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // `try?`: a text that is not JSON is shown as it is.
        guard let data = try? encoder.encode(JSONValue(text: json)) else { return json }
        return String(decoding: data, as: UTF8.self)
    }
}
