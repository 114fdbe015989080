import Console
import Conversion
import FoundationEssentials
import Ledger

/// One attempt at a job: the worker, the time, the outcome, and what to do about a failure.
struct AttemptLines {
    private let attempt: AttemptRecord
    private let job: JobSummary
    private let damageMode: DamageMode?
    /// `nil` if this version cannot read it.
    private let recipe: Recipe?
    private let now: Date
    private let console: CommandOutput

    init(_ attempt: AttemptRecord, of story: JobStory, now: Date, console: CommandOutput) {
        (self.attempt, job, self.now, self.console) = (attempt, story.summary, now, console)
        damageMode = story.damageMode(ofAttempt: attempt.epoch)
        // `try?`: the page says that the recipe cannot be read, and why.
        recipe = try? Recipe(json: story.recipe)
    }

    var lines: [String] {
        var lines = [headline]
        if let failure = attempt.failure {
            let mark = console.data.paint(failure.code.printable, .bad)
            lines += folded("\(failure.code.printable)   \(failure.message.printable)").enumerated().map {
                place,
                line in
                // Wrap first and paint last, so that escape codes do not count as width.
                place == 0 ? line.replacingFirst(failure.code.printable, with: mark) : line
            }
            lines += folded(([place(of: failure)] + facts).joined(separator: ", "))
            if let words = attempt.lastWords, !words.isEmpty {
                lines += folded("last words: \(words.printable)")
            }
            if failure.contradiction != nil {
                for line in failure.explanation(remedy(for: failure)) { lines += folded(line) }
            }
            if let hint = failure.hint ?? failure.known?.advice { lines += folded("hint: \(hint.printable)") }
        } else if !facts.isEmpty {
            lines.append("  " + facts.joined(separator: ", "))
        }
        for line in attempt.facts.specLines { lines += folded(line.printable) }
        if let report = attempt.facts.reportOnAll {
            let told = report.remarkLines(
                source: job.source,
                onDamage: damageMode,
                by: recipe,
                drawnFor: console.data
            )
            for line in told {
                lines += line.hasPrefix(" ") ? ["    " + line] : folded("note: \(line)")
            }
        }
        for line in attempt.facts.scan?.lines(for: console.data) ?? [] {
            lines += line.hasPrefix(" ") ? ["    " + line] : folded("scan: \(line)")
        }
        return lines
    }

    /// How to take the sound as it is; `nil` if the job can no longer be retried, and if that would not help.
    private func remedy(for failure: Failure) -> Failure.Remedy? {
        guard let recipe, recipe.mayTrustPackets(in: failure), recipe.permitsMovedSound,
            [.delayed, .failed, .accepted, .cancelled].contains(job.state)
        else { return nil }
        return .command("sluice retry \(job.job) --on-damage \(DamageMode.trustPackets.rawValue)")
    }

    private func folded(_ text: String) -> [String] {
        let lines = console.data.hasWidth ? text.wrapped(to: max(20, console.data.width - 2)) : [text]
        return lines.enumerated().map { ($0.offset == 0 ? "  " : "    ") + $0.element }
    }

    /// `attempt 1   pump-2 slot 3   09:31:04 to 09:31:09   failed, permanent: not retried`
    private var headline: String {
        var parts = [console.data.paint("attempt \(attempt.epoch)", .strong)]
        let name = attempt.workerName?.printable ?? "worker \(attempt.worker)"
        parts.append(attempt.facts.slot.map { "\(name) slot \($0)" } ?? name)
        let start = TimeWords.clock(attempt.startedAt, at: now)
        parts.append(attempt.endedAt.map { "\(start) to \(TimeWords.clock($0, at: now))" } ?? "since \(start)")
        parts.append(outcome)
        return parts.joined(separator: "   ")
    }

    private var outcome: String {
        switch attempt.outcome {
        case nil: return "in progress"
        case .completed? where job.state == .skipped: return "skipped: its destination already exists"
        case .completed?: return console.data.paint("completed", .good)
        case .cancelled?: return "cancelled"
        case .lost?: return "lost with its worker: not counted"
        case .released?: return "released: not counted"
        case .failed?:
            let failed = console.data.paint("failed", .bad)
            switch attempt.failure?.kind {
            case .permanent?: return "\(failed), permanent: not retried"
            case .transient?: return "\(failed), transient: retried, up to \(Figures.count(job.maxAttempts, "attempt"))"
            case .infrastructure?: return "\(failed), infrastructure: not counted"
            case nil: return failed
            }
        }
    }

    /// `stage decode, stream 0, at 48:07.11, frame 138,581,424, libav INVALIDDATA`
    private func place(of failure: Failure) -> String {
        var parts = ["stage \(failure.stage)"]
        if let stream = failure.stream { parts.append("stream \(stream)") }
        if let position = failure.position { parts.append("at \(position.short)") }
        if let frame = failure.frame { parts.append("frame \(Figures.grouped(frame))") }
        if let name = failure.libavName { parts.append("libav \(name.printable)") }
        return parts.joined(separator: ", ")
    }

    /// `48,000 frames out, 5.1 s CPU, 31.0 MB`
    private var facts: [String] {
        let facts = attempt.facts
        return [
            facts.framesOut.map { Figures.count($0, "frame") }
                ?? facts.framesIn.map { "\(Figures.count($0, "frame")) read" },
            facts.cpu.map { "\(Figures.duration(seconds: $0.seconds)) CPU" },
            facts.peakBytes.map { "\(Figures.bytes($0)) of memory" },
        ].compactMap { $0 }
    }
}

extension String {
    fileprivate func replacingFirst(_ part: String, with other: String) -> String {
        guard let range = firstRange(of: part) else { return self }
        return replacingCharacters(in: range, with: other)
    }

    private func replacingCharacters(in range: Range<Index>, with other: String) -> String {
        String(self[..<range.lowerBound]) + other + self[range.upperBound...]
    }
}
