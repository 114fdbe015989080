import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// Everything about a job, for people.
struct StoryPage {
    let story: JobStory
    /// The ledger's time.
    let now: Date
    let console: CommandOutput

    private var job: JobSummary { story.summary }

    var lines: [String] {
        var lines = [title]
        lines += asked
        lines.append(row("asked", times))
        if let reason = WaitReason(story, at: now) { lines.append(row("waits", reason.text)) }
        if let progress { lines.append(row("done", progress)) }
        if let result { lines.append(row("result", result)) }
        if let accepted { lines.append(row("accepted", accepted)) }
        lines += furtherResults.map { row("", $0) }
        for attempt in story.attempts {
            lines += [""] + AttemptLines(attempt, of: story, now: now, console: console).lines
        }
        return lines
    }

    /// `job 10442   failed   batch 17 "podcasts"   queue default   priority 0`
    private var title: String {
        let name = story.batchName.map { " \"\($0.printable)\"" } ?? ""
        let state = job.state.ink.map { console.data.paint(job.stateWord, $0) } ?? job.stateWord
        let head = console.data.paint("job \(job.job)", .strong)
        return
            "\(head)   \(state)   batch \(job.batch)\(name)   queue \(job.queue.printable)   priority \(job.priority)"
    }

    private func row(_ label: String, _ text: String) -> String {
        let head = console.data.paint(label.padded(to: 9), .faint)
        guard console.data.hasWidth else { return head + text }
        let lines = text.wrapped(to: max(20, console.data.width - 9))
        return head + lines.joined(separator: "\n" + String(repeating: " ", count: 9))
    }

    // MARK: - The recipe

    private var asked: [String] {
        let recipe: Recipe
        do {
            recipe = try Recipe(json: story.recipe)
        } catch {
            return [
                row("from", job.source.printable), row("recipe", "cannot be read by this version: \(error)".printable),
            ]
        }
        var lines: [String] = []
        for source in recipe.sources {
            let read = story.attempts.last?.facts.report.map { report in
                "\(report.source.codec) \(Figures.hertz(report.source.sampleRateHz)), "
                    + Figures.length(frames: report.source.frames, rate: report.source.sampleRateHz)
            }
            let sound = source.use == .sound ? read : "for the \(source.use.rawValue)"
            lines.append(row("from", join([source.location.printable] + described(source) + [sound])))
        }
        for (index, output) in recipe.outputs.enumerated() {
            let report = index == 0 ? story.attempts.last?.facts.report : nil
            // If the sound was left alone, the report is that on a waveform, whose format says nothing about it.
            let sound: ResolvedFormat? = report.flatMap { $0.waveform == nil ? $0.format : nil }
            let format = output.waveform.map(WaveformWords.short) ?? sound.map { FormatWords.short($0) }
            let preset = output.preset ?? output.ownPreset.map { "\($0)" }
            let wish = [preset, format ?? output.format?.container.rawValue].compactMap { $0 }
            let words: [String?] = [output.range?.words, wish.joined(separator: ", "), tagWords(output.tags)]
            lines.append(row("to", join([output.location.printable] + words)))
        }
        var wishes: [String] = []
        if let scan = recipe.scan { wishes.append(scan.loudness ? "scan, with the loudness" : "scan") }
        if recipe.damage != .strict { wishes.append("on damage \(recipe.damage.rawValue)") }
        if let limit = recipe.limits?.concealSeconds {
            wishes.append("at most \(Figures.duration(seconds: Double(limit))) of silence")
        }
        if recipe.verify { wishes.append("verified") }
        if recipe.strictLoss { wishes.append("strict loss") }
        if recipe.dropTags { wishes.append("no tags of the source") }
        if let policy = recipe.outputs.first?.onConflict, policy != .fail {
            wishes.append("on conflict \(policy.rawValue)")
        }
        if let tags = tagWords(recipe.tags) { wishes.append(tags) }
        if !wishes.isEmpty { lines.append(row("how", wishes.joined(separator: ", "))) }
        for amendment in story.amendments {
            let limit = amendment.concealSeconds.map {
                " with at most \(Figures.duration(seconds: Double($0))) of silence"
            }
            let (mode, by) = (amendment.damage.rawValue + (limit ?? ""), amendment.changedBy.printable)
            let moment = TimeWords.moment(amendment.changedAt, at: now)
            // A job may be amended before its first attempt.
            let end = amendment.untilEpoch == 0 ? "before the first attempt" : "until attempt \(amendment.untilEpoch)"
            lines.append(row("before", "on damage \(mode) \(end), changed \(moment) by \(by)"))
        }
        if story.specificNeeds != story.needs {
            lines.append(row("requires", story.specificNeeds.joined(separator: ", ").printable))
        }
        let labels = story.batchLabels.merging(story.labels) { $1 }.sorted { $0.key < $1.key }
        if !labels.isEmpty {
            lines.append(row("labels", labels.map { "\($0.key)=\($0.value)" }.joined(separator: ", ").printable))
        }
        return lines
    }

    private func described(_ source: Recipe.Source) -> [String?] {
        let ranges = source.ranges.map(\.words)
        return [
            source.track.map { "track \($0)" }, ranges.isEmpty ? nil : ranges.joined(separator: ", "),
            source.raw.map { "raw \($0.codec.rawValue) \(Figures.hertz($0.sampleRateHz))" },
        ]
    }

    /// `tag title=One, tag track=1/3`; `nil` without tags.
    private func tagWords(_ tags: [String: Recipe.TagValues]) -> String? {
        let words = tags.sorted { $0.key < $1.key }.flatMap { name, values in
            (values.removes ? [""] : values.all).map { "tag \(name)=\($0)".printable }
        }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    private func join(_ parts: [String?]) -> String {
        parts.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "   ")
    }

    // MARK: - State and times

    /// `20 Nov 09:12   started 09:31:04   ended 09:31:09`
    private var times: String {
        var parts = ["\(TimeWords.moment(story.submittedAt, at: now)) by \(story.submitter.printable)"]
        if let first = story.attempts.first { parts.append("started \(TimeWords.clock(first.startedAt, at: now))") }
        if job.state.isEnd { parts.append("ended \(TimeWords.clock(job.since, at: now))") }
        return parts.joined(separator: "   ")
    }

    private var progress: String? {
        guard job.state == .running, let frames = job.frames else { return nil }
        let whole = job.totalFrames.map { " of \(Figures.grouped($0))" } ?? ""
        let text = "\(Figures.grouped(frames))\(whole) \(Plural.form("frame", for: job.totalFrames ?? frames))"
        guard let share = job.share else { return text }
        let bar = Bar.text(share, columns: 20, unicode: console.data.usesUnicode)
        return "\(bar)  \(Int(share * 100))%   \(text)"
    }

    private var result: String? {
        guard job.state == .completed || job.state == .publishing else { return nil }
        // A scan has the digest of its sound, which its attempt shows, and no output.
        if story.attempts.last?.facts.scan != nil { return nil }
        let adopted = job.placement == .adopted ? "adopted: an earlier attempt published it" : nil
        let parts = [job.bytes.map { Figures.bytes($0) }, job.digest.map { "sha256 \($0)" }, adopted].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: "   ")
    }

    /// `today 09:31 by anna`
    private var accepted: String? {
        guard let date = job.acceptedAt, let name = job.acceptedBy else { return nil }
        return "\(TimeWords.moment(date, at: now)) by \(name.printable)"
    }

    /// The outputs after the first.
    private var furtherResults: [String] {
        guard job.state == .completed || job.state == .publishing else { return [] }
        return job.further.map { file in
            file.map { "\(Figures.bytes($0.bytes))   sha256 \($0.digest)" }
                ?? "left alone: its destination already exists"
        }
    }
}

extension JobStory {
    /// How an attempt treated damage; `nil` if this version cannot read the recipe.
    func damageMode(ofAttempt epoch: Int32) -> DamageMode? {
        if let earlier = amendments.first(where: { $0.untilEpoch >= epoch }) { return earlier.damage }
        // `try?`: the page says that the recipe cannot be read, and why.
        return (try? Recipe(json: recipe))?.damage
    }
}
