import Console
import Conversion
import Ledger

extension ConversionReport {
    /// Damage and remarks in a few words: `2 chapters lost, cover lost`; `nil` if there are none.
    var briefRemarks: String? { Self.brief(damage, remarks) }

    fileprivate static func brief(_ damage: DamageReport, _ remarks: [Remark]) -> String? {
        let words = [damage.brief].compactMap { $0 } + remarks.map(\.brief)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// Damage and remarks in sentences, as `convert` and `job` print them. Lines that belong to the one before begin
    /// with spaces.
    ///
    /// `mode` is how the conversion treated damage; `nil` if unknown.
    func remarkLines(source: String, onDamage mode: DamageMode?) -> [String] {
        var lines: [String] = []
        if !damage.isEmpty {
            let done =
                switch mode {
                case .conceal?: "filled with silence"
                case .skip?: "left out"
                // A strict conversion fails at the first damage.
                case .strict?, nil: "lost"
                }
            lines.append(
                "\(source.printable) is damaged in \(Figures.count(damage.stretchCount, "place")): "
                    + "\(Figures.count(damage.frames, "frame")) \(done)"
            )
            for stretch in damage.stretches.prefix(5) {
                let time = MediaTime(frames: stretch.start, rate: self.source.sampleRateHz)
                lines.append(
                    "  \(Figures.count(stretch.frames, "frame")) from \(time.short): \(stretch.code.printable)"
                )
            }
            if damage.stretchCount > 5 { lines.append("  and others; --json lists all") }
        }
        return lines + remarks.map(\.detail.printable)
    }
}

extension JobRemarks {
    /// In a few words: `2 chapters lost, cover lost`; `nil` if there are none.
    var brief: String? { ConversionReport.brief(damage, remarks) }
}

extension DamageReport {
    /// `4,096 frames damaged in 1 place`; `nil` for a source without damage.
    fileprivate var brief: String? {
        guard !isEmpty else { return nil }
        return "\(Figures.count(frames, "frame")) damaged in \(Figures.count(stretchCount, "place"))"
    }
}
