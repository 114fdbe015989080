import Glibc

extension PCM {
    /// The greatest absolute sample of each channel; full scale is 1.
    public var peaks: [Double] {
        (0..<channels).map { channel in
            samples(channel: channel).withUnsafeBufferPointer { samples in
                var peak = 0.0
                var frame = 0
                while frame < samples.count {
                    let size = fabs(samples[frame])
                    if size > peak { peak = size }
                    frame &+= 1
                }
                return peak
            }
        }
    }

    /// The root mean square of each channel; full scale is 1.
    public var rms: [Double] {
        (0..<channels).map { channel in
            frames == 0 ? 0 : sqrt(Self.energy(samples(channel: channel)) / Double(frames))
        }
    }

    /// How many frames this audio lags behind `reference`; negative if it leads.
    ///
    /// Considers lags of up to `limit` frames. Use noise, speech or a sweep: a steady tone matches at every
    /// period, and then the smallest lag wins. Throws if the rates differ or either is silent.
    public func bestLag(against reference: PCM, channel: Int = 0, within limit: Int = 5_000) throws -> Int {
        guard rate == reference.rate else {
            throw SupportError("find the lag", "\(self) and \(reference) differ in rate")
        }
        guard channel < channels, channel < reference.channels else {
            throw SupportError("find the lag", "\(self) or \(reference) has no channel \(channel)")
        }
        let correlation = Correlation(limit: limit)
        guard
            let lag = correlation.bestLag(
                of: samples(channel: channel),
                against: reference.samples(channel: channel)
            )
        else { throw SupportError("find the lag", "nothing to compare: \(self) or \(reference) is silent") }
        return lag
    }

    /// The signal-to-noise ratio of each channel in dB, with `reference` as the signal; infinite if both are equal.
    ///
    /// Throws unless rate, channels and length agree: cut both to their common part first, and only where the test
    /// justifies it.
    public func snr(against reference: PCM) throws -> [Double] {
        guard rate == reference.rate, channels == reference.channels, frames == reference.frames else {
            throw SupportError("measure the noise", "\(self) and \(reference) do not match")
        }
        return (0..<channels).map { channel in
            let wanted = reference.samples(channel: channel)
            let noise = Signal.filled(frames) { out in
                samples(channel: channel).withUnsafeBufferPointer { mine in
                    wanted.withUnsafeBufferPointer { theirs in
                        var frame = 0
                        while frame < mine.count {
                            out[frame] = mine[frame] - theirs[frame]
                            frame &+= 1
                        }
                    }
                }
            }
            let noiseEnergy = Self.energy(noise)
            return noiseEnergy == 0 ? .infinity : 10 * log10(Self.energy(wanted) / noiseEnergy)
        }
    }

    private static func energy(_ samples: [Double]) -> Double {
        samples.withUnsafeBufferPointer { samples in
            var sum = 0.0
            var frame = 0
            while frame < samples.count {
                sum += samples[frame] * samples[frame]
                frame &+= 1
            }
            return sum
        }
    }
}
