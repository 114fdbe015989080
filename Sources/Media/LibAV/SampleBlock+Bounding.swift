extension SampleBlock {
    /// What no recording comes near: 48 dB above full scale.
    private static let loudest: Float = 256

    /// Makes the loudest that is borne of what is louder, and says whether all are numbers: it ends at the first that is none. For
    /// samples of 32-bit floats that no other block shares.
    ///
    /// Encoders that model hearing square what they are given. LAME ends the process where that is no number any more
    /// (`calc_energy: Assertion el >= 0`), where libav's AAC refuses the conversion.
    ///
    /// What was bounded is not reported: damage is counted in missing frames, and these are there. docs/formats.md says so.
    mutating func boundFloats() -> Bool {
        for plane in 0..<planeCount {
            let areNumbers = withMutablePlane(plane) { bytes in
                let samples = bytes.bindMemory(to: Float.self)
                // One look at all of them, which the processor takes several at a time; hardly ever is there a second one.
                var isBounded = true
                for sample in samples { isBounded = isBounded && abs(sample) <= Self.loudest }
                guard !isBounded else { return true }
                for place in samples.indices where !(abs(samples[place]) <= Self.loudest) {
                    guard samples[place].isFinite else { return false }
                    samples[place] = samples[place] < 0 ? -Self.loudest : Self.loudest
                }
                return true
            }
            guard areNumbers else { return false }
        }
        return true
    }
}
