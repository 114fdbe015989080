import Console
import Conversion
import Storage

/// A further output of the same decode, and the preset that it is made with.
struct OutputWish: Sendable, Hashable {
    let location: String
    let preset: PresetReference?

    /// The preset, looked up; `nil` if the user named none.
    func choice(_ invocation: Invocation) throws -> PresetChoice? {
        guard let preset else { return nil }
        return try PresetChoice.find(preset, invocation) { misfit in
            UsageError(
                "\(FormatOptions.also.form.word) \(location):\(preset): ends with \"\(preset)\", which \(misfit.why)",
                hint: misfit.hint
            )
        }
    }
}

extension ValueType where Value == OutputWish {
    /// `talk.mp3`, `talk.mp3:podcast-mp3`
    static let output = ValueType(placeholder: "FILE[:PRESET]", completion: .files) { text throws(Misfit) in
        guard !text.isEmpty else { throw .empty }
        guard text != "-" else {
            throw Misfit(why: "is standard output, which can only be the only output", hint: "name a file")
        }
        // A colon may also be part of a name: only what stands behind an extension is meant as a preset.
        guard let colon = text.lastIndex(of: ":"), let last = String(text[..<colon]).lastPathName,
            let point = last.lastIndex(of: "."), isExtension(String(last[last.index(after: point)...]))
        else { return OutputWish(location: text, preset: nil) }
        let name = String(text[text.index(after: colon)...])
        guard let preset = PresetReference(name) else {
            throw Misfit(why: "ends with \"\(name)\", which is not a preset", hint: Misfit.presetsHint)
        }
        return OutputWish(location: String(text[..<colon]), preset: preset)
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
    /// not for one with a preset of its own. Of a preset, what it says about its output and its tags hold, unless an
    /// option sets the same loudness or tag.
    static func addFurtherOutputs(to recipe: inout Recipe, _ invocation: Invocation) throws {
        try addOutputs(invocation.all(also), to: &recipe, invocation)
    }

    /// The same for outputs that another option names.
    static func addOutputs(
        _ wishes: [OutputWish],
        to recipe: inout Recipe,
        _ invocation: Invocation
    ) throws {
        for wish in wishes {
            let first = recipe.outputs[0]
            let chosen = try wish.choice(invocation)
            var output =
                chosen?.output(at: wish.location, onConflict: first.onConflict)
                ?? Recipe.Output(location: wish.location, onConflict: first.onConflict)
            // All outputs have the same. A preset of this one that says something else is refused, unless an option decides.
            output.loudness = try LoudnessOptions.goal(invocation) ?? output.loudness ?? first.loudness
            output.replayGain = try LoudnessOptions.scope(invocation) ?? output.replayGain ?? first.replayGain
            if let own = chosen?.own {
                let wished = Set(invocation.all(ConvertCommand.tag).map(\.name))
                output.tags = own.recipe.tags.filter { !wished.contains($0.key) }
            }
            if chosen == nil {
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
