import Console
import Conversion
import Storage

/// A further output of the same decode, and the preset that it is made with.
struct OutputWish: Sendable, Hashable {
    let location: String
    let preset: Preset?
}

extension ValueType where Value == OutputWish {
    /// `talk.mp3`, `talk.mp3:podcast-mp3`
    static let output = ValueType(placeholder: "FILE[:PRESET]", completion: .files) { text throws(Misfit) in
        guard !text.isEmpty else { throw .empty }
        guard text != "-" else {
            throw Misfit(why: "is standard output, which can only be the only output", hint: "name a file")
        }
        // A colon may also be part of a name: only what stands behind an extension is meant as a preset.
        guard let colon = text.lastIndex(of: ":"), let last = text[..<colon].pathNames.last,
            let point = last.lastIndex(of: "."), isExtension(String(last[last.index(after: point)...]))
        else { return OutputWish(location: text, preset: nil) }
        let name = String(text[text.index(after: colon)...])
        do throws(UnknownPreset) {
            return OutputWish(location: String(text[..<colon]), preset: try Preset.named(name))
        } catch {
            let meant = error.suggestions.map { "\"\($0)\"" }
            throw Misfit(
                why: "ends with \"\(name)\", which is not a preset" + meant.question,
                hint: meant.isEmpty ? "\"sluice presets\" lists them" : nil
            )
        }
    }

    /// In `submit` a field may stand for the extension.
    private static func isExtension(_ text: String) -> Bool {
        Container.forFileExtension(text) != nil || text == "{ext}"
    }
}

extension FormatOptions {
    static let also = Option<OutputWish>(
        "also",
        .output,
        "write this file too, from the same decoded sound",
        isRepeatable: true,
        in: .destination
    )

    /// Adds an output for each `--also`. Of the format options only those about rate and channels hold for them, and
    /// not for one with a preset of its own.
    static func addFurtherOutputs(to recipe: inout Recipe, _ invocation: Invocation) throws(UsageError) {
        try addOutputs(invocation.all(also), to: &recipe, invocation)
    }

    /// The same for outputs that another option names.
    static func addOutputs(
        _ wishes: [OutputWish],
        to recipe: inout Recipe,
        _ invocation: Invocation
    ) throws(UsageError) {
        for wish in wishes {
            let first = recipe.outputs[0]
            var output = Recipe.Output(
                location: wish.location,
                preset: wish.preset?.name,
                onConflict: first.onConflict,
                loudness: first.loudness,
                replayGain: first.replayGain
            )
            if wish.preset == nil {
                do throws(RecipeError) {
                    var format = AudioFormat(container: try output.audioFormat().container)
                    (format.sampleRateHz, format.resample) = (invocation[rate], invocation[resample])
                    (format.channelCount, format.layout) = (invocation[channels], invocation[layout])
                    if format != AudioFormat(container: format.container) { output.format = format }
                } catch {
                    throw UsageError(error, for: output)
                }
            }
            recipe.outputs.append(output)
        }
    }
}
