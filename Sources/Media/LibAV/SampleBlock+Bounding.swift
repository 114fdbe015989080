extension SampleBlock {
    /// What no recording comes near: 48 dB above full scale.
    private static let loudest: Float = 256

    /// Makes silence of what is no number, and the loudest that is borne of what is louder. For samples of 32-bit floats that
    /// are nobody else's.
    ///
    /// Encoders that model hearing square what they are given. LAME ends the process where that is no number any more
    /// (`calc_energy: Assertion el >= 0`), and libav's AAC refuses the whole conversion.
    mutating func boundFloats() {
        for plane in 0..<planeCount {
            withMutablePlane(plane) { bytes in
                let samples = bytes.bindMemory(to: Float.self)
                // One look at all of them, which the processor takes several at a time; hardly ever is there a second one.
                var isBounded = true
                for sample in samples { isBounded = isBounded && abs(sample) <= Self.loudest }
                guard !isBounded else { return }
                for place in samples.indices where !(abs(samples[place]) <= Self.loudest) {
                    let sample = samples[place]
                    samples[place] = sample.isNaN ? 0 : sample < 0 ? -Self.loudest : Self.loudest
                }
            }
        }
    }
}
