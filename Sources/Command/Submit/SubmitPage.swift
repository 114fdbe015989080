import Conversion
import FoundationEssentials
import Ledger

/// What `submit` says: the plan, what stands in its way, what came of it.
struct SubmitPage {
    let invocation: Invocation
    let console: Console

    // MARK: - The plan

    /// `12,408 files, 1.9 TB  ->  12,408 jobs in queue default, priority 0`
    func show(_ plan: SubmitPlan, bytes: Int64, _ lengths: SourceLengths?) throws {
        if invocation[SubmitOptions.json] { return try console.print(JSONText.line(record(plan, bytes, lengths))) }
        let count = plan.items.count + plan.misfits.count
        let jobs = Figures.count(plan.items.count, "job")
        let queue = invocation[SubmitOptions.queue].printable
        var lines = [
            "\(Figures.count(count, "file")), \(Figures.bytes(bytes))  ->  \(jobs) in queue \(queue), "
                + "priority \(invocation[SubmitOptions.priority])"
        ]
        lines += rows("names", plan.misfits, "cannot be used")
        lines += rows("collisions", plan.collisions, "destinations of several sources")
        lines += rows("sources", plan.overwrites, "sources that would be written over")
        lines += rows("conflicts", plan.conflicts, "destinations exist already: \(policyWords(plan))")
        if let lengths {
            lines.append("  length      \(words(lengths))")
            lines += rows("unreadable", lengths.unreadable, "would fail, by the look of them")
        }
        if let first = plan.items.first {
            lines.append("  first       \(first.source) -> \(first.destination)".printable)
        }
        lines.append(plan.isForbidden ? "it would be refused (--dry-run)" : "nothing was submitted (--dry-run)")
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

    private func policyWords(_ plan: SubmitPlan) -> String {
        switch plan.base.outputs[0].onConflict {
        case .fail: "refused; --on-conflict replace or skip allows it"
        case .replace: "they will be replaced"
        case .skip: "they will be left alone"
        }
    }

    private struct Found: Encodable {
        let count: Int
        let first: [String]

        init(_ sample: SubmitPlan.Sample) { (count, first) = (sample.count, sample.first) }
    }

    private struct Record: Encodable {
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
        let first: Way?
        /// With `--probe`.
        let audioSeconds: Double?
        let estimates: Int?
        let unknownLengths: Int?
        let unreadable: Found?
    }

    private func record(_ plan: SubmitPlan, _ bytes: Int64, _ lengths: SourceLengths?) -> Record {
        Record(
            isForbidden: plan.isForbidden,
            jobs: plan.items.count,
            bytes: bytes,
            queue: invocation[SubmitOptions.queue],
            priority: invocation[SubmitOptions.priority],
            misfits: .init(plan.misfits),
            leftOut: .init(plan.leftOut),
            collisions: .init(plan.collisions),
            overwrites: .init(plan.overwrites),
            conflicts: .init(plan.conflicts),
            first: plan.items.first.map { .init(source: "\($0.source)", destination: "\($0.destination)") },
            audioSeconds: lengths?.seconds,
            estimates: lengths?.estimates,
            unknownLengths: lengths.map { $0.unknown + $0.elsewhere },
            unreadable: lengths.map { .init($0.unreadable) }
        )
    }

    // MARK: - What stands in its way

    /// `nil` if nothing does.
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
        let what =
            plan.conflicts.count == 1
            ? "one destination exists" : "\(Figures.grouped(plan.conflicts.count)) destinations exist"
        return Refusal(
            message: "\(what) already; nothing was submitted",
            details: plan.conflicts.lines,
            hint: "--on-conflict replace puts new files in their place; skip leaves them alone"
        )
    }

    // MARK: - What came of it

    private struct Receipt: Encodable {
        let batch: Int64
        let name: String?
        let jobs: Int
        let firstJob: Int64
        let lastJob: Int64
        let isRepetition: Bool
        let key: String?
        /// Where there is any.
        let leftOut: Found?
    }

    func show(_ receipt: SubmissionReceipt, of plan: SubmitPlan, key: String?) throws {
        let label = invocation[SubmitOptions.label]
        if invocation[SubmitOptions.json] {
            let record = Receipt(
                batch: receipt.batch,
                name: label,
                jobs: receipt.jobCount,
                firstJob: receipt.firstJob,
                lastJob: receipt.lastJob,
                isRepetition: receipt.isRepetition,
                key: key,
                leftOut: plan.leftOut.count > 0 ? Found(plan.leftOut) : nil
            )
            try console.print(JSONText.line(record))
        } else if invocation[SubmitOptions.quiet] {
            try console.print("\(receipt.batch)")
        } else {
            let name = label.map { " \"\($0.printable)\"" } ?? ""
            try console.print("batch \(receipt.batch)\(name)  \(Figures.count(receipt.jobCount, "job"))")
        }
        if receipt.isRepetition {
            let way = invocation[SubmitOptions.key] == nil ? "; --again submits it anew" : ""
            console.warn("the same was submitted before: nothing was added\(way)")
        }
    }
}
