import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import Storage
import System

/// `sluice scan`: has files decoded by workers, and their damage and digests recorded.
enum ScanCommand {
    private static let paths = Argument(
        name: "PATH",
        summary: "a file, a folder (with -r), or a location ROOT:PATH",
        count: .any
    )
    static let every = Option<Duration>(
        "every",
        .duration,
        "scan again what was last scanned longer ago, as in 90d",
        in: .source
    )
    static let loudness = Switch("loudness", "measure the loudness, too", in: .work)

    private static let forms: [OptionForm] =
        [
            SubmitOptions.recursive.form, SubmitOptions.include.form, SubmitOptions.exclude.form,
            SubmitOptions.matchCase.form, SubmitOptions.filesFrom.form, SubmitOptions.null.form,
            SubmitOptions.strictNames.form, SubmitOptions.root.form, every.form, loudness.form,
            SubmitOptions.queue.form, SubmitOptions.priority.form, SubmitOptions.weight.form, SubmitOptions.runAt.form,
            SubmitOptions.maxAttempts.form, SubmitOptions.again.form, SubmitOptions.label.form,
            SubmitOptions.notify.form,
        ] + LedgerOptions.forms
        + [
            ProgressStyle.option.form, SubmitOptions.json.form, SubmitOptions.quiet.form, SubmitOptions.wait.form,
            WaitCommand.timeout.form, EndCommand.option.form, Question.dryRun.form,
        ]

    static let value: Subcommand = Subcommand(
        name: "scan",
        summary: "decode files on workers to find damage and bit rot",
        discussion: [
            "Each file becomes a job that decodes it from end to end and writes nothing. Its result has the places of "
                + "damage, the number of frames and a digest of the sound; \"sluice job\" and \"sluice export\" show it.",
            "Jobs of damaged files fail with the code damage_found. If a file has the size and the time of its last "
                + "scan, and different sound, its job fails with bit_rot. \"sluice errors\" groups both.",
            "A file is scanned again if its size or its time has changed, and with --every also if its last scan is older. "
                + "Files whose scans failed are reported. --again scans all files.",
            SourceBucket.discussion,
            SourceWebServer.discussion,
        ],
        arguments: [paths],
        options: forms,
        examples: [
            Example(
                line: "sluice scan -r archive: --root archive=/mnt/archive --every 90d",
                purpose: "each night, what is due"
            ),
            Example(line: "sluice scan -r /srv/archive --loudness --wait", purpose: "a folder, and its loudness"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        try checkWords(invocation)
        let named = try LedgerOptions.pathRoots(invocation, findsSources: true)
        let roots = try SubmitUploads.settleUnsent(named, invocation.words(paths), invocation)
        for word in invocation.words(paths) { try check(word, roots) }
        var search = try SourceSearch(invocation.words(paths), roots, invocation)
        guard search.misfits.isEmpty else {
            var names = SubmitPlan.Sample()
            for misfit in search.misfits { names.add(misfit) }
            throw Refusal(
                message: "\(Figures.count(names.count, "name")) cannot be used; nothing was submitted",
                details: names.lines
            )
        }
        let page = ScanPage(invocation: invocation, console: console)
        page.remark(search)
        guard !search.sources.isEmpty else {
            console.complain("nothing to scan")
            return .nothingMatched
        }
        return try scan(search.takeSources(), roots, page)
    }

    private static func checkWords(_ invocation: Invocation) throws(UsageError) {
        if invocation.words(paths).isEmpty, invocation[SubmitOptions.filesFrom] == nil {
            throw UsageError("no files given", hint: "give files, folders with -r, or --files-from FILE")
        }
        if invocation[SubmitOptions.null], invocation[SubmitOptions.filesFrom] == nil {
            throw UsageError("-0 needs --files-from")
        }
        for form in [EndCommand.option.form, WaitCommand.timeout.form]
        where invocation.origin(of: form) != nil && !invocation[SubmitOptions.wait] {
            throw UsageError("\(form.word) needs --wait")
        }
    }

    /// Refuses folders of other machines.
    private static func check(_ word: String, _ roots: PathRoots) throws(UsageError) {
        guard roots.isLocation(ofSource: word) else { return }
        let name = String(word.unicodeScalars.prefix { $0 != ":" })
        guard roots.root(named: name) == nil, !roots.isServer(name), word.hasSuffix(":") || word.hasSuffix("/") else {
            return
        }
        throw SourceSearch.unknownFolder(word)
    }

    private static func scan(_ found: FoundSources, _ roots: PathRoots, _ page: ScanPage) throws -> ExitCode {
        let invocation = page.invocation
        let sources = found.map(\.location)
        let stamps = Parallel.map(sources.count) { place -> SourceStamp? in
            if let stamp = found[place].stamp { return stamp }
            guard let path = roots.path(of: sources[place]),
                let facts = FileFacts.of(path: path, followingLinks: true)
            else { return nil }
            return SourceStamp(bytes: facts.byteCount, modified: facts.modifiedAt)
        }
        // Its location is replaced in each job.
        let recipe = Recipe(scanning: .init(location: ""), for: .init(loudness: invocation[loudness]))
        let isDry = invocation[Question.dryRun]
        let (survey, receipt) = try LedgerWork.run(invocation) { ledger -> (ScanSurvey, SubmissionReceipt?) in
            let now = try await ledger.time()
            let isAgain = invocation[SubmitOptions.again]
            var survey = ScanSurvey(every: invocation[every], isAgain: isAgain, now: now)
            let earlier: [EarlierScan?] =
                try await isAgain ? [] : ledger.earlierScans(of: sources.map(\.description))
            for (place, source) in sources.enumerated() {
                survey.classify(source, isAgain ? nil : earlier[place], stamps[place])
            }
            guard !survey.chosen.isEmpty else { return (survey, nil) }
            let submission = SubmitOptions.submission(
                invocation,
                key: try isAgain ? nil : survey.key(recipe, SubmitOptions.wishes(invocation)),
                request: nil,
                now: now
            )
            if isDry {
                _ = try await ledger.preview(submission, all: survey.requests(recipe))
                return (survey, nil)
            }
            return (survey, try await ledger.submit(submission, all: survey.requests(recipe)))
        }
        if isDry {
            try page.show(plan: survey, bytes: stamps.reduce(0) { $0 + ($1?.bytes ?? 0) })
            return .success
        }
        try page.show(survey, receipt)
        guard invocation[SubmitOptions.wait] else { return .success }
        return try wait(survey, receipt, page)
    }

    private static func wait(_ survey: ScanSurvey, _ receipt: SubmissionReceipt?, _ page: ScanPage) throws -> ExitCode {
        let (invocation, console) = (page.invocation, page.console)
        let batches = survey.batchesUnderWay.union([receipt?.batch].compactMap(\.self)).sorted()
        let exitCode = survey.failed.count > 0 ? ExitCode.someFailed : .success
        guard !batches.isEmpty else { return exitCode }
        let ending = try Waiting(batches: batches, limit: invocation[WaitCommand.timeout]).run(invocation, console)
        if invocation[SubmitOptions.json] {
            for batch in ending.state.batches { try console.print(JSONText.line(JSONRecord(batch))) }
        } else if !invocation[SubmitOptions.quiet] {
            for line in ending.lines { try console.print(line) }
            ending.sayFailures(on: console)
        }
        let end = EndCommand(invocation)?.run(after: ending, invocation.environment, on: console) ?? ending.exitCode
        return end == .success ? exitCode : end
    }
}
