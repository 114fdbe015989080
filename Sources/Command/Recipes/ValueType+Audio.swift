import Console
import Conversion
import Storage

extension ValueType where Value == MediaTime {
    static let time = ValueType(placeholder: "TIME") { text throws(Misfit) in
        do throws(MediaTime.ParsingError) {
            return try MediaTime(parsing: text)
        } catch {
            throw Misfit(
                why: "is not a time: \(error.detail)",
                hint: "a time is \(MediaTime.ParsingError.allowedForms)"
            )
        }
    }
}

extension ValueType where Value == ChannelLayout {
    static let layout = ValueType(
        placeholder: "LAYOUT",
        completion: .words(ChannelLayout.named.map { Completion.Candidate(word: $0.name) })
    ) { text throws(Misfit) in
        if let layout = ChannelLayout(text) { return layout }
        let names = ChannelLayout.named.map(\.name).joined(separator: ", ")
        throw Misfit(why: "is not a channel layout; allowed: \(names), or a mask 0x...")
    }
}

extension ValueType where Value == PresetReference {
    /// The name of a preset, which is looked up when it is used: `podcast-mp3`, `podcast-house@3`
    static let preset = ValueType(placeholder: "PRESET", completion: .presets) { text throws(Misfit) in
        guard !text.isEmpty else { throw .empty }
        guard let reference = PresetReference(text) else {
            throw Misfit(why: "is not a preset", hint: Misfit.presetsHint)
        }
        return reference
    }
}

extension Completion {
    /// The built-in presets and those in files.
    static let presets = Completion.wordsAndLookedUp(
        Preset.all.map { Candidate(word: $0.name, summary: $0.summary) },
        PresetFileNames()
    )
}

extension ValueType where Value == TagWish {
    static let tag = ValueType(placeholder: "NAME=VALUE") { text throws(Misfit) in
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
            throw Misfit(why: "must be NAME=VALUE", hint: "NAME= removes the tag")
        }
        do throws(TagWish.Mistake) {
            return try TagWish(name: String(text[..<sign]), value: String(text[text.index(after: sign)...]))
        } catch {
            throw Misfit(why: error.detail)
        }
    }
}
