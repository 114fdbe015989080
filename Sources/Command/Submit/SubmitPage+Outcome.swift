import API
import Console
import Conversion
import Ledger

/// The JSON form of what the survey found before anything was submitted, in numbers.
struct SubmitFindings: Encodable {
    let new: Int
    let missing: Int
    let changed: Int
    let unchanged: Int
    let skipped: Int
    /// Altered outputs that are left alone.
    let altered: Int
    let underWay: Int
    let failed: Int
    /// Failed before, and the failures are accepted.
    let accepted: Int
    let cancelled: Int
    let notLookedAt: Int

    init(_ survey: SubmitSurvey) {
        (new, missing, changed) = (survey.fresh, survey.missing.count, survey.changed.count)
        (unchanged, skipped, underWay) = (survey.unchanged, survey.skipped, survey.underWay)
        (altered, accepted) = (survey.leftAltered, survey.accepted)
        (failed, cancelled, notLookedAt) = (survey.failed.count, survey.cancelled, survey.unseen)
    }
}

// The result of a submission.
extension SubmitPage {
    private struct Receipt: Encodable {
        let batch: Int64?
        let name: String?
        let jobs: Int
        let firstJob: Int64?
        let lastJob: Int64?
        let isRepetition: Bool
        let key: String?
        /// The webhooks that are told about the batch; `nil` if there are none.
        let notify: [String]?
        let findings: SubmitFindings
        /// `nil` if no name was left out.
        let leftOut: Found?
        /// `nil` if some running worker can do each new job.
        let unable: [WorkerGap]?
        /// `nil` if no file was sent.
        let uploads: UploadRun.Summary?

        init(_ outcome: SubmitOutcome, leftOut: SubmitPlan.Sample, label: String?, told: [String]) {
            notify = told.isEmpty ? nil : told
            self.leftOut = leftOut.count > 0 ? Found(leftOut) : nil
            let (receipt, standing) = (outcome.receipt, outcome.standing)
            batch = receipt?.batch ?? standing?.batch
            name = receipt == nil ? standing?.name : label
            jobs = receipt?.jobCount ?? (outcome.isRepetition ? standing?.jobs.total ?? 0 : 0)
            firstJob = receipt?.firstJob ?? standing?.firstJob
            lastJob = receipt?.lastJob ?? standing?.lastJob
            isRepetition = outcome.receipt == nil || outcome.isRepetition
            key = outcome.key ?? standing?.key
            findings = SubmitFindings(outcome.survey)
            unable = outcome.gaps.record
            uploads = outcome.uploads
        }
    }

    func show(_ outcome: SubmitOutcome, of plan: SubmitPlan) throws {
        let label = invocation[SubmitOptions.label]
        if invocation[SubmitOptions.json] {
            try console.print(
                JSONText.line(Receipt(outcome, leftOut: plan.leftOut, label: label, told: told(of: outcome)))
            )
        } else if invocation[SubmitOptions.quiet] {
            if let batch = outcome.receipt?.batch ?? outcome.standing?.batch { try console.print("\(batch)") }
        } else {
            for line in lines(outcome, label) { try console.print(line) }
        }
        remark(outcome)
    }

    // MARK: - For people

    private func lines(_ outcome: SubmitOutcome, _ label: String?) -> [String] {
        let survey = outcome.survey
        var lines: [String] = []
        if let receipt = outcome.receipt {
            let name = label.map { " \"\($0.printable)\"" } ?? ""
            let parts = receipt.isRepetition || survey.isAllNew ? "" : ": " + chosenWords(survey)
            lines.append("batch \(receipt.batch)\(name)  \(Figures.count(receipt.jobCount, "job"))\(parts)")
        } else if outcome.isRepetition, let standing = outcome.standing {
            lines.append("\(standing.title)  \(Figures.count(standing.jobs.total, "job"))")
        }
        // The batch of a repetition, shown above, includes its jobs that are under way; report only the rest.
        guard survey.rest > (outcome.isRepetition ? survey.underWay : 0) else { return lines }
        let rest = restWords(survey).joined(separator: ", ")
        lines.append((outcome.receipt == nil ? "nothing to submit: " : "not submitted: ") + rest)
        return lines
    }

    /// `1 new, 2 missing again, 1 changed`
    private func chosenWords(_ survey: SubmitSurvey) -> String {
        let parts = [(survey.fresh, "new"), (survey.missing.count, "missing again"), (survey.changed.count, "changed")]
        return parts.filter { $0.0 > 0 }.map { "\(Figures.grouped($0.0)) \($0.1)" }.joined(separator: ", ")
    }

    /// What was not submitted: `574 unchanged`, `1 failed before`.
    private func restWords(_ survey: SubmitSurvey) -> [String] {
        let parts = [
            (survey.unchanged, "unchanged"), (survey.skipped, "skipped"), (survey.leftAltered, "altered"),
            (survey.underWay, "already waiting or running"),
            (survey.failed.count, "failed before"), (survey.accepted, "failed before and accepted"),
            (survey.cancelled, "cancelled before"),
            (survey.unseen, "done before, not checked"),
        ]
        return parts.filter { $0.0 > 0 }.map { "\(Figures.grouped($0.0)) \($0.1)" }
    }

    /// The same for a plan, one line each.
    func restLines(_ survey: SubmitSurvey) -> [String] {
        func line(_ label: String, _ count: Int, _ what: String) -> String? {
            count > 0 ? "  \(label.padded(to: 10))  \(Figures.grouped(count)) \(what)" : nil
        }
        let failed = retry(survey.failedBatches, "")
        let cancelled = retry(survey.cancelledBatches, " --state cancelled")
        return [
            line("unchanged", survey.unchanged, "done before, outputs exist"),
            line("skipped", survey.skipped, "skipped because the destination exists"),
            line("pending", survey.underWay, "already waiting or running"),
            line("failed", survey.failed.count, "failed before: \(failed)"),
            line("accepted", survey.accepted, "failed before, and the failures were accepted"),
            line("cancelled", survey.cancelled, "cancelled before: \(cancelled)"),
            line("unchecked", survey.unseen, "done before, with outputs under roots that are not on this machine"),
        ].compactMap(\.self)
    }

    /// `sluice retry --batch 1`, with the newest of several batches.
    private func retry(_ batches: Set<Int64>, _ words: String) -> String {
        "sluice retry --batch \(batches.max() ?? 0)\(words)"
    }

    /// The webhooks that are told about the new batch.
    private func told(of outcome: SubmitOutcome) -> [String] {
        outcome.receipt.map(\.isRepetition) == false ? invocation.all(SubmitOptions.notify) : []
    }

    private func remark(_ outcome: SubmitOutcome) {
        let survey = outcome.survey
        if let uploads = outcome.uploads, !invocation[SubmitOptions.quiet] { console.say(uploads.words) }
        for note in outcome.gaps.notes { console.warn(note) }
        let webhooks = invocation.all(SubmitOptions.notify)
        if !webhooks.isEmpty, told(of: outcome).isEmpty {
            let names = webhooks.joined(separator: ", ").printable
            console.warn("no batch was added, so \(names) \(Plural.be(webhooks.count)) not notified")
        }
        if let clamped = outcome.receipt?.clamped, !clamped.isEmpty {
            console.warn(
                "the tenant's limits hold instead of the recipe's: \(clamped.prefix(10).joined(separator: ", ").printable)"
            )
        }
        if outcome.isRepetition, survey.rest == survey.underWay || outcome.receipt != nil {
            let way = invocation[SubmitOptions.key] == nil ? "; --again submits it again" : ""
            console.warn("this was submitted before; nothing was added\(way)")
        }
        if outcome.receipt?.isRepetition == true, !survey.chosen.isEmpty {
            let (missing, changed) = (survey.missing.count, survey.changed.count)
            let new = survey.fresh + survey.conflicts.count
            let what = [
                (missing, "\(Plural.be(missing)) missing"), (changed, "\(Plural.have(changed)) a changed source"),
                (new, "\(Plural.past(new)) never made"),
            ].filter { $0.0 > 0 }.map { "\(Figures.grouped($0.0)) \($0.1)" }.joined(separator: ", ")
            console.warn("of the outputs, \(what); submit without --key, or with another key, to make them again")
        }
        if survey.leftAltered > 0 {
            let example = (survey.altered.first.first ?? "") + (survey.altered.count > 1 ? ", ..." : "")
            console.warn(
                "\(Self.alteredSubject(survey.altered.count)) and \(Plural.past(survey.altered.count)) left alone: \(example); "
                    + "--on-altered replace makes them again"
            )
        }
        if survey.failed.count > 0 {
            let example = (survey.failed.first.first ?? "") + (survey.failed.count > 1 ? ", ..." : "")
            console.warn("failed before: \(example); retry with \"\(retry(survey.failedBatches, ""))\"")
        }
        if survey.cancelled > 0 {
            let again = retry(survey.cancelledBatches, " --state cancelled")
            console.warn("\(Figures.count(survey.cancelled, "job")) cancelled before; retry with \"\(again)\"")
        }
        if survey.unseen > 0 {
            let those = Figures.subject(survey.unseen, "output")
            console.warn("\(those) under roots that are not on this machine and not checked")
        }
    }
}
