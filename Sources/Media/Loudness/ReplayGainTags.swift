import Conversion

extension [Tag] {
    /// The tags from which players learn how loud a track is: ReplayGain 2.0, and for Opus the gain of RFC 7845.
    ///
    /// Empty if the loudness of `report` could not be measured. `ofAlbum`: the report is that of an album.
    static func replayGain(_ report: LoudnessReport, ofAlbum: Bool = false, in codec: Codec) -> [Tag] {
        guard let loudness = report.integratedLUFS else { return [] }
        let scope = ofAlbum ? "ALBUM" : "TRACK"
        if codec == .opus {
            let gain = Int(((LoudnessScale.opusReference - loudness) * 256).rounded())
            return [Tag(key: "R128_\(scope)_GAIN", value: "\(Swift.min(Swift.max(gain, -32_768), 32_767))")]
        }
        let gain = (LoudnessScale.replayGainReference - loudness).decimals(2)
        let peak = LoudnessScale.factor(report.truePeakDBTP ?? -.infinity).decimals(6)
        return [
            Tag(key: "REPLAYGAIN_\(scope)_GAIN", value: "\(gain) dB"),
            Tag(key: "REPLAYGAIN_\(scope)_PEAK", value: peak),
        ]
    }
}

extension LoudnessScale {
    /// What ReplayGain 2.0 brings tracks to, in LUFS.
    fileprivate static let replayGainReference = -18.0
    /// What the gain in Opus files refers to, in LUFS.
    fileprivate static let opusReference = -23.0
}

extension Double {
    /// With exactly `count` decimals: `-7.03`.
    fileprivate func decimals(_ count: Int) -> String {
        let scale = (0..<count).reduce(1) { power, _ in power * 10 }
        // Peaks of floats may be far beyond full scale.
        let number = Int128(Swift.min(Swift.max(self * Double(scale), -1e38), 1e38).rounded())
        let digits = String(number.magnitude % UInt128(scale))
        return (number < 0 ? "-" : "") + "\(number.magnitude / UInt128(scale))."
            + String(repeating: "0", count: count - digits.count) + digits
    }
}
