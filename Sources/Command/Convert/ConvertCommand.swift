import Console
import Conversion
import Storage

/// `sluice convert`: converts one file in the foreground, without a ledger.
enum ConvertCommand {
    static let input = Argument(name: "IN", summary: "the source; - is standard input", count: .optional)
    static let output = Argument(
        name: "OUT",
        summary: "the output; its extension selects the container. - is standard output, for WAV and raw",
        count: .optional
    )
    static let onConflict = SettledOption<Recipe.ConflictPolicy>(
        "on-conflict",
        .choice("WHAT") { $0.summary },
        fallback: "fail",
        "what to do if OUT exists",
        environment: "SLUICE_ON_CONFLICT",
        in: .destination
    )
    static let verify = Switch("verify", "decode the output and compare it with what was encoded", in: .destination)
    static let strictLoss = Switch(
        "strict-loss",
        "fail if the output would lose anything of the source",
        in: .destination
    )
    static let noTags = Switch(
        "no-tags",
        "leave out the source's tags, pictures and chapters; --tag still sets some",
        in: .destination
    )
    static let tag = Option<TagWish>(
        "tag",
        .tag,
        "set a tag, or several values; NAME= removes it; {dir}, {stem}: the source's",
        isRepeatable: true,
        in: .destination
    )
    static let explain = Switch(
        "explain",
        "if IN is refused, say which rule it broke, what it promised and what was found",
        in: .output
    )
    static let json = Switch("json", "print the result as one JSON line", in: .output)

    static let destinationForms = [
        onConflict.form, verify.form, strictLoss.form, noTags.form, TagFileOption.option.form, tag.form,
        CoverOption.option.form,
    ]

    static let value: Subcommand = Subcommand(
        name: "convert",
        summary: "convert an audio file",
        discussion: [
            "OUT appears only when it is complete. IN is never changed. A conversion that would give fewer "
                + "frames than planned fails.",
            "IN and OUT may be missing only with --recipe: a recipe names its sources and its output. If it has a source "
                + "{source}, IN takes its place. OUT replaces the first output. Paths in a recipe are relative to "
                + "the current folder.",
        ],
        arguments: [input, output],
        options: FormatOptions.forms + [FormatOptions.also.form] + LoudnessOptions.forms + SourceOptions.forms
            + EditOptions.forms
            + [RecipeTemplate.option.form] + destinationForms + [ChapterOption.option.form]
            + [WaveformOptions.waveform.form, WaveformOptions.spectrogram.form] + WaveformOptions.forms
            + [ProgressStyle.option.form, explain.form, json.form],
        examples: [
            Example(line: "sluice convert talk.wav talk.mp3 --preset podcast-mp3", purpose: "with a preset"),
            Example(line: "sluice convert talk.wav talk.flac --rate 48k --bits 24", purpose: "with single options"),
            Example(line: "sluice convert talk.wav talk.mp3 --loudness podcast", purpose: "as loud as podcasts are"),
            Example(
                line: "sluice convert talk.wav talk.flac --also talk.mp3:podcast-mp3 --also talk.opus",
                purpose: "three files from one read"
            ),
            Example(
                line: "sluice convert talk.wav talk.mp3 --waveform talk.dat",
                purpose: "with peaks for a web page"
            ),
            Example(line: "sluice convert talk.mp3 part.wav --from 1:00 --to 1:30", purpose: "only half a minute"),
            Example(
                line: "sluice convert talk.wav talk.mp3 --gain -3dB --fade-out 5s",
                purpose: "quieter, with a fade"
            ),
            Example(line: "sluice convert talk.m4a talk.wav --explain", purpose: "why a source is refused"),
            Example(line: "sluice convert --recipe show.json", purpose: "everything as the recipe says"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let words = invocation.words(input) + invocation.words(output)
        if let template = try RecipeTemplate(invocation) { return try convert(template, words, invocation, console) }
        guard words.count == 2 else {
            throw UsageError("\(words.isEmpty ? "IN" : "OUT") is missing", hint: "usage: sluice convert IN OUT")
        }
        let (input, output) = (words[0], words[1])
        let recipe = try recipe(from: input, to: output, invocation)
        let sources = [input] + recipe.sources.dropFirst().map(\.location)
        return try convert(recipe, words: sources, to: output, invocation, console)
    }

    /// Converts as a recipe says that the user has written. The options may only say more about the destination.
    private static func convert(
        _ template: RecipeTemplate,
        _ words: [String],
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        var recipe = try template.recipe(words: words)
        let (sources, output) = (recipe.sources.map(\.location), recipe.outputs[0].location)
        for index in sources.indices where sources[index] == "-" {
            recipe.sources[index].location = FileConversion.standardInput
        }
        if output == "-" { recipe.outputs[0].location = FileConversion.standardOutput }
        if invocation.origin(of: onConflict.form) != .fallback {
            for index in recipe.outputs.indices { recipe.outputs[index].onConflict = invocation[onConflict] }
        }
        try FormatOptions.addFurtherOutputs(to: &recipe, invocation)
        let only = recipe.soundSources.count == 1 && sources[0] != "-" ? sources[0] : nil
        try WaveformOptions.addWaveforms(to: &recipe, of: only, invocation)
        try settleDestination(&recipe, invocation)
        if output == "-" { try checkStream(recipe, invocation) }
        return try convert(recipe, words: sources, to: output, invocation, console)
    }

    /// Carries out `recipe`, whose sources the user called `words`.
    static func convert(
        _ recipe: Recipe,
        words: [String],
        to output: String,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        let job = try job(recipe, words: words, to: output, invocation)
        let (recipe, outputs, sounds) = (job.recipe, job.outputs, job.recipe.soundSources.count)
        let display = ProgressDisplay(
            invocation[ProgressStyle.option],
            title: output == "-" ? "standard output" : output,
            from: recipe.timeline == nil ? recipe.sources[0].ranges.first?.start ?? .zero : .zero,
            outlet: console.talk
        )
        let others = sounds < 2 ? "" : " and \(Figures.count(sounds - 1, "other file"))"
        let page = ConvertPage(
            input: words[0] + others,
            outputs: outputs,
            recipe: recipe,
            invocation: invocation,
            console: console
        )
        // The audio itself goes to standard output if the user asked for that.
        let ending = job.run(showing: display, warn: console.warn, surrender: page.surrender)
        return try page.show(ending, asJSON: invocation[json])
    }

    /// The work of `convert`, before anything is opened.
    static func job(
        _ recipe: Recipe,
        words: [String],
        to output: String,
        _ invocation: Invocation
    ) throws -> FileConversion {
        var recipe = recipe
        try ChapterOption.add(to: &recipe, invocation)
        let outputs = [output] + recipe.outputs.dropFirst().map(\.location)
        // Options may have added or replaced sources without sound.
        let sounds = recipe.soundSources.count
        let inputs = Array(words.prefix(sounds)) + recipe.sources.dropFirst(sounds).map(\.location)
        return FileConversion(recipe: recipe, inputs: inputs, outputs: outputs)
    }

    static func recipe(from input: String, to output: String, _ invocation: Invocation) throws -> Recipe {
        let isStream = output == "-"
        // A name with an extension may be meant as a file; opening it will fail if it is a folder.
        if !isStream, !(output.lastPathName ?? "").dropFirst().contains("."),
            FileFacts.of(path: output, followingLinks: true)?.kind == .folder
        {
            let name = output.hasSuffix("/") ? output : output + "/"
            throw UsageError("\(output) is a folder", hint: "give the name of a file, as in \(name)talk.flac")
        }
        let source = try SourceOptions.source(at: input == "-" ? FileConversion.standardInput : input, invocation)
        let wanted = try FormatOptions.output(
            at: isStream ? FileConversion.standardOutput : output,
            onConflict: invocation[onConflict],
            invocation
        )
        var recipe = Recipe(from: source, to: wanted)
        try FormatOptions.settlePreset(of: &recipe, invocation)
        try EditOptions.apply(to: &recipe, invocation)
        try FormatOptions.addFurtherOutputs(to: &recipe, invocation)
        try WaveformOptions.addWaveforms(to: &recipe, of: input == "-" ? nil : input, invocation)
        try settle(&recipe, invocation)
        if isStream { try checkStream(recipe, invocation) }
        return recipe
    }

    /// Sets what the options say about damage and the destination, and checks the recipe.
    static func settle(_ recipe: inout Recipe, _ invocation: Invocation) throws {
        try SourceOptions.settleDamage(of: &recipe, invocation)
        try settleDestination(&recipe, invocation)
    }

    /// Adds what the options say about the destination, and checks the recipe.
    private static func settleDestination(_ recipe: inout Recipe, _ invocation: Invocation) throws {
        let sources = Set(recipe.soundSources.map(\.location)).subtracting(["-"])
        try addWishes(to: &recipe, of: sources.count == 1 ? sources.first : nil, invocation)
        let outputs = recipe.outputs
        // The same name for both is detected when the files are opened, like two names of one file.
        if recipe.sources.contains(where: { source in outputs.contains { $0.location == source.location } }) { return }
        do throws(RecipeError) {
            try recipe.validate()
        } catch {
            throw UsageError(ofEdit: error) ?? UsageError(error, in: recipe)
        }
    }

    /// Adds what the options of `convert` and `submit` say about all outputs.
    static func addWishes(to recipe: inout Recipe, of source: String?, _ invocation: Invocation) throws {
        recipe.verify = recipe.verify || invocation[verify]
        recipe.strictLoss = recipe.strictLoss || invocation[strictLoss]
        recipe.dropTags = recipe.dropTags || invocation[noTags]
        try CoverOption.add(to: &recipe, invocation)
        try TagFileOption.add(to: &recipe, invocation)
        // A file that is given directly has no {dir}.
        let name = source?.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
        recipe.tags.set(
            try invocation.all(tag).map { wish in
                guard !wish.hasFields || source != nil else {
                    throw UsageError(
                        "--tag \(wish.name): its fields are those of a file, and here is not exactly one",
                        hint: "write the value without fields"
                    )
                }
                return (wish.name, wish.value(for: name ?? ""))
            }
        )
    }

    /// Rejects what a stream cannot do: standard output is not seekable.
    private static func checkStream(_ recipe: Recipe, _ invocation: Invocation) throws(UsageError) {
        let output = recipe.outputs[0]
        guard recipe.outputs.count == 1 else {
            throw UsageError("standard output can only be the only output", hint: "write to files")
        }
        let format: AudioFormat
        do throws(RecipeError) {
            format = try output.audioFormat()
        } catch {
            throw UsageError(error, for: output)
        }
        let codec = format.codec ?? FormatTable.defaultCodec(for: format.container)
        guard [.wav, .raw].contains(format.container), [.pcm, .ulaw, .alaw].contains(codec) else {
            throw UsageError(
                "\(format.container.title) cannot be written to standard output: "
                    + "its header is completed at the end, which needs a file",
                hint: "write to a file, or use --container wav or --container raw"
            )
        }
        if invocation[verify] {
            throw UsageError("--verify needs an output file: standard output cannot be read again")
        }
        if invocation[json] {
            throw UsageError("--json and the audio cannot both go to standard output", hint: "write to a file")
        }
    }
}

extension Recipe.ConflictPolicy {
    var summary: String {
        switch self {
        case .fail: "fail and change nothing"
        case .replace: "replace the existing file"
        case .skip: "leave the existing file and succeed"
        }
    }
}
