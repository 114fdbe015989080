import Console
import Conversion

/// The options that describe the format of an output.
enum FormatOptions {
    static let preset = Option<PresetReference>(
        "preset",
        letter: "p",
        .preset,
        "a preset; \"sluice presets\" lists them",
        environment: "SLUICE_PRESET",
        in: .format
    )
    static let container = Option<Container>(
        "container",
        .choice("KIND") { $0.title },
        "the container, if not that of the output's extension",
        in: .format
    )
    static let codec = Option<Codec>(
        "codec",
        letter: "c",
        .choice("CODEC") { $0.title },
        "the codec; copy keeps the source's packets unchanged",
        in: .format
    )
    static let rate = Option<Int>(
        "rate",
        .thousands(in: 1...16_777_215, example: "44100 or 44.1k").named("HZ"),
        "sample rate in frames per second",
        in: .format
    )
    static let channels = Option<Int>(
        "channels",
        .whole(in: 1...64),
        "number of channels; mixed if necessary",
        in: .format
    )
    static let layout = Option<ChannelLayout>("layout", .layout, "channel layout: mono, stereo, 5.1, ...", in: .format)
    static let bits = Option<Int>("bits", .whole(of: [8, 16, 24, 32, 64]), "bits per sample", in: .format)
    static let float = Switch("float", "store floating-point samples", in: .format)
    static let dither = Option<Dither>(
        "dither",
        .choice("KIND"),
        "noise for fewer bits: none, tpdf, or shaped at 44.1 and 48 kHz (default: tpdf)",
        in: .format
    )
    static let resample = Option<ResampleQuality>(
        "resample",
        .choice("QUALITY"),
        "how exactly the sample rate is converted (default: default)",
        in: .format
    )
    static let endian = Option<Endianness>("endian", .choice("ORDER"), "byte order", in: .format)
    static let bitRate = Option<Int>(
        "bit-rate",
        letter: "b",
        .thousands(in: 500...20_000_000, example: "128k").named("RATE"),
        "bit rate in bits per second, as in 128k",
        in: .format
    )
    static let quality = Option<Double>(
        "quality",
        .number,
        "variable bit rate: MP3 0 (best) to 9, Vorbis -1 to 10 (best)",
        in: .format
    )

    static let forms: [OptionForm] = [
        preset.form, container.form, codec.form, rate.form, channels.form, layout.form, bits.form, float.form,
        dither.form, resample.form, endian.form, bitRate.form, quality.form,
    ]

    /// The output at `location`, as the options describe it.
    static func output(
        at location: String,
        onConflict: Recipe.ConflictPolicy,
        _ invocation: Invocation
    ) throws -> Recipe.Output {
        let chosen = try PresetChoice.of(preset, invocation)
        return try output(at: location, onConflict: onConflict, from: chosen, invocation)
    }

    /// The same with a preset that another option names.
    static func output(
        at location: String,
        onConflict: Recipe.ConflictPolicy,
        from chosen: PresetChoice?,
        _ invocation: Invocation
    ) throws(UsageError) -> Recipe.Output {
        var output =
            chosen?.output(at: location, onConflict: onConflict)
            ?? Recipe.Output(location: location, onConflict: onConflict)
        if let goal = try LoudnessOptions.goal(invocation) { output.loudness = goal }
        if let scope = try LoudnessOptions.scope(invocation) { output.replayGain = scope }
        if let spec = invocation[LoudnessOptions.spec] { output.spec = spec }
        let isWished = forms.contains { $0.name != preset.form.name && invocation.origin(of: $0) != nil }
        guard isWished else { return output }
        let wishes = AudioFormat(
            container: try kind(of: output, invocation),
            codec: invocation[codec],
            sampleRateHz: invocation[rate],
            channelCount: invocation[channels],
            layout: invocation[layout],
            bitDepth: invocation[bits],
            sampleKind: invocation[float] ? .float : nil,
            dither: invocation[dither],
            resample: invocation[resample],
            endianness: invocation[endian],
            bitRate: invocation[bitRate],
            quality: invocation[quality]
        )
        // The format of a preset that users made stands in the output, and is changed field by field.
        output.format = chosen?.own == nil ? wishes : output.format?.overridden(by: wishes)
        return output
    }

    /// Adds what the preset says about all of a conversion. The options come later, and replace it.
    static func settlePreset(of recipe: inout Recipe, _ invocation: Invocation) throws {
        try PresetChoice.of(preset, invocation)?.own?.settle(&recipe)
    }

    private static func kind(of output: Recipe.Output, _ invocation: Invocation) throws(UsageError) -> Container {
        if let asked = invocation[container] { return asked }
        do throws(RecipeError) {
            return try output.audioFormat().container
        } catch {
            throw UsageError(error, for: output)
        }
    }

    /// The option that set a refused field, as the user typed it: `depth` 12 is `--bits 12`; `nil` if no option set
    /// it.
    static func wish(for field: String, value: String, _ invocation: Invocation) -> String? {
        let forms = [
            "codec": codec.form, "rate": rate.form, "channels": channels.form, "layout": layout.form,
            "depth": bits.form, "kind": float.form, "dither": dither.form, "resample": resample.form,
            "endian": endian.form,
            "bitrate": bitRate.form,
            "quality": quality.form,
        ]
        guard let form = forms[field], invocation.origin(of: form) != nil else { return nil }
        return form.isSwitch ? form.word : "\(form.word) \(value)"
    }
}

extension UsageError {
    /// An error in one of the outputs of a recipe, or in what concerns all of them.
    init(_ error: RecipeError, in recipe: Recipe) {
        let index = recipe.outputs.indices.first { error.path.hasPrefix("recipe.outputs[\($0)]") }
        self.init(error, for: recipe.outputs[index ?? 0])
    }

    /// An error in a recipe, in terms of the command's options.
    init(_ error: RecipeError, for output: Recipe.Output) {
        let isStream = output.location == FileConversion.standardOutput
        let name = isStream ? "standard output" : output.location
        switch error.path.split(separator: ".").last {
        case "format" where error.code == .missingField && isStream:
            self.init(
                "no container given for standard output",
                hint: "use --container wav or --container raw"
            )
        case "format" where error.code == .missingField && ReadableFormats.isReadOnly(path: name):
            self.init(
                "\(name): files of this kind can be read, but not written",
                hint: "choose another extension, such as .flac; \"sluice formats\" lists what can be written"
            )
        case "format" where error.code == .missingField:
            self.init(
                "\(name): unknown extension",
                hint: "use --container, as in --container flac; \"sluice formats\" lists them"
            )
        case "location":
            self.init(
                "\(name): \(error.reason)",
                hint: "rename the output, or omit --container"
            )
        case "from", "to":
            self.init("--from and --to: \(error.reason)")
        case "loudness":
            self.init("--loudness: \(error.reason)")
        case "width", "height":
            self.init("--picture-size: \(error.reason)")
        case "replayGain":
            self.init("--replaygain: \(error.reason)")
        case "ranges":
            self.init("--from and --to: \(error.reason)", hint: "use --codec, as in --codec flac")
        default:
            self.init(error.description)
        }
    }
}
