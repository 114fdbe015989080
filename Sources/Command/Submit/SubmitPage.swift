import Conversion
import FoundationEssentials
import Ledger

/// The output of `submit`: the plan, what prevents it, and the result.
struct SubmitPage {
    let invocation: Invocation
    let console: Console

    // MARK: - The plan

    /// `12,408 files, 1.9 TB  ->  12,408 jobs in queue default, priority 0`
    func show(_ plan: SubmitPlan, _ survey: SubmitSurvey, bytes: Int64, _ lengths: SourceLengths?) throws {
        if invocation[SubmitOptions.json] {
            return try console.print(JSONText.line(record(plan, survey, bytes, lengths)))
        }
        let count = plan.items.count + plan.misfits.count
        let jobs = Figures.count(survey.jobCount, "job")
        let queue = invocation[SubmitOptions.queue].printable
        var lines = [
            "\(Figures.count(count, "file")), \(Figures.bytes(bytes))  ->  \(jobs) in queue \(queue), "
                + "priority \(invocation[SubmitOptions.priority])"
        ]
        lines += rows("names", plan.misfits, "cannot be used")
        lines += rows("collisions", plan.collisions, "destinations of several sources")
        lines += rows("sources", plan.overwrites, "sources that would be written over")
        lines += rows("conflicts", survey.conflicts, "destinations exist already: \(policyWords(plan))")
        lines += rows("altered", survey.altered, "outputs are not as they were written: \(policyWords(plan))")
        if !survey.isAllNew {
            if survey.fresh > 0 { lines.append("  new         \(Figures.grouped(survey.fresh))") }
            lines += rows("missing", survey.missing, "outputs are gone, and would be made again")
            lines += rows("changed", survey.changed, "sources have changed since they were converted")
            lines += restLines(survey)
        }
        if let lengths {
            lines.append("  length      \(words(lengths))")
            lines += rows("unreadable", lengths.unreadable, "would fail, by the look of them")
        }
        if let first = first(plan, survey) {
            lines.append("  first       \(first.source) -> \(first.destination)".printable)
        }
        let isForbidden = plan.isForbidden || survey.isForbidden
        lines.append(isForbidden ? "it would be refused (--dry-run)" : "nothing was submitted (--dry-run)")
        try console.print(lines.joined(separator: "\n"))
    }

    private func rows(_ label: String, _ sample: SubmitPlan.Sample, _ what: String) -> [String] {
        guard sample.count > 0 else { return [] }
        let gap = String(repeating: " ", count: 14)
        return ["  \(label.padded(to: 10))  \(Figures.grouped(sample.count)) \(what)"] + sample.lines.map { gap + $0 }
    }

    /// `212 h 40 min of sound, 8 of the files by estimate`
    private func words(_ lengths: SourceLengths) -> String {
        var words = ["\(Figures.duration(seconds: lengths.seconds)) of sound"]
        if lengths.estimates > 0 { words.append("\(Figures.grouped(lengths.estimates)) of the files by estimate") }
        if lengths.unknown > 0 {
            words.append("without \(Figures.grouped(lengths.unknown)) that only decoding can tell")
        }
        if lengths.elsewhere > 0 {
            words.append("without \(Figures.grouped(lengths.elsewhere)) that are not on this machine")
        }
        return words.joined(separator: ", ")
    }

    private func first(_ plan: SubmitPlan, _ survey: SubmitSurvey) -> SubmitPlan.Item? {
        // Show an example even if the submission would be refused.
        survey.chosen.first.map { plan.items[$0.place] } ?? (survey.jobCount > 0 ? plan.items.first : nil)
    }

    private func policyWords(_ plan: SubmitPlan) -> String {
        switch plan.conflict {
        case .fail: "refused; --on-conflict replace or skip allows it, missing and newer leave them out"
        case .replace: "they will be replaced"
        case .skip: "they will be left alone"
        case .missing, .newer: "those that are older will be replaced"
        }
    }

    struct Found: Encodable {
        let count: Int
        let first: [String]

        init(_ sample: SubmitPlan.Sample) { (count, first) = (sample.count, sample.first) }
    }

    struct Record: Encodable {
        struct Way: Encodable {
            let source: String
            let destination: String
        }

        let isDryRun = true
        let isForbidden: Bool
        let jobs: Int
        let bytes: Int64
        let queue: String
        let priority: Int
        let misfits: Found
        let leftOut: Found
        let collisions: Found
        let overwrites: Found
        let conflicts: Found
        let altered: Found
        let findings: SubmitFindings
        let first: Way?
        /// Set with `--probe` only.
        let audioSeconds: Double?
        let estimates: Int?
        let unknownLengths: Int?
        let unreadable: Found?
    }

    private func record(
        _ plan: SubmitPlan,
        _ survey: SubmitSurvey,
        _ bytes: Int64,
        _ lengths: SourceLengths?
    ) -> Record {
        Record(
            isForbidden: plan.isForbidden || survey.isForbidden,
            jobs: survey.jobCount,
            bytes: bytes,
            queue: invocation[SubmitOptions.queue],
            priority: invocation[SubmitOptions.priority],
            misfits: .init(plan.misfits),
            leftOut: .init(plan.leftOut),
            collisions: .init(plan.collisions),
            overwrites: .init(plan.overwrites),
            conflicts: .init(survey.conflicts),
            altered: .init(survey.altered),
            findings: SubmitFindings(survey),
            first: first(plan, survey).map { .init(source: "\($0.source)", destination: "\($0.destination)") },
            audioSeconds: lengths?.seconds,
            estimates: lengths?.estimates,
            unknownLengths: lengths.map { $0.unknown + $0.elsewhere },
            unreadable: lengths.map { .init($0.unreadable) }
        )
    }

    // MARK: - What stands in its way

    /// The error that the plan's names cause; `nil` if there is none.
    func refusal(of plan: SubmitPlan) -> Refusal? {
        guard plan.isForbidden else { return nil }
        if plan.misfits.count > 0 {
            return Refusal(
                message: "\(Figures.count(plan.misfits.count, "name")) cannot be used; nothing was submitted",
                details: plan.misfits.lines,
                hint: "rename them (convmv and detox do whole folders), or leave them out by --exclude"
                    + (invocation[SubmitOptions.strictNames]
                        ? "; without --strict-names, folders and lists leave them out" : "")
            )
        }
        if plan.collisions.count > 0 {
            let what =
                plan.collisions.count == 1
                ? "one destination has" : "\(Figures.grouped(plan.collisions.count)) destinations have"
            return Refusal(
                message: "\(what) several sources; nothing was submitted",
                details: plan.collisions.lines,
                hint: "{dir} and {stem} in --to keep sources apart; --exclude leaves some out"
            )
        }
        if plan.overwrites.count > 0 {
            return Refusal(
                message: "a source is never written to; nothing was submitted",
                details: plan.overwrites.lines,
                hint: "name another folder or another extension in --to"
            )
        }
        return nil
    }

    /// The error that existing files at the destinations cause; `nil` if there is none.
    func refusal(of survey: SubmitSurvey) -> Refusal? {
        guard survey.isForbidden else { return nil }
        let (conflicts, altered) = (survey.conflicts, survey.altered)
        var messages: [String] = []
        if conflicts.count > 0 {
            let what = Figures.grouped(conflicts.count)
            messages.append(
                conflicts.count == 1 ? "one destination exists already" : "\(what) destinations exist already"
            )
        }
        if altered.count > 0 {
            let what = Figures.grouped(altered.count)
            messages.append(
                altered.count == 1
                    ? "one output is not as it was written" : "\(what) outputs are not as they were written"
            )
        }
        return Refusal(
            message: messages.joined(separator: " and ") + "; nothing was submitted",
            details: conflicts.lines + altered.lines,
            hint:
                "--on-conflict replace puts new files in their place; skip leaves them alone; missing submits only what "
                + "has no destination"
        )
    }
}
