import Console
import Conversion
import Ledger

/// The output of `scan`.
struct ScanPage {
    let invocation: Invocation
    let console: CommandOutput

    /// The JSON form of a submission of scans, or of its plan.
    private struct Record: Encodable {
        struct Findings: Encodable {
            let new: Int
            let changed: Int
            let due: Int
            /// Scanned because of `--again`, whatever was known of them.
            let again: Int
            let unchanged: Int
            let underWay: Int
            let failed: Int
            /// Failed before, and the failures are accepted.
            let accepted: Int
        }

        /// `nil` if nothing was submitted.
        var batch: Int64?
        var name: String?
        var jobs: Int
        var firstJob: Int64?
        var lastJob: Int64?
        var isRepetition: Bool?
        /// Set with `--dry-run` only.
        var isDryRun: Bool?
        var bytes: Int64?
        let findings: Findings

        init(_ survey: ScanSurvey, jobs: Int) {
            self.jobs = jobs
            findings = Findings(
                new: survey.fresh,
                changed: survey.changed,
                due: survey.due,
                again: survey.again,
                unchanged: survey.unchanged,
                underWay: survey.underWay,
                failed: survey.failed.count,
                accepted: survey.accepted
            )
        }
    }

    /// What was submitted.
    func show(_ survey: ScanSurvey, _ receipt: SubmissionReceipt?) throws {
        let label = invocation[SubmitOptions.label]
        if invocation[SubmitOptions.json] {
            var record = Record(survey, jobs: receipt?.jobCount ?? 0)
            (record.batch, record.firstJob, record.lastJob) = (receipt?.batch, receipt?.firstJob, receipt?.lastJob)
            (record.name, record.isRepetition) = (receipt == nil ? nil : label, receipt?.isRepetition)
            try console.print(JSONText.line(record))
        } else if invocation[SubmitOptions.quiet] {
            if let receipt { try console.print("\(receipt.batch)") }
        } else {
            if let receipt {
                let name = label.map { " \"\($0.printable)\"" } ?? ""
                let parts = words(chosen(survey))
                try console.print("batch \(receipt.batch)\(name)  \(Figures.count(receipt.jobCount, "job")): \(parts)")
            }
            if survey.rest > 0 {
                let start = receipt == nil ? "nothing to scan" : "not scanned"
                try console.print("\(start): \(words(rest(survey)))")
            }
        }
        if receipt?.isRepetition == true {
            console.warn("this was submitted before; nothing was added; --again submits it again")
        }
        if survey.failed.count > 0 { console.warn(failures(survey)) }
    }

    /// An example of the files whose scans failed before, and where the reasons are: in one batch or several.
    private func failures(_ survey: ScanSurvey) -> String {
        let example = "failed before: \(survey.failed.first.first ?? "")" + (survey.failed.count > 1 ? ", ..." : "")
        let batches = survey.failedBatches.sorted(by: >)
        guard let newest = batches.first else {
            return "\(example); the ledger no longer has the jobs; --again scans the files"
        }
        let advice = "\(example); \"sluice errors --batch \(newest)\" says why"
        guard batches.count > 1 else { return advice }
        let shown = batches.prefix(10).map(String.init) + (batches.count > 10 ? ["..."] : [])
        return "\(advice); the batches are \(shown.joined(separator: ", "))"
    }

    /// What would be submitted.
    func show(plan survey: ScanSurvey, bytes: Int64) throws {
        if invocation[SubmitOptions.json] {
            var record = Record(survey, jobs: survey.chosen.count)
            (record.isDryRun, record.bytes) = (true, bytes)
            return try console.print(JSONText.line(record))
        }
        let files = Figures.count(survey.chosen.count + survey.rest, "file")
        let queue = invocation[SubmitOptions.queue].printable
        var lines = [
            "\(files), \(Figures.bytes(bytes))  ->  \(Figures.count(survey.chosen.count, "scan")) in queue \(queue), "
                + "priority \(invocation[SubmitOptions.priority])"
        ]
        for (count, what) in chosen(survey) + rest(survey) where count > 0 {
            lines.append("  \(Figures.grouped(count)) \(what)")
        }
        lines.append("nothing was submitted (--dry-run)")
        try console.print(lines.joined(separator: "\n"))
    }

    func remark(_ search: SourceSearch) {
        if search.otherKinds > 0 {
            let files = Figures.count(search.otherKinds, "file")
            console.warn("\(files) without a known audio extension left out; select them with --include")
        }
        if search.repetitions > 0 {
            console.warn("\(Figures.count(search.repetitions, "file")) named more than once, used once")
        }
        search.remarkObjects(on: console)
        guard search.leftOut.count > 0 else { return }
        let names = Figures.count(search.leftOut.count, "name")
        let lines = ["\(names) cannot be used and left out; with --strict-names this is an error"]
        console.warn((lines + search.leftOut.lines).joined(separator: "\n"))
    }

    private func chosen(_ survey: ScanSurvey) -> [(Int, String)] {
        [(survey.fresh, "new"), (survey.changed, "changed"), (survey.due, "due"), (survey.again, "again")]
    }

    private func rest(_ survey: ScanSurvey) -> [(Int, String)] {
        [
            (survey.unchanged, "unchanged"), (survey.underWay, "already waiting or running"),
            (survey.failed.count, "failed before"), (survey.accepted, "failed before and accepted"),
        ]
    }

    private func words(_ parts: [(Int, String)]) -> String {
        parts.filter { $0.0 > 0 }.map { "\(Figures.grouped($0.0)) \($0.1)" }.joined(separator: ", ")
    }
}
