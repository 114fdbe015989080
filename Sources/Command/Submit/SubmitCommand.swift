import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import Storage

/// `sluice submit`: submits files to the ledger, as a batch of jobs.
enum SubmitCommand {
    private static let paths = Argument(
        name: "PATH",
        summary: "a file, a folder (with -r), or a location ROOT:PATH",
        count: .any
    )

    static let value: Subcommand = Subcommand(
        name: "submit",
        summary: "submit files for conversion as a batch of jobs",
        discussion: [
            "Jobs refer to folders by the names of roots. --root maps a name to a folder of this machine; "
                + "without --root, all paths are under the root \"local\", and workers need --root local=/. "
                + "The private cluster has roots of its own, at first \"local\" for your home; \"sluice up\" changes them.",
            "In --to, {dir} is the folder of a source below the given PATH, {stem} its name without extension, "
                + "{source-ext} its extension, {ext} the extension of the output's format, and {preset} the name of the "
                + "preset. A file that is given directly has no {dir}; in a list, and as ROOT:PATH, it keeps its folder.",
            SourceBucket.discussion,
            SourceWebServer.discussion,
            "Before it submits, the command checks for sources with the same destination, destinations that are "
                + "sources, and existing destinations. It submits all jobs or none. Files in folders and lists whose "
                + "names are not UTF-8 or contain control characters are left out and reported, unless you use "
                + "--strict-names.",
            "Work of earlier jobs is not repeated: a file is skipped if its output exists with the recorded "
                + "size, and its own size and time have not changed since. Files whose outputs are missing or whose "
                + "contents changed are submitted again; files whose jobs wait, run or failed are reported. --again "
                + "submits all files.",
            "With --also, --waveform and --spectrogram, each job writes further files from the same decoded sound. They are "
                + "published together, and --on-conflict holds for each of them.",
            "--split-at cuts each source into pieces, as \"sluice split\" does: in --to, {n} is the number of a piece, and "
                + "{title} the title of its chapter. This machine looks at the sources to find the cuts, and decodes them "
                + "for silence. A job makes up to \(Recipe.maximumPieces) pieces, from one decode, and publishes them together.",
            "With --join-folders, each folder that holds sound is a book: one job joins its files, in the order of their names, "
                + "where 2 comes before 10. Folders such as \"CD 1\" and \"disc2\" belong to the folder around them. In --to, "
                + "{dir} is the folder and {stem} its name. --order tags takes the numbers of discs and tracks, for which this "
                + "machine opens each file; it decodes none. --dry-run shows each book, with --probe its lengths, too.",
            "With --recipe, each job is a copy of the recipe in which the sources at {source} are the file, and the "
                + "first output is at --to, or without --to where the recipe says. The other sources, and the files of --intro "
                + "and --outro, are the same in all jobs. Whether they have changed is not checked.",
            "Over HTTP, files that no worker can read are sent to the cluster before the jobs are added, if the coordinator "
                + "takes uploads. A repetition sends only what is missing. With --wait --fetch DIR, the outputs come to this "
                + "machine, as with \"sluice wait --fetch\".",
        ],
        arguments: [paths],
        options: SubmitOptions.forms,
        examples: [
            Example(
                line: "sluice submit -r podcasts --to out/{dir}/{stem}.mp3 --dry-run --probe",
                purpose: "show the plan and the total length"
            ),
            Example(
                line: "sluice submit -r /srv/in --root data=/srv --to data:out/{stem}.flac --wait",
                purpose: "use a root, and wait for the jobs"
            ),
            Example(
                line: "sluice submit -r archive:2024/ --root archive=s3://takes --to out:{stem}.flac",
                purpose: "the objects of a bucket"
            ),
            Example(
                line: "sluice submit -r podcasts --to out/{dir}/{stem}.mp3 --on-conflict newer",
                purpose: "only new and changed files"
            ),
            Example(
                line: "sluice submit -r talks --to out/{stem}.mp3 --notify studio",
                purpose: "notify the webhook studio at the end"
            ),
            Example(
                line: "find . -name '*.wav' | sluice submit --files-from - --to out/{stem}.opus",
                purpose: "the files that find lists"
            ),
            Example(
                line: "sluice submit -r masters --to out/{stem}.flac --also web/{stem}.opus:opus-96",
                purpose: "two files of each source"
            ),
            Example(
                line: "sluice submit -r books --split-at chapters --to out/{stem}/{n}.mp3",
                purpose: "a file of each chapter"
            ),
            Example(
                line: "sluice submit -r library --join-folders --to books/{dir}.m4b",
                purpose: "a book of each folder"
            ),
            Example(
                line: "sluice submit -r talks --to out:talks/{stem}.mp3 --wait --fetch done",
                purpose: "send files, and get the outputs"
            ),
            Example(
                line: "sluice submit -r talks --recipe show.json --to shows/{stem}.mp3",
                purpose: "a recipe for each file"
            ),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        try checkWords(invocation)
        let named = try LedgerOptions.pathRoots(invocation, findsSources: true)
        let file = try RecipeTemplate(invocation)
        let words = invocation.words(paths) + commonSources(file, invocation)
        let roots = try SubmitUploads.settle(named, words, invocation)
        let outputs = try SubmitOptions.outputs(from: file, roots, invocation)
        var base = try SubmitOptions.recipe(to: outputs, from: file, invocation)
        let mainCount = file?.placeholderCount ?? 1
        for index in base.sources.indices.dropFirst(mainCount) {
            base.sources[index].location = try roots.location(ofNamed: base.sources[index].location).description
        }

        try tellingOfStops(invocation, console) { try reachLedger(invocation) }
        let joinsFolders = invocation[SubmitBooks.option]
        let progress = SubmitProgress(invocation, console)
        defer { progress.clear() }
        var search = try SourceSearch(
            invocation.words(paths),
            roots,
            invocation,
            joinsFiles: joinsFolders,
            progress: progress
        )
        progress.clear()
        guard !search.sources.isEmpty || !search.misfits.isEmpty else {
            let others =
                search.otherKinds > 0
                ? "; \(Figures.count(search.otherKinds, "file")) without a known audio extension" : ""
            remarkNames(search, console)
            let empty = search.emptyFolders.first.first.map { "there are no objects in \($0)" }
            console.complain(
                "nothing to submit\(others)",
                hint: others.isEmpty ? empty : "select them with --include"
            )
            return .nothingMatched
        }
        var found = search.takeSources()
        if joinsFolders {
            let commonCount = base.sources.count - mainCount
            let files = SubmitBooks.sources(Array(found), besides: outputs, roots, console)
            let books = try SubmitBooks.join(
                files,
                besides: commonCount,
                links: search.links,
                roots,
                invocation,
                console
            )
            try SubmitBooks.remark(books, invocation, console)
            found = FoundSources(books)
        }
        let cuts = try invocation[SourceCuts.option].map {
            try SourceCuts.look(into: found, at: $0, roots, invocation, console)
        }
        var plan = try SubmitPlan(
            found,
            cuts: cuts,
            misfits: search.misfits,
            outputs: outputs,
            base: base,
            mainCount: mainCount,
            tags: invocation.all(ConvertCommand.tag),
            names: DestinationNames(roots, isPortable: invocation[SubmitCollision.portableNames]),
            onCollision: invocation[SubmitCollision.option],
            conflict: invocation[SubmitConflict.option],
            onAltered: invocation[SubmitAltered.option],
            libav: invocation[SubmitOptions.libav],
            progress: progress
        )
        progress.clear()
        if try LedgerOptions.mayHoldJobs(invocation) {
            try plan.keepNumbers { destinations in
                try LedgerWork.run(invocation) { try await $0.earlierJobs(at: destinations, digests: false) }
            }
        }
        plan.leftOut = search.leftOut
        plan.companions = try CompanionFiles(plan, roots, invocation)
        let page = SubmitPage(invocation: invocation, console: console)
        remark(search, console)
        let sending = SubmitSending(plan: plan, roots: roots, page: page)
        if invocation[Question.dryRun] {
            let rehearsal = try sending.rehearse()
            let lengths =
                invocation[SubmitOptions.probe] ? try SourceLengths.look(into: plan, roots, invocation, console) : nil
            try page.show(plan, rehearsal, bytes: plan.bytes(roots), lengths)
            return page.isRefused(plan, rehearsal) ? .failure : .success
        }
        if let refusal = page.refusal(of: plan) { throw refusal }
        let fetching = try OutputFetching(invocation, onConflict: invocation[SubmitConflict.option].policy)
        // Before hours of work whose outputs would stay where they are.
        try fetching?.check(roots: Set(plan.items.flatMap(\.destinations).map(\.root)), invocation)
        return try submit(sending, fetching)
    }

    /// Throws if the ledger does not answer, has another version, or would refuse the user's queue, names, webhooks or settings:
    /// the search for a million files and their plan take a while. The private cluster is on this machine, and may have to be
    /// started, which nothing but a submission is worth.
    private static func reachLedger(_ invocation: Invocation) throws {
        guard !invocation[Question.dryRun], try LedgerOptions.readablePlace(invocation) != .cluster else { return }
        _ = try LedgerWork.run(invocation) { ledger in
            let submission = SubmitOptions.submission(
                invocation,
                key: invocation[SubmitOptions.key],
                request: nil,
                now: try await ledger.time()
            )
            return try await ledger.preview(submission, all: [JobRequest]())
        }
    }

    /// The sources that all jobs have, as the user named them.
    private static func commonSources(_ file: RecipeTemplate?, _ invocation: Invocation) -> [String] {
        let cover = [invocation[CoverOption.option]].compactMap(\.self)
        guard let file else { return [EditOptions.intro, EditOptions.outro].compactMap { invocation[$0] } + cover }
        return file.recipe.sources.dropFirst(file.placeholderCount).map(\.location) + cover
    }

    private static func checkWords(_ invocation: Invocation) throws(UsageError) {
        if invocation.words(paths).isEmpty, invocation[SubmitOptions.filesFrom] == nil {
            throw UsageError("no files given", hint: "give files, folders with -r, or --files-from FILE")
        }
        if invocation[SubmitOptions.null], invocation[SubmitOptions.filesFrom] == nil {
            throw UsageError("-0 needs --files-from")
        }
        if invocation[SubmitOptions.probe], !invocation[Question.dryRun] {
            throw UsageError("--probe needs --dry-run")
        }
        let waiting = [EndCommand.option.form, WaitCommand.timeout.form, OutputFetching.option.form]
        for form in waiting + [CompanionFiles.option.form]
        where invocation.origin(of: form) != nil && !invocation[SubmitOptions.wait] {
            throw UsageError("\(form.word) needs --wait")
        }
        if invocation[SubmitOptions.again], invocation[SubmitOptions.key] != nil {
            throw UsageError("--key and --again cannot be combined")
        }
        let (webhooks, most) = (invocation.all(SubmitOptions.notify), LedgerRules.notifiedWebhooks)
        if webhooks.count > most { throw UsageError("--notify is given \(webhooks.count) times; at most \(most)") }
        if webhooks.contains(where: { $0.contains(",") }) {
            throw UsageError("--notify takes the name or the id of one webhook", hint: "repeat it for several")
        }
        try SourceCuts.checkOptions(invocation)
        try SubmitBooks.checkOptions(invocation)
    }

    private static func remark(_ search: SourceSearch, _ console: CommandOutput) {
        if search.otherKinds > 0 {
            let files = Figures.count(search.otherKinds, "file")
            console.warn("\(files) without a known audio extension left out; select them with --include")
        }
        if search.repetitions > 0 {
            console.warn("\(Figures.count(search.repetitions, "file")) named more than once, used once")
        }
        search.remarkObjects(on: console)
        remarkNames(search, console)
    }

    private static func remarkNames(_ search: SourceSearch, _ console: CommandOutput) {
        guard search.leftOut.count > 0 else { return }
        let names = Figures.count(search.leftOut.count, "name")
        let lines = ["\(names) cannot be used and left out; with --strict-names this is an error"]
        console.warn((lines + search.leftOut.lines).joined(separator: "\n"))
    }

    /// Runs `body`, and tells a user who stops it what was submitted.
    private static func tellingOfStops<Value>(
        _ invocation: Invocation,
        _ console: CommandOutput,
        _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let stop as StoppedBySignal {
            let signal = stop.exitCode == .interrupted ? "Ctrl-C" : "SIGTERM"
            let way =
                invocation[SubmitOptions.again]
                ? "\"sluice batches\" shows what was submitted"
                : "run the command again to continue: nothing is submitted twice"
            console.say("stopped by \(signal); \(way)")
            throw stop
        }
    }

    private static func submit(_ sending: SubmitSending, _ fetching: OutputFetching?) throws -> ExitCode {
        let (page, invocation, console) = (sending.page, sending.page.invocation, sending.page.console)
        let outcome = try tellingOfStops(invocation, console) { try sending.send() }
        try page.show(outcome, of: sending.plan)
        guard invocation[SubmitOptions.wait] else { return .success }
        var exitCode = outcome.isWanting ? ExitCode.someFailed : .success
        let ending = try wait(outcome.batchesToWaitFor, invocation, console)
        if let fetching, ending?.isTimedOut != true {
            let items = sending.plan.items
            let fetched = try fetching.run(
                at: Set(items.flatMap(\.destinations).map(\.description)),
                firsts: items.map(\.destination.description),
                isJSON: invocation[SubmitOptions.json],
                invocation,
                console
            )
            if exitCode == .success { exitCode = fetched }
        }
        if let companions = sending.plan.companions, ending?.isTimedOut != true {
            let outcome = companions.copy()
            try tell(outcome, invocation, console)
            if !outcome.failures.isEmpty, exitCode == .success { exitCode = .someFailed }
        }
        guard let ending else { return exitCode }
        let end = EndCommand(invocation)?.run(after: ending, invocation.environment, on: console) ?? ending.exitCode
        if end != .success { exitCode = end }
        return exitCode
    }

    private static func tell(
        _ outcome: CompanionFiles.Outcome,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        for failure in outcome.failures {
            FailurePage(failure, source: nil, invocation: invocation).show(on: console)
        }
        if outcome.withoutFolder > 0 {
            let files = Figures.count(outcome.withoutFolder, "other file")
            console.warn("\(files) not copied: the output folder does not exist")
        }
        guard !invocation[SubmitOptions.json], !invocation[SubmitOptions.quiet] else { return }
        guard outcome.copied > 0 || outcome.present > 0 else { return }
        let present = outcome.present > 0 ? ", \(Figures.grouped(outcome.present)) already there" : ""
        try console.print("\(Figures.count(outcome.copied, "other file")) copied\(present)")
    }

    /// Waits for the end of batches, and prints it. `nil` if there are none.
    private static func wait(
        _ batches: [Int64],
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> Waiting.Ending? {
        guard !batches.isEmpty else { return nil }
        let ending = try Waiting(batches: batches, limit: invocation[WaitCommand.timeout]).run(invocation, console)
        if invocation[SubmitOptions.json] {
            for batch in ending.state.batches { try console.print(JSONText.line(JSONRecord(batch))) }
        } else if !invocation[SubmitOptions.quiet] {
            for line in ending.lines { try console.print(line) }
            ending.sayFailures(on: console)
            ending.sayRemarks(on: console)
        }
        return ending
    }
}
