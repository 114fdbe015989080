/// The bit rates that a codec accepts, which can depend on the sample rate and the channel count.
public enum BitRates: Sendable, Hashable {
    case none
    /// MPEG audio layer 3 has 14 bit rates for each of its three versions.
    case mp3
    /// At most `bits` per channel in each codec frame of `samples` samples. `minimum` is in bits per second.
    case perFrame(minimum: Int, bits: Int, samples: Int)
    case perChannel(minimum: Int, maximum: Int)

    static let mpeg1 = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320].map { $0 * 1000 }
    static let mpeg2 = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160].map { $0 * 1000 }
    /// For MPEG-2.5 the standard lists the same rates as for MPEG-2, but LAME stops at 64 kbit/s.
    static let mpeg2Point5 = mpeg2.filter { $0 <= 64_000 }

    private static func mp3List(at sampleRateHz: Int) -> [Int] {
        sampleRateHz >= 32_000 ? mpeg1 : sampleRateHz >= 16_000 ? mpeg2 : mpeg2Point5
    }

    /// The lowest and the highest bit rate, in bits per second; `nil` if the codec takes no bit rate.
    public func bounds(sampleRateHz: Int, channelCount: Int) -> ClosedRange<Int>? {
        switch self {
        case .none:
            return nil
        case .mp3:
            let list = Self.mp3List(at: sampleRateHz)
            return list[0]...list[list.count - 1]
        case .perFrame(let minimum, let bits, let samples):
            return minimum...max(minimum, bits * channelCount * sampleRateHz / samples)
        case .perChannel(let minimum, let maximum):
            return minimum...(maximum * channelCount)
        }
    }

    /// Whether the codec accepts `bitRate` at this sample rate and channel count.
    public func contains(_ bitRate: Int, sampleRateHz: Int, channelCount: Int) -> Bool {
        if self == .mp3 { return Self.mp3List(at: sampleRateHz).contains(bitRate) }
        return bounds(sampleRateHz: sampleRateHz, channelCount: channelCount)?.contains(bitRate) ?? false
    }

    /// The highest accepted bit rate that is not above `bitRate`, else the lowest; `nil` if the codec takes no bit
    /// rate.
    func nearest(to bitRate: Int, sampleRateHz: Int, channelCount: Int) -> Int? {
        guard let bounds = bounds(sampleRateHz: sampleRateHz, channelCount: channelCount) else { return nil }
        let within = min(max(bitRate, bounds.lowerBound), bounds.upperBound)
        return self == .mp3 ? Self.mp3List(at: sampleRateHz).last { $0 <= within } : within
    }

    /// The accepted bit rates in bits per second, as a refusal lists them.
    public func title(sampleRateHz: Int, channelCount: Int) -> String {
        if self == .mp3 { return Self.mp3List(at: sampleRateHz).map { String($0) }.joined(separator: ", ") }
        guard let bounds = bounds(sampleRateHz: sampleRateHz, channelCount: channelCount) else { return "none" }
        return "\(bounds.lowerBound) to \(bounds.upperBound)"
    }
}
