import Conversion

extension ConversionReport {
    /// Damage and remarks in a few words: `2 chapters lost, cover lost`; `nil` if there are none.
    var briefRemarks: String? {
        let words = [briefDamage].compactMap { $0 } + remarks.map(\.brief)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// `4,096 frames damaged in 1 place`; `nil` for a source without damage.
    var briefDamage: String? {
        guard !damage.isEmpty else { return nil }
        return "\(Figures.count(damage.frames, "frame")) damaged in \(Figures.count(damage.stretchCount, "place"))"
    }
}
