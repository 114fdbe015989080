import Console
import Conversion
import FoundationEssentials
import Ledger
import Storage

/// The output of `submit`: the plan, what prevents it, and the result.
struct SubmitPage {
    let invocation: Invocation
    let console: CommandOutput

    // MARK: - The plan

    /// `12,408 files, 1.9 TB  ->  12,408 jobs in queue default, priority 0`
    ///
    /// What no running worker can do is told on standard error.
    func show(
        _ plan: SubmitPlan,
        _ rehearsal: SubmitSending.Rehearsal,
        bytes: Int64,
        _ lengths: SourceLengths?
    ) throws {
        defer { for note in rehearsal.gaps.notes { console.warn(note) } }
        if invocation[SubmitOptions.json] {
            return try console.print(JSONText.line(record(plan, rehearsal, bytes, lengths)))
        }
        let (survey, standing) = (rehearsal.survey, rehearsal.standing)
        let count = plan.items.reduce(plan.misfits.count) { $0 + 1 + ($1.book?.others.count ?? 0) }
        let jobs = Figures.count(standing == nil ? survey.jobCount : 0, "job")
        let queue = invocation[SubmitOptions.queue].printable
        var lines = [
            "\(Figures.count(count, "file")), \(Figures.bytes(bytes))  ->  \(jobs) in queue \(queue), "
                + "priority \(invocation[SubmitOptions.priority])"
        ]
        lines += rows("names", plan.misfits, "name") { _ in "cannot be used" }
        lines += rows("collisions", plan.collisions, "destination") { _ in "with several sources" }
        lines += rows("sources", plan.overwrites, "source") { _ in "that would be overwritten" }
        lines += rows("conflicts", survey.conflicts, "destination") { Self.existWords($0) + policyWords(plan) }
        lines += rows("altered", survey.altered, "output") {
            Self.alteredWords($0) + (Self.policyWords(survey.onAltered) ?? policyWords(plan))
        }
        if !survey.isAllNew {
            if survey.fresh > 0 { lines.append("  new         \(Figures.grouped(survey.fresh))") }
            lines += rows("missing", survey.missing, "missing output") { _ in "would be made again" }
            lines += rows("changed", survey.changed, "source") { "\(Plural.have($0)) changed since the conversion" }
            lines += restLines(survey)
        }
        if let lengths {
            lines.append("  length      \(words(lengths))")
            lines += rows("unreadable", lengths.unreadable, "file") { _ in "would probably fail" }
        }
        if let uploads = rehearsal.uploads {
            let files = "\(Figures.count(uploads.files, "file")), \(Figures.bytes(uploads.bytes))"
            lines.append("  uploads     \(files), to \(uploads.to), except what is there already".printable)
        }
        if let others = plan.companions { lines.append("  copies      \(Figures.count(others.count, "other file"))") }
        if let pieces = plan.pieceCount {
            let (all, uncut) = (plan.items.count, plan.uncutCount)
            let rest = " of \(Figures.count(all - uncut, "file")); \(SourceCuts.words(uncut: uncut))"
            lines.append("  pieces      \(Figures.grouped(pieces))" + (uncut > 0 ? rest : ""))
        }
        for page in books(plan) { lines += page.lines(for: console.data).map { "  " + $0 } }
        if let first = first(plan, survey) {
            let way = "  first       \(first.source) -> "
            let rows = pieceLines(first)
            lines.append("\(way)\(rows.first ?? "\(first.destination)")".printable)
            lines += rows.dropFirst().map { String(repeating: " ", count: 14) + $0.printable }
        }
        if let standing, let key = invocation[SubmitOptions.key]?.printable {
            let jobs = Figures.count(standing.jobCount, "job")
            let batch = "batch \(standing.batch) with \(jobs)"
            lines.append("  key         \(batch) has the key \(key): nothing would be added")
        }
        let ending = isRefused(plan, rehearsal) ? "the submission would be refused" : "nothing was submitted"
        lines.append("\(ending) (--dry-run)")
        try console.print(lines.joined(separator: "\n"))
    }

    /// Whether the submission would be refused. With a key that is in use nothing would be submitted, so nothing that exists
    /// prevents it.
    func isRefused(_ plan: SubmitPlan, _ rehearsal: SubmitSending.Rehearsal) -> Bool {
        let isForbidden = rehearsal.survey.isForbidden && rehearsal.standing == nil
        return plan.isForbidden || isForbidden || invocation[BookOptions.strict] && plan.hasDoubts
    }

    /// What becomes of each folder, if folders are joined.
    private func books(_ plan: SubmitPlan) -> [BookPage] {
        plan.items.compactMap { item in
            item.book.map { joined in
                BookPage(
                    output: "\(item.destination)",
                    files: joined.book.files,
                    doubts: joined.book.doubts,
                    marks: true,
                    cover: joined.pictures.first?.name,
                    copying: joined.copying
                )
            }
        }
    }

    /// `out:talk-1.flac, 0:00 to 0:10`, for the first few pieces.
    private func pieceLines(_ item: SubmitPlan.Item) -> [String] {
        let shown = 5
        guard !item.pieces.areUncut else { return [] }
        let lines = zip(item.destinations, item.pieces).prefix(shown).map { "\($0), \($1.range.words)" }
        let rest = item.pieces.count - shown
        return rest > 0 ? lines + ["and \(Figures.grouped(rest)) more"] : lines
    }

    /// `  missing     2 missing outputs would be made again`, and examples. `what` gets the count.
    private func rows(
        _ label: String,
        _ sample: SubmitPlan.Sample,
        _ noun: String,
        _ what: (Int) -> String
    ) -> [String] {
        guard sample.count > 0 else { return [] }
        let gap = String(repeating: " ", count: 14)
        let count = Figures.count(sample.count, noun)
        return ["  \(label.padded(to: 10))  \(count) \(what(sample.count))"] + sample.lines.map { gap + $0 }
    }

    private static func existWords(_ count: Int) -> String { "already exist\(count == 1 ? "s" : ""): " }

    private static func policyWords(_ onAltered: SubmitAltered?) -> String? {
        switch onAltered {
        case .skip: "to be left alone; --on-altered replace makes them again"
        case .replace: "to be replaced"
        case .fail: "an error; use --on-altered skip or replace"
        case nil: nil
        }
    }

    private static func alteredWords(_ count: Int) -> String {
        "\(Plural.have(count)) changed since \(count == 1 ? "it was" : "they were") written: "
    }

    /// `212 h 40 min of sound, the lengths of 8 files estimated`
    private func words(_ lengths: SourceLengths) -> String {
        var words = ["\(Figures.duration(seconds: lengths.seconds)) of sound"]
        if lengths.estimates > 0 { words.append("\(Figures.count(lengths.estimates, "file")) estimated") }
        if lengths.unknown > 0 {
            words.append("without \(Figures.count(lengths.unknown, "file")) of unknown length")
        }
        if lengths.elsewhere > 0 {
            words.append("without \(Figures.count(lengths.elsewhere, "file")) not on this machine")
        }
        return words.joined(separator: ", ")
    }

    private func first(_ plan: SubmitPlan, _ survey: SubmitSurvey) -> SubmitPlan.Item? {
        // Show an example even if the submission would be refused.
        survey.chosen.first.map { plan.items[$0.place] } ?? (survey.jobCount > 0 ? plan.items.first : nil)
    }

    private func policyWords(_ plan: SubmitPlan) -> String {
        switch plan.conflict {
        case .fail: "an error; use --on-conflict replace, skip, missing or newer"
        case .replace: "to be replaced"
        case .skip: "to be left alone"
        case .missing, .newer: "older files are replaced"
        }
    }

    struct Found: Encodable {
        let count: Int
        let first: [String]

        init(_ sample: SubmitPlan.Sample) { (count, first) = (sample.count, sample.first) }
    }

    struct Record: Encodable {
        struct Way: Encodable {
            struct Piece: Encodable {
                let destination: String
                let from: String
                /// `nil` for the end of the source.
                let to: String?
                let title: String?
            }

            let source: String
            let destination: String
            /// `nil` if the source is not cut.
            let pieces: [Piece]?

            init(_ item: SubmitPlan.Item) {
                (source, destination) = ("\(item.source)", "\(item.destination)")
                let cuts = zip(item.destinations, item.pieces).map { destination, piece in
                    let end = piece.range.isOpenEnded ? nil : piece.range.end.description
                    return Piece(
                        destination: "\(destination)",
                        from: piece.range.start.description,
                        to: end,
                        title: piece.title
                    )
                }
                pieces = cuts.isEmpty || item.pieces.areUncut ? nil : cuts
            }
        }

        let isDryRun = true
        let isForbidden: Bool
        let jobs: Int
        /// The batch that the user's key already has: then nothing would be added.
        let batch: Int64?
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
        /// Set with `--split-at` only.
        let pieces: Int?
        /// Sources that stay whole beside others that are cut; `nil` if there are none.
        let uncut: Int?
        /// Set with `--join-folders` only.
        let books: [BookPage.Record]?
        let first: Way?
        /// Set with `--probe` only.
        let audioSeconds: Double?
        let estimates: Int?
        let unknownLengths: Int?
        let unreadable: Found?
        /// `nil` if some running worker can do each job.
        let unable: [WorkerGap]?
        /// `nil` if no file would be sent.
        let uploads: PlannedUpload?
    }

    private func record(
        _ plan: SubmitPlan,
        _ rehearsal: SubmitSending.Rehearsal,
        _ bytes: Int64,
        _ lengths: SourceLengths?
    ) -> Record {
        let (survey, standing) = (rehearsal.survey, rehearsal.standing)
        let books = books(plan)
        return Record(
            isForbidden: isRefused(plan, rehearsal),
            jobs: standing == nil ? survey.jobCount : 0,
            batch: standing?.batch,
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
            pieces: plan.pieceCount,
            uncut: plan.uncutCount > 0 ? plan.uncutCount : nil,
            books: books.isEmpty ? nil : books.map(\.record),
            first: first(plan, survey).map(Record.Way.init),
            audioSeconds: lengths?.seconds,
            estimates: lengths?.estimates,
            unknownLengths: lengths.map { $0.unknown + $0.elsewhere },
            unreadable: lengths.map { .init($0.unreadable) },
            unable: rehearsal.gaps.record,
            uploads: rehearsal.uploads
        )
    }

    // MARK: - Refusals

    /// The error that the plan's names cause; `nil` if there is none.
    func refusal(of plan: SubmitPlan) -> Refusal? {
        guard plan.isForbidden else { return nil }
        if plan.misfits.count > 0 {
            return Refusal(
                message: "\(Figures.count(plan.misfits.count, "name")) cannot be used; nothing was submitted",
                details: plan.misfits.lines,
                hint: "rename them (convmv and detox do whole folders), or leave them out with --exclude"
                    + (invocation[SubmitOptions.strictNames]
                        ? "; without --strict-names, folders and lists leave them out" : "")
            )
        }
        if plan.collisions.count > 0 {
            let count = plan.collisions.count
            let what = "\(Figures.count(count, "destination")) \(Plural.have(count))"
            return Refusal(
                message: "\(what) several sources; nothing was submitted",
                details: plan.collisions.lines,
                hint:
                    "tell sources apart by {dir}, {stem} and {source-ext} in --to, as in {dir}/{stem}-{source-ext}.mp3, "
                    + "number them with --on-collision number, or leave some out with --exclude"
            )
        }
        if plan.overwrites.count > 0 {
            return Refusal(
                message:
                    "outputs would overwrite \(Figures.count(plan.overwrites.count, "source")); nothing was submitted",
                details: plan.overwrites.lines,
                hint: "use another folder or extension in --to"
            )
        }
        return nil
    }

    /// The error that existing files at the destinations cause; `nil` if there is none.
    func refusal(of survey: SubmitSurvey) -> Refusal? {
        let (conflicts, altered) = survey.forbidden
        var messages: [String] = []
        var hints: [String] = []
        if conflicts > 0 {
            messages.append("\(Figures.count(conflicts, "destination")) already \(conflicts == 1 ? "exists" : "exist")")
            hints.append(
                "--on-conflict replace replaces existing files, skip leaves them alone, missing submits only files "
                    + "without an output"
            )
        }
        if altered > 0 {
            messages.append(Self.alteredSubject(altered))
            hints.append("--on-altered skip leaves altered outputs alone, replace makes them again")
        }
        guard !messages.isEmpty else { return nil }
        return Refusal(
            message: messages.joined(separator: " and ") + "; nothing was submitted",
            details: (conflicts > 0 ? survey.conflicts.lines : []) + (altered > 0 ? survey.altered.lines : []),
            hint: hints.joined(separator: "; ")
        )
    }

    /// `2 outputs have changed since they were written`
    static func alteredSubject(_ count: Int) -> String {
        let since = count == 1 ? "it was" : "they were"
        return "\(Figures.count(count, "output")) \(Plural.have(count)) changed since \(since) written"
    }
}

extension MediaTimeRange {
    /// `0:10 to 1:00`, `1:00 to the end`
    var words: String { "\(start.short) to \(isOpenEnded ? "the end" : end.short)" }
}
