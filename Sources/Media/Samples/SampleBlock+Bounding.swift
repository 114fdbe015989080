extension SampleBlock {
    /// The largest amplitude that is kept: 48 dB above full scale, which no recording comes near.
    private static let loudest: Float = 256

    /// Clamps samples to `loudest`. Returns `false` at the first sample that is not finite, and stops there.
    ///
    /// Only for 32-bit float samples that no other block shares.
    ///
    /// Perceptual encoders square their input. If the result is not a number, LAME aborts the process
    /// (`calc_energy: Assertion el >= 0`) and libav's AAC encoder refuses the conversion.
    ///
    /// Clamping is not reported: damage counts missing frames, and these frames are present. docs/formats.md says so.
    mutating func boundFloats() -> Bool {
        for plane in 0..<planeCount {
            let areNumbers = withMutablePlane(plane) { bytes in
                let samples = bytes.bindMemory(to: Float.self)
                // A first pass over all samples, which the compiler can vectorise; a second pass is hardly ever needed.
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
