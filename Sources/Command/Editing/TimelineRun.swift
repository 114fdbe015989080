import Console
import Conversion

/// Converts a timeline that a command has made into one output, in the foreground.
struct TimelineRun {
    let sources: [Recipe.Source]
    let timeline: Timeline
    /// Whether each source without chapters is one.
    var marksSources = false
    /// Whether packets are copied where they can be joined.
    var copiesPackets = false
    /// The chapters of the output, and the picture that is its cover if it can store one. Options replace both.
    var chapters: [Recipe.Chapter] = []
    var cover: String?

    static let output = Argument(name: "OUT", summary: "the output; its extension selects the container")

    /// The options that all such commands have.
    static let forms =
        [FormatOptions.also.form] + LoudnessOptions.forms + [
            SourceOptions.onDamage.form, SourceOptions.concealLimit.form,
        ]
        + ConvertCommand.destinationForms + [ChapterOption.option.form]
        + [WaveformOptions.waveform.form, WaveformOptions.spectrogram.form] + WaveformOptions.forms
        + [ProgressStyle.option.form, ConvertCommand.json.form]

    func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let recipe = try recipe(invocation)
        let output = invocation.word(Self.output)
        return try ConvertCommand.convert(recipe, words: sources.map(\.location), to: output, invocation, console)
    }

    /// The recipe of what `run` converts. Throws a `UsageError` if it is invalid.
    func recipe(_ invocation: Invocation) throws -> Recipe {
        let wanted = try FormatOptions.output(
            at: invocation.word(Self.output),
            onConflict: invocation[ConvertCommand.onConflict],
            invocation
        )
        var recipe = Recipe(sources: sources, outputs: [wanted], timeline: timeline)
        recipe.markSources = marksSources
        recipe.copyPackets = copiesPackets
        try FormatOptions.settlePreset(of: &recipe, invocation)
        try FormatOptions.addFurtherOutputs(to: &recipe, invocation)
        try WaveformOptions.addWaveforms(to: &recipe, of: nil, invocation)
        if !invocation[ConvertCommand.noTags] {
            recipe.chapters = chapters
            if let cover, recipe.holdsCover { recipe.sources.append(.init(location: cover, use: .cover)) }
        }
        try ConvertCommand.settle(&recipe, invocation)
        return recipe
    }
}
