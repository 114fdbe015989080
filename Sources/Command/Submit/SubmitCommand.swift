import Conversion
import FoundationEssentials
import Ledger
import Storage

/// `sluice submit`: submits files to the ledger, as a batch of jobs.
enum SubmitCommand {
    private static let paths = Argument(
        name: "PATH",
        summary: "a file, a folder with -r, or ROOT:PATH as workers know it",
        count: .any
    )

    static let value = Subcommand(
        name: "submit",
        summary: "submit files for conversion, as a batch of jobs",
        discussion: [
            "Workers know folders by the names of roots. --root says which folder of this machine is which root; without "
                + "one, every path is under the root \"local\", and workers need --root local=/.",
            "In --to, {dir} is a source's folder below the PATH that named it, {stem} its name without extension, {ext} the "
                + "extension of the output's format, {preset} the preset's name. A file that was named itself has no {dir}; "
                + "in a list, and as ROOT:PATH, it keeps the folder that it has there.",
            "Before anything is submitted, all names are looked at: two sources with one destination, a destination that is "
                + "a source, destinations that exist. All jobs are submitted, or none. Files in folders and lists whose names "
                + "are not UTF-8 or hold control characters are left out and named, unless --strict-names is said.",
            "What earlier jobs did is not done again: a file whose output is there, of its recorded size, is left alone if "
                + "its source has the size and time it had. Outputs that are missing and sources that changed are submitted "
                + "again; jobs that wait, run or failed are named. --again submits all of it.",
        ],
        arguments: [paths],
        options: SubmitOptions.forms,
        examples: [
            Example(
                line: "sluice submit -r podcasts --to out/{dir}/{stem}.mp3 --dry-run --probe",
                purpose: "the plan, and how long it plays"
            ),
            Example(
                line: "sluice submit -r /srv/in --root data=/srv --to data:out/{stem}.flac --wait",
                purpose: "on a share, and wait for it"
            ),
            Example(
                line: "sluice submit -r podcasts --to out/{dir}/{stem}.mp3 --on-conflict newer",
                purpose: "what is new or newer than its output"
            ),
            Example(
                line: "find . -name '*.wav' | sluice submit --files-from - --to out/{stem}.opus",
                purpose: "what find finds"
            ),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        try checkWords(invocation)
        let roots = try PathRoots(words: LedgerOptions.rootWords(invocation), environment: invocation.environment)
        guard let text = invocation[SubmitOptions.to] else {
            throw UsageError("--to is missing", hint: "as in --to out/{dir}/{stem}.mp3")
        }
        if invocation[SourceOptions.from] != nil, (try? MediaTime(parsing: text)) != nil {
            // Not a time: the usual case.
            throw UsageError("--to \(text): --to names the outputs", hint: "--until \(text) is where the range ends")
        }
        let template = try roots.template(text)
        if template.fields.contains(.id) {
            throw UsageError("--to \(text): {id} is not known before a job is submitted")
        }
        let ext = try SubmitOptions.fileExtension(for: template, invocation)
        let base = try SubmitOptions.recipe(to: template, ext: ext, invocation)

        let search = try search(roots, invocation)
        guard !search.sources.isEmpty || !search.misfits.isEmpty else {
            let others = search.otherKinds > 0 ? "; \(Figures.count(search.otherKinds, "file")) of other kinds" : ""
            remarkNames(search, console)
            console.complain(
                "there is nothing to submit\(others)",
                hint: others.isEmpty ? nil : "--include takes what it names"
            )
            return .nothingMatched
        }
        var plan = try SubmitPlan(
            search.sources,
            misfits: search.misfits,
            template: template,
            base: base,
            conflict: invocation[SubmitConflict.option],
            ext: ext
        )
        plan.leftOut = search.leftOut
        let page = SubmitPage(invocation: invocation, console: console)
        remark(search, console)
        let sending = SubmitSending(plan: plan, roots: roots, page: page)
        if invocation[Question.dryRun] {
            let survey = try sending.rehearse()
            let lengths =
                invocation[SubmitOptions.probe] ? try SourceLengths.look(into: plan, roots, invocation, console) : nil
            try page.show(plan, survey, bytes: plan.bytes(roots), lengths)
            return plan.isForbidden || survey.isForbidden ? .failure : .success
        }
        if let refusal = page.refusal(of: plan) { throw refusal }
        return try submit(sending)
    }

    private static func checkWords(_ invocation: Invocation) throws(UsageError) {
        if invocation.words(paths).isEmpty, invocation[SubmitOptions.filesFrom] == nil {
            throw UsageError("nothing says what to submit", hint: "name files, folders with -r, or --files-from FILE")
        }
        if invocation[SubmitOptions.null], invocation[SubmitOptions.filesFrom] == nil {
            throw UsageError("-0 says how --files-from is to be read, and that is missing")
        }
        if invocation[SubmitOptions.probe], !invocation[Question.dryRun] {
            throw UsageError("--probe belongs to a plan", hint: "say --dry-run with it")
        }
        if invocation[SubmitOptions.again], invocation[SubmitOptions.key] != nil {
            throw UsageError("--key and --again exclude each other")
        }
    }

    private static func search(_ roots: PathRoots, _ invocation: Invocation) throws -> SourceSearch {
        var search = SourceSearch(
            roots: roots,
            filter: NameFilter(
                includes: invocation.all(SubmitOptions.include),
                excludes: invocation.all(SubmitOptions.exclude)
            ),
            isRecursive: invocation[SubmitOptions.recursive],
            isStrict: invocation[SubmitOptions.strictNames]
        )
        for word in invocation.words(paths) { try search.take(word: word) }
        if let file = invocation[SubmitOptions.filesFrom] {
            for (path, shown) in try PathList.read(file, byNull: invocation[SubmitOptions.null]) {
                if let path { try search.take(listed: path) } else { search.takeMisfit(shown) }
            }
        }
        return search
    }

    private static func remark(_ search: SourceSearch, _ console: Console) {
        if search.otherKinds > 0 {
            let files = Figures.count(search.otherKinds, "file")
            console.warn("\(files) of other kinds left out; --include takes what it names")
        }
        if search.repetitions > 0 {
            console.warn("\(Figures.count(search.repetitions, "file")) named more than once, and taken once")
        }
        remarkNames(search, console)
    }

    private static func remarkNames(_ search: SourceSearch, _ console: Console) {
        guard search.leftOut.count > 0 else { return }
        let names = Figures.count(search.leftOut.count, "name")
        let lines = ["\(names) cannot be used and left out; --strict-names refuses the whole instead"]
        console.warn((lines + search.leftOut.lines).joined(separator: "\n"))
    }

    private static func submit(_ sending: SubmitSending) throws -> ExitCode {
        let (page, invocation, console) = (sending.page, sending.page.invocation, sending.page.console)
        let outcome: SubmitOutcome
        do {
            outcome = try sending.send()
        } catch let stop as StoppedBySignal {
            let signal = stop.exitCode == .interrupted ? "Ctrl-C" : "SIGTERM"
            let way =
                invocation[SubmitOptions.again]
                ? "\"sluice batches\" shows what was added" : "say the same again to go on: nothing is added twice"
            console.say("stopped by \(signal); \(way)")
            throw stop
        }
        try page.show(outcome, of: sending.plan)
        guard invocation[SubmitOptions.wait] else { return .success }
        let batches = outcome.batchesToWaitFor
        var exitCode = outcome.isWanting ? ExitCode.someFailed : .success
        guard !batches.isEmpty else { return exitCode }
        let ending = try Waiting(batches: batches).run(invocation, console)
        if invocation[SubmitOptions.json] {
            for batch in ending.state.batches { try console.print(JSONText.line(BatchRecord(batch))) }
        } else if !invocation[SubmitOptions.quiet] {
            for line in ending.lines { try console.print(line) }
            ending.sayFailures(on: console)
        }
        if ending.exitCode != .success { exitCode = ending.exitCode }
        return exitCode
    }
}
