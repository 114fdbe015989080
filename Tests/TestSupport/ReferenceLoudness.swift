import CLoudness

/// Loudness as libebur128 computes it by itself, from every block of 100 ms.
public struct ReferenceLoudness: Sendable {
    /// In LUFS; minus infinity for silence.
    public let integrated: Double
    /// In LU.
    public let range: Double
    /// The largest true peak of all channels, as a factor of full scale.
    public let truePeak: Double

    /// Measures `signal`, whose channels have libebur128's default places: left, right, centre, none, surrounds.
    public init(_ signal: Signal) throws {
        let modes = EBUR128_MODE_I.rawValue | EBUR128_MODE_LRA.rawValue | EBUR128_MODE_TRUE_PEAK.rawValue
        let count = signal.channels.count
        guard let state = ebur128_init(UInt32(count), UInt(signal.rate), Int32(modes)) else {
            throw SupportError("measure the loudness", "\(count) channels at \(signal.rate) Hz")
        }
        var doomed: UnsafeMutablePointer<ebur128_state>? = state
        defer { ebur128_destroy(&doomed) }
        let samples = signal.pcm(.f64).bytes
        let added = samples.withUnsafeBytes { bytes in
            ebur128_add_frames_double(state, bytes.bindMemory(to: Double.self).baseAddress, signal.frames)
        }
        var (integrated, range, truePeak) = (0.0, 0.0, 0.0)
        var codes = [added, ebur128_loudness_global(state, &integrated), ebur128_loudness_range(state, &range)]
        for channel in 0..<count {
            var peak = 0.0
            codes.append(ebur128_true_peak(state, UInt32(channel), &peak))
            truePeak = max(truePeak, peak)
        }
        guard codes.allSatisfy({ $0 == 0 }) else {
            throw SupportError("measure the loudness", "libebur128 answers \(codes)")
        }
        (self.integrated, self.range, self.truePeak) = (integrated, range, truePeak)
    }

    /// The loudness of several signals together, in LUFS.
    public static func integrated(of signals: [Signal]) throws -> Double {
        var states: [UnsafeMutablePointer<ebur128_state>?] = []
        defer { for index in states.indices { ebur128_destroy(&states[index]) } }
        for signal in signals {
            let count = signal.channels.count
            guard let state = ebur128_init(UInt32(count), UInt(signal.rate), Int32(EBUR128_MODE_I.rawValue)) else {
                throw SupportError("measure the loudness", "\(count) channels at \(signal.rate) Hz")
            }
            states.append(state)
            let added = signal.pcm(.f64).bytes.withUnsafeBytes { bytes in
                ebur128_add_frames_double(state, bytes.bindMemory(to: Double.self).baseAddress, signal.frames)
            }
            guard added == 0 else { throw SupportError("measure the loudness", "libebur128 answers \(added)") }
        }
        var result = 0.0
        let code = states.withUnsafeMutableBufferPointer {
            ebur128_loudness_global_multiple($0.baseAddress, $0.count, &result)
        }
        guard code == 0 else { throw SupportError("measure the loudness", "libebur128 answers \(code)") }
        return result
    }
}
