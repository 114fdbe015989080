import Console
import Conversion
import Storage

/// A waveform or a spectrogram that is made beside an output. The name may have fields of the source.
struct WaveformWish: Sendable, Hashable {
    /// The fields that a name may contain.
    enum Field: String, Sendable, Hashable, CaseIterable {
        case stem
        case sourceExt = "source-ext"
    }

    let kind: Recipe.Waveform.Kind
    /// As the user wrote it.
    let text: String
    /// Whether it shows the frequencies, and not the peaks.
    var isSpectrogram = false

    /// The option that the user gave, for messages.
    var option: String { (isSpectrogram ? WaveformOptions.spectrogram : WaveformOptions.waveform).form.word }

    private func name() throws(UsageError) -> FieldTemplate<Field> {
        do throws(FieldTemplate<Field>.Mistake) {
            return try FieldTemplate(parsing: text)
        } catch {
            throw UsageError("\(option) \(text): \(error.detail)")
        }
    }

    /// The location for `source`; `nil` if that is not exactly one file.
    func location(for source: String?) throws(UsageError) -> String {
        let name = try name()
        guard name.fields.isEmpty || source != nil else {
            throw UsageError(
                "\(option) \(text): its fields are those of a file, and here is not exactly one",
                hint: "write the name without fields"
            )
        }
        let file = source?.lastPathName ?? ""
        return name.parts.map { part in
            switch part {
            case .text(let text): text
            case .field(.stem): file.withoutExtension
            case .field(.sourceExt): file.ownExtension
            }
        }.joined()
    }
}

extension ValueType where Value == WaveformWish {
    /// `talk.dat`, `waves/{stem}.png`
    static let waveform = ValueType(placeholder: "TEMPLATE", completion: .files) { text throws(Misfit) in
        guard !text.isEmpty else { throw .empty }
        guard let kind = Recipe.Waveform.Kind(ofLocation: text) else {
            throw Misfit(why: "is not a waveform", hint: WaveformOptions.kindsHint)
        }
        return WaveformWish(kind: kind, text: text)
    }

    /// `talk.png`
    static let spectrogram = ValueType(placeholder: "TEMPLATE", completion: .files) { text throws(Misfit) in
        guard !text.isEmpty else { throw .empty }
        guard Recipe.Waveform.Kind(ofLocation: text) == .png else {
            throw Misfit(why: "is not a PNG", hint: "the extension of a spectrogram is .png")
        }
        return WaveformWish(kind: .png, text: text, isSpectrogram: true)
    }
}
