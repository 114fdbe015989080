import Glibc

extension PCM {
    /// The greatest absolute sample of each channel; full scale is 1.
    public var peaks: [Double] {
        (0..<channels).map { channel in SampleMath.peak(samples(channel: channel)) }
    }

    /// The root mean square of each channel; full scale is 1.
    public var rms: [Double] {
        (0..<channels).map { channel in
            frames == 0 ? 0 : SampleMath.rootMeanSquare(samples(channel: channel))
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
            let noise = SampleMath.differences(samples(channel: channel), wanted)
            let noiseEnergy = SampleMath.energy(noise)
            return noiseEnergy == 0 ? .infinity : 10 * log10(SampleMath.energy(wanted) / noiseEnergy)
        }
    }

    /// The number of frames whose bytes differ from those of the same frame of `other`, which is as long.
    public func differingFrames(from other: PCM) -> Int {
        precondition(bytesPerFrame == other.bytesPerFrame && frames == other.frames, "both have the same frames")
        return (0..<frames).count { frame in
            let place = frame * bytesPerFrame..<(frame + 1) * bytesPerFrame
            return bytes[place] != other.bytes[place]
        }
    }
}
