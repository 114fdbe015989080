import Console
import Conversion

/// The options that describe waveforms.
enum WaveformOptions {
    static let waveform = Option<WaveformWish>(
        "waveform",
        .waveform,
        "write the waveform too: .dat, .json, .svg or .png; {stem} is the source's",
        isRepeatable: true,
        in: .destination
    )
    static let spectrogram = Option<WaveformWish>(
        "spectrogram",
        .spectrogram,
        "write the frequencies over time too, as a picture: .png",
        isRepeatable: true,
        in: .destination
    )
    static let zoom = Option<Int>(
        "zoom",
        .whole(in: Recipe.Waveform.zooms),
        "frames for each pair of peaks in .dat and .json (default: 256)",
        in: .destination
    )
    static let bits = Option<Int>(
        "peak-bits",
        .whole(of: [8, 16]),
        "bits of each peak in .dat and .json (default: 8)",
        in: .destination
    )
    static let split = Switch(
        "split-channels",
        "show each channel, and not the mean of all",
        in: .destination
    )
    static let size = Option<PictureSize>(
        "picture-size",
        .pictureSize,
        "size of pictures (default: 1200x200; of spectrograms 1200x400)",
        in: .destination
    )
    static let theme = Option<Recipe.Waveform.Theme>(
        "theme",
        .choice("THEME") { $0.summary },
        "colours of a picture (default: light)",
        in: .destination
    )
    static let frequencies = Option<Recipe.Waveform.FrequencyScale>(
        "frequencies",
        .choice("SCALE") { $0.summary },
        "how a spectrogram arranges frequencies (default: mel)",
        in: .destination
    )

    /// How waveforms and spectrograms look.
    static let forms: [OptionForm] = [zoom.form, bits.form, split.form, size.form, theme.form, frequencies.form]

    /// What the user wants beside the output.
    static func wishes(_ invocation: Invocation) -> [WaveformWish] {
        invocation.all(waveform) + invocation.all(spectrogram)
    }

    static let kindsHint = "the extension says which kind: .dat and .json are data, .svg and .png pictures"

    /// What the options say about these waveforms, for each of them.
    ///
    /// Throws for an option that concerns none of them.
    static func settings(
        for wishes: [WaveformWish],
        _ invocation: Invocation
    ) throws(UsageError) -> [Recipe.Waveform] {
        let ofData = [zoom.form, bits.form].first { invocation.origin(of: $0) != nil }
        if let form = ofData, !wishes.contains(where: { !$0.kind.isPicture }) {
            throw UsageError("\(form.word) is for .dat and .json", hint: wishes.isEmpty ? "add --waveform" : nil)
        }
        let ofPictures = [size.form, theme.form].first { invocation.origin(of: $0) != nil }
        if let form = ofPictures, !wishes.contains(where: \.kind.isPicture) {
            throw UsageError("\(form.word) is for pictures", hint: wishes.isEmpty ? "add --waveform" : "as in talk.svg")
        }
        if invocation.origin(of: frequencies.form) != nil, !wishes.contains(where: \.isSpectrogram) {
            throw UsageError("\(frequencies.form.word) is for spectrograms", hint: "add --spectrogram")
        }
        if wishes.isEmpty, invocation[split] {
            throw UsageError("\(split.form.word) is for waveforms", hint: "add --waveform")
        }
        return wishes.map { wish in
            var settings = Recipe.Waveform(splitsChannels: invocation[split])
            if wish.kind.isPicture {
                let size = invocation[Self.size]
                (settings.width, settings.height) = (size?.width, size?.height)
                settings.theme = invocation[theme]
                if wish.isSpectrogram { settings.spectrogram = invocation[frequencies] ?? .mel }
            } else {
                (settings.samplesPerPixel, settings.bits) = (invocation[zoom], invocation[bits])
            }
            return settings
        }
    }

    /// Adds an output for each `--waveform` and `--spectrogram`. `source` gives the fields of their names; `nil` if it is not
    /// exactly one file.
    static func addWaveforms(to recipe: inout Recipe, of source: String?, _ invocation: Invocation) throws(UsageError) {
        let wishes = wishes(invocation)
        var places: [String] = []
        for wish in wishes { places.append(try wish.location(for: source)) }
        try addOutputs(wishes, at: places, to: &recipe, invocation)
    }

    /// Adds an output for each wish, at the place that belongs to it.
    static func addOutputs(
        _ wishes: [WaveformWish],
        at places: [String],
        to recipe: inout Recipe,
        _ invocation: Invocation
    ) throws(UsageError) {
        let all = try settings(for: wishes, invocation)
        for (place, settings) in zip(places, all) {
            let output = Recipe.Output(
                location: place,
                waveform: settings,
                onConflict: recipe.outputs[0].onConflict
            )
            recipe.outputs.append(output)
        }
    }
}

extension Recipe.Waveform.Theme {
    fileprivate var summary: String {
        switch self {
        case .light: "on white"
        case .dark: "on nearly black"
        case .transparent: "without a background, for light and dark pages"
        }
    }
}

extension Recipe.Waveform.FrequencyScale {
    fileprivate var summary: String {
        switch self {
        case .mel: "as people hear: low ones far apart"
        case .linear: "all equally far apart"
        }
    }
}
