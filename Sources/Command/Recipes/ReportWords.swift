import Console
import Conversion
import Ledger

extension ConversionReport {
    /// Damage and remarks in a few words: `2 chapters lost, cover lost`; `nil` if there are none.
    var briefRemarks: String? { Self.brief(damage, remarks) }

    fileprivate static func brief(_ damage: DamageReport, _ remarks: [Remark]) -> String? {
        var words = [damage.brief].compactMap { $0 }
        // The packets may have been trusted for several reasons.
        for word in remarks.map(\.brief) where !words.contains(word) { words.append(word) }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// Damage and remarks in sentences, as `convert` and `job` print them. Lines that belong to the one before begin
    /// with spaces.
    ///
    /// `mode` is how the conversion treated damage; `nil` if unknown. The places of damage are also drawn if `outlet` has a
    /// width and `recipe` took the whole source.
    func remarkLines(
        source: String,
        onDamage mode: DamageMode?,
        by recipe: Recipe? = nil,
        drawnFor outlet: Outlet? = nil
    ) -> [String] {
        var lines: [String] = []
        if !damage.isEmpty {
            lines.append(
                "\(source.printable) is damaged in \(Figures.count(damage.stretchCount, "place")): "
                    + "\(Figures.count(damage.frames, "frame")) \(DamageMode.outcome(of: mode))"
            )
            lines += damage.placeLines(rate: self.source.sampleRateHz)
            let whole = recipe.flatMap { wholeFrames(by: $0, onDamage: mode) } ?? 0
            lines += damage.drawing(frames: whole, rate: self.source.sampleRateHz, for: outlet)
        }
        return lines + remarks.map(\.detail.printable)
    }

    /// The length of the source, on whose clock its damage lies. `nil` if the recipe takes parts of it, or several sources:
    /// the report counts the frames that were taken.
    func wholeFrames(by recipe: Recipe, onDamage mode: DamageMode?) -> Int64? {
        guard recipe.timeline == nil, recipe.soundSources.count == 1, recipe.sources[0].ranges.isEmpty,
            recipe.outputs.allSatisfy({ $0.range == nil })
        else { return nil }
        var frames = source.frames
        // What was left out was not taken.
        if mode?.movesSound == true { frames.add(reported: damage.frames) }
        return frames
    }
}

extension DamageMode {
    /// What became of damaged frames: `filled with silence`. `mode` is `nil` if unknown, or of a scan.
    static func outcome(of mode: DamageMode?) -> String {
        switch mode {
        case .conceal?: "filled with silence"
        case .skip?, .trustPackets?: "left out"
        // A strict conversion fails at the first damage.
        case .strict?, nil: "lost"
        }
    }
}

extension JobRemarks {
    /// In a few words: `2 chapters lost, cover lost`; `nil` if there are none.
    var brief: String? { ConversionReport.brief(damage, remarks) }
}

extension ScanReport {
    /// What a scan has found, as `job` prints it. Lines that belong to the one before begin with spaces. The places of
    /// damage are also drawn if `outlet` has a width.
    func lines(for outlet: Outlet) -> [String] {
        var lines = ["\(Figures.count(frames, "frame")) decoded, " + (damage.brief ?? "no damage")]
        if let sound {
            lines += damage.placeLines(rate: sound.sampleRateHz)
            lines += damage.drawing(frames: frames, rate: sound.sampleRateHz, for: outlet)
            lines.append("sound \(sound.description), sha256 \(sound.sha256)".printable)
        }
        if let loudness {
            let parts = [
                loudness.integratedLUFS.map { LoudnessWords.lufs($0) },
                loudness.truePeakDBTP.map { "true peak \(LoudnessWords.figure($0)) dBTP" },
            ].compactMap(\.self)
            lines.append("loudness " + (parts.isEmpty ? "not measurable" : parts.joined(separator: ", ")))
        }
        return lines
    }
}

extension DamageReport {
    /// The first places: `  4,096 frames from 0:01.000: corrupt_stream`.
    fileprivate func placeLines(rate: Int) -> [String] {
        let lines = stretches.prefix(5).map { stretch in
            let time = MediaTime(frames: stretch.start, rate: rate)
            return "  \(Figures.count(stretch.frames, "frame")) from \(time.short): \(stretch.code.printable)"
        }
        return stretchCount > 5 ? lines + ["  and others; --json lists all"] : Array(lines)
    }

    /// The places on a line as long as the source, which takes the width of `outlet`: `  ⣀⣀⣸⣀⣀⣀⣀⣿⣀⣀⣀⣀ 1:02:10`.
    ///
    /// Empty without a place or without a length, and where a program reads: it has the places in numbers.
    fileprivate func drawing(frames: Int64, rate: Int, for outlet: Outlet?) -> [String] {
        guard let outlet, outlet.hasWidth, frames > 0, rate > 0, !stretches.isEmpty else { return [] }
        let marks = stretches.map { stretch in
            let start = Double(stretch.start) / Double(frames)
            return start..<max(start, start + Double(stretch.frames) / Double(frames))
        }
        let length = Figures.length(frames: frames, rate: rate)
        // `job` indents what belongs to the line before by four columns, and these lines begin with two spaces.
        let columns = max(8, outlet.width - 6 - 1 - length.count)
        let strip = TimeStrip(marks: marks).text(columns: columns, style: outlet.drawingStyle, paint: outlet.paint)
        return ["  \(strip) \(length)"]
    }

    /// `4,096 frames damaged in 1 place`; `nil` for a source without damage.
    var brief: String? {
        guard !isEmpty else { return nil }
        return "\(Figures.count(frames, "frame")) damaged in \(Figures.count(stretchCount, "place"))"
    }
}
