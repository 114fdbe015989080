import Console
import Conversion

/// `sluice waveform`: writes the peaks of a file, as data or as a picture.
enum WaveformCommand {
    private static let input = Argument(name: "IN", summary: "the source; - is standard input")
    private static let output = Argument(
        name: "OUT",
        summary: "the waveform; its extension says which kind: .dat, .json, .svg or .png",
        count: .optional
    )

    static let value: Subcommand = Subcommand(
        name: "waveform",
        summary: "write the waveform of a file, as data or as a picture",
        discussion: [
            ".dat and .json are the data that the BBC's audiowaveform writes, in version 2 of its format, and that "
                + "peaks.js and others read: the least and the greatest sample of every --zoom frames. "
                + ".svg and .png are pictures.",
            "OUT appears only when it is complete. To have it beside a conversion, from the same decoded sound, use "
                + "\"sluice convert --waveform\".",
            "--spectrogram writes a picture of the frequencies over time, from the same decoded sound. "
                + "OUT may then be missing.",
        ],
        arguments: [input, output],
        options: SourceOptions.forms + [WaveformOptions.spectrogram.form] + WaveformOptions.forms
            + [ConvertCommand.onConflict.form]
            + [ProgressStyle.option.form, ConvertCommand.json.form],
        examples: [
            Example(line: "sluice waveform talk.wav talk.dat", purpose: "data for a player in a web page"),
            Example(line: "sluice waveform talk.flac talk.json --zoom 512", purpose: "coarser, as JSON"),
            Example(
                line: "sluice waveform song.mp3 song.png --picture-size 1600x240 --theme dark",
                purpose: "a picture"
            ),
            Example(
                line: "sluice waveform song.mp3 --spectrogram '{stem}.png'",
                purpose: "the frequencies over time"
            ),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let input = invocation.word(Self.input)
        let recipe = try recipe(from: input, to: invocation.words(Self.output).first, invocation)
        let output = recipe.outputs[0].location
        return try ConvertCommand.convert(recipe, words: [input], to: output, invocation, console)
    }

    static func recipe(from input: String, to output: String?, _ invocation: Invocation) throws(UsageError) -> Recipe {
        let further = invocation.all(WaveformOptions.spectrogram)
        var (wishes, places): ([WaveformWish], [String]) = ([], [])
        if let output {
            guard let kind = Recipe.Waveform.Kind(ofLocation: output) else {
                throw UsageError("\(output) does not have the extension of a waveform", hint: WaveformOptions.kindsHint)
            }
            wishes.append(WaveformWish(kind: kind, text: output))
            places.append(output)
        } else if further.isEmpty {
            throw UsageError("OUT is missing", hint: "usage: sluice waveform IN OUT")
        }
        for wish in further { places.append(try wish.location(for: input == "-" ? nil : input)) }
        wishes += further
        let source = try SourceOptions.source(at: input == "-" ? FileConversion.standardInput : input, invocation)
        let settings = try WaveformOptions.settings(for: wishes, invocation)
        let outputs = zip(places, settings).map { place, settings in
            Recipe.Output(location: place, waveform: settings, onConflict: invocation[ConvertCommand.onConflict])
        }
        var recipe = Recipe(sources: [source], outputs: outputs)
        try SourceOptions.settleDamage(of: &recipe, invocation)
        // The same name for both is detected when the files are opened, like two names of one file.
        if places.contains(input) { return recipe }
        do throws(RecipeError) {
            try recipe.validate()
        } catch {
            throw UsageError(error, in: recipe)
        }
        return recipe
    }
}
