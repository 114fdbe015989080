import Console
import Conversion
import FoundationEssentials
import Ledger
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
        .text.named("NAME=PATH"),
        "jobs refer to the folder PATH of this machine as NAME:",
        isRepeatable: true,
        in: .source
    )
    static let until = Option<MediaTime>("until", .time, "end at this time of the source", in: .source)
    static let to = Option<String>(
        "to",
        .text.named("TEMPLATE"),
        "the path of outputs, as in out:{dir}/{stem}.mp3 (required)",
        in: .destination
    )
    static let queue = SettledOption<String>(
        "queue",
        .text.named("NAME").offering(.ledger(.queues)),
        fallback: "default",
        "the queue; created if necessary",
        in: .submission
    )
    static let priority = SettledOption<Int>(
        "priority",
        .whole(in: -100...100),
        fallback: "0",
        "the priority of the jobs; higher goes first",
        in: .submission
    )
    static let weight = SettledOption<Int>(
        "weight",
        .whole(in: 1...10_000),
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
        .whole(in: 1...100),
        "maximum number of attempts per job",
        in: .submission
    )
    static let key = Option<String>(
        "key",
        .text,
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
    static let label = Option<String>("label", .text, "a name for the batch", in: .submission)
    static let wait = Switch(
        "wait",
        "wait until all jobs have ended, with the exit codes of \"sluice wait\"",
        in: .general
    )
    static let json = Switch("json", "print the result as one JSON line", in: .output)
    static let quiet = Switch("quiet", letter: "q", "print only the batch's id", in: .output)

    static let forms: [OptionForm] =
        [recursive.form, include.form, exclude.form, filesFrom.form, null.form, strictNames.form, root.form]
        // In `submit`, -r means --recursive, so --rate has no letter; and --to names the destination.
        + FormatOptions.forms.map { $0.name == FormatOptions.rate.form.name ? $0.withoutLetter : $0 }
        + LoudnessOptions.forms + SourceOptions.forms.filter { $0.name != SourceOptions.to.form.name }
        + EditOptions.forms
        + [
            RecipeTemplate.option.form, until.form, to.form, SubmitConflict.option.form, ConvertCommand.verify.form,
            ConvertCommand.strictLoss.form, ConvertCommand.tag.form, queue.form, priority.form, weight.form,
            runAt.form, maxAttempts.form, key.form, again.form, check.form, label.form,
        ] + LedgerOptions.forms
        + [
            ProgressStyle.option.form, json.form, quiet.form, wait.form, Question.dryRun.form, probe.form,
        ]

    /// The properties that all jobs share. `now` is the ledger's time.
    static func submission(_ invocation: Invocation, key: String?, request: String?, now: Date) -> Submission {
        Submission(
            queue: invocation[queue],
            label: invocation[label],
            key: key,
            request: request,
            priority: Int32(invocation[priority]),
            weight: Int32(invocation[weight]),
            maxAttempts: invocation[maxAttempts],
            runAt: invocation[runAt].map { $0.future(from: now) }
        )
    }

    /// The option values that make a submission a different request.
    static func wishes(_ invocation: Invocation) -> [String] {
        [
            invocation[queue], "\(invocation[priority])", "\(invocation[weight])",
            invocation[maxAttempts].map { "\($0)" } ?? "", invocation[runAt].map { "\($0)" } ?? "",
        ]
    }

    /// The common part of all recipes, from `file` if that is not `nil`. The locations of the source and the output are
    /// examples, those of other sources are as the user gave them.
    static func recipe(
        to template: DestinationTemplate,
        ext: String?,
        from file: RecipeTemplate?,
        _ invocation: Invocation
    ) throws -> Recipe {
        let example: Location
        do throws(StorageError) {
            example = try template.location(
                for: Location(exampleSource),
                ext: ext ?? "ext",
                preset: file?.recipe.outputs[0].preset ?? invocation[FormatOptions.preset]?.name,
                id: 1
            )
        } catch {
            throw UsageError("--to \(template.text): \(error.detail)")
        }
        if let file {
            var recipe = try file.recipe(of: exampleSource, to: example.description)
            ConvertCommand.addWishes(to: &recipe, invocation)
            return recipe
        }
        let output = try FormatOptions.output(
            at: example.description,
            onConflict: invocation[SubmitConflict.option].policy,
            invocation
        )
        var recipe = Recipe(
            from: try SourceOptions.source(at: exampleSource, ending: until, invocation),
            to: output
        )
        try EditOptions.apply(to: &recipe, invocation)
        try SourceOptions.settleDamage(of: &recipe, invocation)
        ConvertCommand.addWishes(to: &recipe, invocation)
        return recipe
    }

    private static let exampleSource = "source:folder/name.wav"

    /// The value of `{ext}`; `nil` if the template does not use it.
    static func fileExtension(
        for template: DestinationTemplate,
        from file: RecipeTemplate? = nil,
        _ invocation: Invocation
    ) throws -> String? {
        guard template.fields.contains(.ext) else { return nil }
        let wanted = try file?.recipe.outputs[0].audioFormat()
        let preset = wanted ?? invocation[FormatOptions.preset]?.format
        guard let container = invocation[FormatOptions.container] ?? preset?.container else {
            throw UsageError(
                "--to \(template.text): the value of {ext} is unknown",
                hint: "use --preset or --container"
            )
        }
        // Ogg files with Opus use the extension .opus.
        let isOpus = container == .ogg && (invocation[FormatOptions.codec] ?? preset?.codec) == .opus
        return isOpus ? "opus" : container.fileExtensions.first
    }
}
