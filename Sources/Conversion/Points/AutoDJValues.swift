/// What an automatic DJ (Liquidsoap, AzuraCast) needs to play a track: the metadata of Liquidsoap with the prefix `liq_`.
public struct AutoDJValues: Sendable, Hashable {
    /// Where the sound begins and ends.
    public let cueIn: MediaTime
    public let cueOut: MediaTime
    /// How long before its end the next track may begin.
    public let crossDuration: MediaTime
    /// How long it fades out, at its end.
    public let fadeOut: MediaTime
    /// The change of level that brings the track to `targetLUFS`; `nil` if its loudness could not be measured.
    public let amplifyDB: Double?
    public let loudnessLUFS: Double?

    /// Liquidsoap's own target.
    public static let targetLUFS = -16.0
    /// A track is not amplified beyond this true peak.
    public static let ceilingDBTP = -1.0
    /// Liquidsoap's own limits of an overlap, which must not be zero.
    public static let longestCross = MediaTime(value: 6, timescale: 1)
    public static let shortestCross = MediaTime(value: 1, timescale: 10)

    /// `nil` if the track has no sound.
    public init?(_ report: PointReport, _ loudness: LoudnessReport?) {
        guard let start = report.first(.soundStart), let end = report.first(.soundEnd) else { return nil }
        cueIn = report.time(of: start.frame)
        cueOut = report.time(of: end.frame)
        let ending = report.first(.ending)?.frames ?? 0
        fadeOut = min(report.time(of: ending), Self.longestCross)
        crossDuration = max(fadeOut, Self.shortestCross)
        loudnessLUFS = loudness?.integratedLUFS
        amplifyDB = loudness?.integratedLUFS.map { level in
            let wanted = Self.targetLUFS - level
            guard wanted > 0, let peak = loudness?.truePeakDBTP else { return wanted }
            return max(0, min(wanted, Self.ceilingDBTP - peak))
        }
    }

    /// Names and values, in a fixed order.
    public var pairs: [(name: String, value: String)] {
        // No sound is cut: the start is rounded to an earlier time, the end to a later one.
        var pairs = [
            ("liq_cue_in", cueIn.decimalSeconds(6, rounding: .towardNegativeInfinity)),
            ("liq_cue_out", cueOut.decimalSeconds(6, rounding: .towardPositiveInfinity)),
            ("liq_cross_duration", crossDuration.decimalSeconds(3)),
            // Without it, each track would fade in for three seconds.
            ("liq_fade_in", MediaTime.zero.decimalSeconds(3)),
            ("liq_fade_out", fadeOut.decimalSeconds(3)),
            // A fade begins with the overlap, and the rest of a shorter one would be silent.
            ("liq_fade_out_delay", (crossDuration - fadeOut).decimalSeconds(3)),
        ]
        if let amplifyDB { pairs.append(("liq_amplify", "\(Figures.decimals(amplifyDB, 2)) dB")) }
        if let loudnessLUFS { pairs.append(("liq_loudness", "\(Figures.decimals(loudnessLUFS, 2)) LUFS")) }
        return pairs.map { (name: $0.0, value: $0.1) }
    }

    /// A line for Liquidsoap's protocol `annotate`. Quotation marks and backslashes cannot occur in the values.
    public func annotation(of path: String) -> String {
        "annotate:" + pairs.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",") + ":\(path)"
    }
}

extension MediaTime {
    /// The time in seconds with so many decimals, from 0 to 9: `12.500000`. A word if it is no number.
    package func decimalSeconds(_ places: Int, rounding: RoundingMethod = .halfAwayFromZero) -> String {
        let scale = (0..<min(max(0, places), 9)).reduce(Int32(1)) { product, _ in product * 10 }
        let units = converted(to: scale, rounding: rounding)
        guard units.isNumeric else { return description }
        let (whole, rest) = units.value.magnitude.quotientAndRemainder(dividingBy: UInt64(scale))
        let digits = String(rest)
        let sign = units.value < 0 ? "-" : ""
        guard places > 0 else { return "\(sign)\(whole)" }
        return "\(sign)\(whole)." + String(repeating: "0", count: places - digits.count) + digits
    }
}
