import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import Storage

/// The options that only `submit` has.
enum SubmitOptions {
    static let recursive = Switch(
        "recursive",
        letter: "r",
        "submit the files in folders, recursively",
        in: .source
    )
    static let include = Option<String>(
        "include",
        .text.named("GLOB"),
        "only files in folders that match (default: files with an audio extension)",
        isRepeatable: true,
        in: .source
    )
    static let exclude = Option<String>(
        "exclude",
        .text.named("GLOB"),
        "leave out files and folders that match",
        isRepeatable: true,
        in: .source
    )
    static let matchCase = Switch(
        "match-case",
        "in --include and --exclude, distinguish capitals from small letters",
        in: .source
    )
    static let filesFrom = Option<String>(
        "files-from",
        .text.named("FILE"),
        "read paths from FILE, one per line; - is standard input",
        in: .source
    )
    static let null = Switch(
        "null",
        letter: "0",
        "the paths in FILE end with NUL, as from find -print0",
        in: .source
    )
    static let strictNames = Switch(
        "strict-names",
        "submit nothing if a name in a folder or in FILE cannot be used",
        in: .source
    )
    static let root = Option<String>(
        "root",
        .rootWord,
        "jobs refer to the folder PATH of this machine as NAME:",
        isRepeatable: true,
        in: .source
    )
    static let until = Option<MediaTime>("until", .time, "end at this time of the source", in: .source)
    static let to = Option<String>(
        "to",
        .text.named("TEMPLATE"),
        "the path of outputs, as in out:{dir}/{stem}.mp3; required without --recipe",
        in: .destination
    )
    static let also = Option<OutputWish>(
        FormatOptions.also.form.name,
        .output.named("TEMPLATE[:PRESET]"),
        "write this output of each source too, from the same decoded sound",
        isRepeatable: true,
        in: .destination
    )
    static let waveform = Option<WaveformWish>(
        WaveformOptions.waveform.form.name,
        .waveform,
        "write the waveform of each output too: .dat, .json, .svg or .png",
        isRepeatable: true,
        in: .destination
    )
    static let spectrogram = Option<WaveformWish>(
        WaveformOptions.spectrogram.form.name,
        .spectrogram,
        "write the frequencies of each output over time too, as .png",
        isRepeatable: true,
        in: .destination
    )
    static let queue = SettledOption<String>(
        "queue",
        .queueName,
        fallback: "default",
        "the queue; created if necessary",
        in: .submission
    )
    static let priority = SettledOption<Int>(
        "priority",
        .whole(in: LedgerRules.priorities),
        fallback: "0",
        "the priority of the jobs; higher goes first",
        in: .submission
    )
    static let weight = SettledOption<Int>(
        "weight",
        .whole(in: LedgerRules.weights),
        fallback: "100",
        "the weight of the batch relative to others",
        in: .submission
    )
    static let runAt = Option<Moment>(
        "run-at",
        .moment,
        "do not start before this time: 2h from now, or a date",
        in: .submission
    )
    static let maxAttempts = Option<Int>(
        "max-attempts",
        .whole(in: LedgerRules.attempts),
        "maximum number of attempts per job",
        in: .submission
    )
    static let libav = Option<Int>(
        "libav",
        .whole(in: 1...9999),
        "only workers with this libavcodec: other versions may make other bytes",
        in: .submission
    )
    static let key = Option<String>(
        "key",
        .key,
        "submit only once under this key (default: compare with earlier jobs)",
        in: .submission
    )
    static let again = Switch("again", "submit all files, whatever earlier jobs did", in: .submission)
    static let check = Switch(
        "check",
        "compare outputs of earlier jobs with their SHA-256 digests, not only their sizes",
        in: .submission
    )
    static let probe = Switch(
        "probe",
        "with --dry-run: open each file and show the total duration",
        in: .general
    )
    static let label = Option<String>("label", .label, "a name for the batch: not a number", in: .submission)
    static let notify = Option<String>(
        "notify",
        .text.named("WEBHOOK").offering(.ledger(.notifiable)),
        "notify this webhook, by name or id, when the batch ends or many jobs fail",
        isRepeatable: true,
        in: .submission
    )
    static let wait = Switch(
        "wait",
        "wait until all jobs have ended, with the exit codes of \"sluice wait\"",
        in: .general
    )
    static let json = Switch("json", "print the result as one JSON line", in: .output)
    static let quiet = Switch("quiet", letter: "q", "print only the batch's id", in: .output)

    static let forms: [OptionForm] =
        [
            recursive.form, include.form, exclude.form, matchCase.form, filesFrom.form, null.form, strictNames.form,
            root.form, SubmitUploads.option.form,
        ]
        // In `submit`, -r means --recursive, so --rate has no letter; and --to names the destination.
        + FormatOptions.forms.map { $0.name == FormatOptions.rate.form.name ? $0.withoutLetter : $0 }
        + LoudnessOptions.forms + [LoudnessOptions.album.form]
        + SourceOptions.forms.filter { $0.name != SourceOptions.to.form.name }
        + EditOptions.forms
        + [
            SourceCuts.option.form, SubmitBooks.option.form, BookOptions.order.form, BookOptions.strict.form,
            BookOptions.copyPackets.form,
            RecipeTemplate.option.form, until.form, to.form, also.form,
            waveform.form, spectrogram.form,
        ] + WaveformOptions.forms + [
            SubmitConflict.option.form, SubmitAltered.option.form, SubmitCollision.option.form,
            SubmitCollision.portableNames.form,
            ConvertCommand.verify.form,
            ConvertCommand.strictLoss.form, ConvertCommand.noTags.form, TagFileOption.option.form,
            ConvertCommand.tag.form, CoverOption.option.form, CompanionFiles.option.form, queue.form, priority.form,
            weight.form,
            runAt.form, maxAttempts.form, libav.form, key.form, again.form, check.form, label.form,
            notify.form,
        ] + LedgerOptions.forms
        + [
            ProgressStyle.option.form, json.form, quiet.form, wait.form, WaitCommand.timeout.form,
            EndCommand.option.form, OutputFetching.option.form, Question.dryRun.form, probe.form,
        ]

    /// The properties that all jobs share. `now` is the ledger's time.
    static func submission(_ invocation: Invocation, key: String?, request: String?, now: Date) -> Submission {
        var submission = Submission(
            queue: invocation[queue],
            label: invocation[label],
            key: key,
            request: request,
            priority: Int32(invocation[priority]),
            weight: Int32(invocation[weight]),
            maxAttempts: invocation[maxAttempts],
            runAt: invocation[runAt].map { $0.future(from: now) }
        )
        submission.notify = invocation.all(notify)
        return submission
    }

    /// The option values that make a submission a different request.
    static func wishes(_ invocation: Invocation) -> [String] {
        [
            invocation[queue], "\(invocation[priority])", "\(invocation[weight])",
            invocation[maxAttempts].map { "\($0)" } ?? "", invocation[runAt].map { "\($0)" } ?? "",
        ] + invocation.all(notify)
    }

    /// Where the outputs go by the template of the user's tenant, if a coordinator serves the user, and neither `--to` nor
    /// a recipe says it.
    private static func servedTemplate(_ file: RecipeTemplate?, _ invocation: Invocation) throws -> String? {
        guard invocation[to] == nil, file == nil, try LedgerOptions.coordinator(invocation) != nil,
            let (tenant, limits) = try LedgerWork.run(invocation, { try await $0.ownLimits() }),
            let template = limits.destination
        else { return nil }
        do throws(StorageError) {
            return try TenantDestination(template).submitting(as: tenant, label: invocation[label])
        } catch {
            throw UsageError(
                "the destinations of tenant \(tenant.printable) are \(template.printable): \(error.detail.printable)",
                hint: "--label names the batch; --to names the outputs"
            )
        }
    }

    /// The outputs of each job: where `--to` and `--also` say, or where the recipe in `file` says, or the template of the
    /// user's tenant.
    static func outputs(
        from file: RecipeTemplate?,
        _ roots: PathRoots,
        _ invocation: Invocation
    ) throws -> [OutputTemplate] {
        guard
            let text = try invocation[to] ?? file?.recipe.outputs[0].location ?? servedTemplate(file, invocation)
        else {
            throw UsageError("--to is missing", hint: "as in --to out/{dir}/{stem}.mp3")
        }
        // `try?`: a template that is not a time is what --to should be.
        if invocation[SourceOptions.from] != nil, (try? MediaTime(parsing: text)) != nil {
            throw UsageError("--to \(text): --to names the outputs", hint: "--until \(text) is where the range ends")
        }
        let wanted = try file.flatMap { try $0.recipe.soundOutputs.first?.audioFormat() }
        let chosen = try PresetChoice.of(FormatOptions.preset, invocation)
        var first = try OutputTemplate("--to", text, roots, cuts: invocation[SourceCuts.option] != nil)
        first.preset = file?.recipe.outputs[0].presetName ?? chosen?.name
        let preset = wanted ?? chosen?.format
        try first.settleExtension(
            invocation[FormatOptions.container] ?? preset?.container,
            invocation[FormatOptions.codec] ?? preset?.codec
        )
        if let file, let wish = invocation.all(also).first {
            throw UsageError(
                "--also \(wish.location) and --recipe exclude each other",
                hint: "give \(file.name.printable) a further output instead"
            )
        }
        var all = [first]
        for wish in invocation.all(also) {
            var further = try OutputTemplate("--also", wish.location, roots)
            let preset = try wish.choice(invocation)
            further.preset = preset?.name
            try further.settleExtension(preset?.format.container, preset?.format.codec)
            all.append(further)
        }
        for output in (file?.recipe.outputs ?? []).dropFirst() {
            var further = try OutputTemplate("the output", output.location, roots)
            further.preset = output.presetName
            let format = output.waveform == nil ? try output.audioFormat() : nil
            try further.settleExtension(format?.container, format?.codec)
            all.append(further)
        }
        for wish in WaveformOptions.wishes(invocation) {
            var further = try OutputTemplate(wish.option, wish.text, roots)
            try further.settleExtension(nil, nil)
            all.append(further)
        }
        return all
    }

    /// The common part of all recipes, from `file` if that is not `nil`. The locations of the source and the outputs are
    /// examples, those of other sources are as the user gave them.
    static func recipe(
        to outputs: [OutputTemplate],
        from file: RecipeTemplate?,
        _ invocation: Invocation
    ) throws -> Recipe {
        var examples: [String] = []
        for output in outputs {
            do throws(StorageError) {
                let piece = DestinationTemplate.Piece(number: "1", title: nil)
                examples.append(try output.location(for: Location(exampleSource), piece: piece).description)
            } catch {
                throw UsageError("\(output.option) \(output.template.text): \(error.detail)")
            }
        }
        if let file {
            var recipe = try file.recipe(of: exampleSource, to: examples)
            try addWaveforms(to: &recipe, at: examples, invocation)
            try ConvertCommand.addWishes(to: &recipe, of: exampleSource, invocation)
            return recipe
        }
        let output = try FormatOptions.output(
            at: examples[0],
            onConflict: invocation[SubmitConflict.option].policy,
            invocation
        )
        var recipe = Recipe(
            from: try SourceOptions.source(at: exampleSource, ending: until, invocation),
            to: output
        )
        try FormatOptions.settlePreset(of: &recipe, invocation)
        try EditOptions.apply(to: &recipe, invocation)
        try SourceOptions.settleDamage(of: &recipe, invocation)
        try ConvertCommand.addWishes(to: &recipe, of: exampleSource, invocation)
        let further = zip(examples.dropFirst(), invocation.all(also)).map {
            OutputWish(location: $0, preset: $1.preset)
        }
        try FormatOptions.addOutputs(further, to: &recipe, invocation)
        try addWaveforms(to: &recipe, at: examples, invocation)
        return recipe
    }

    /// Adds an output for each `--waveform` and `--spectrogram`, whose places come last.
    private static func addWaveforms(
        to recipe: inout Recipe,
        at places: [String],
        _ invocation: Invocation
    ) throws(UsageError) {
        let wishes = WaveformOptions.wishes(invocation)
        try WaveformOptions.addOutputs(wishes, at: places.suffix(wishes.count), to: &recipe, invocation)
    }

    private static let exampleSource = "source:folder/name.wav"
}
