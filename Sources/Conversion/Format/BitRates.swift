/// The bit rates a codec takes. Which ones can depend on the sample rate and the channels.
public enum BitRates: Sendable, Hashable {
    case none
    /// MPEG audio layer 3 has 14 of them for each of its three versions.
    case mp3
    /// A ceiling of so many bits in a frame of so many samples, for each channel.
    case perFrame(minimum: Int, bits: Int, samples: Int)
    case perChannel(minimum: Int, maximum: Int)

    static let mpeg1 = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320].map { $0 * 1000 }
    static let mpeg2 = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160].map { $0 * 1000 }
    /// The standard lists MPEG-2's for 2.5 as well; LAME ends at 64.
    static let mpeg2Point5 = mpeg2.filter { $0 <= 64_000 }

    private static func mp3List(at sampleRateHz: Int) -> [Int] {
        sampleRateHz >= 32_000 ? mpeg1 : sampleRateHz >= 16_000 ? mpeg2 : mpeg2Point5
    }

    /// The lowest and the highest; `nil` if the codec takes no bit rate.
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

    /// Whether a bit rate is taken at this rate and with so many channels.
    public func contains(_ bitRate: Int, sampleRateHz: Int, channelCount: Int) -> Bool {
        if self == .mp3 { return Self.mp3List(at: sampleRateHz).contains(bitRate) }
        return bounds(sampleRateHz: sampleRateHz, channelCount: channelCount)?.contains(bitRate) ?? false
    }

    /// The highest one that is not above `bitRate`, else the lowest.
    func nearest(to bitRate: Int, sampleRateHz: Int, channelCount: Int) -> Int? {
        guard let bounds = bounds(sampleRateHz: sampleRateHz, channelCount: channelCount) else { return nil }
        let within = min(max(bitRate, bounds.lowerBound), bounds.upperBound)
        return self == .mp3 ? Self.mp3List(at: sampleRateHz).last { $0 <= within } : within
    }

    /// As a refusal lists it, in bits per second.
    public func title(sampleRateHz: Int, channelCount: Int) -> String {
        if self == .mp3 { return Self.mp3List(at: sampleRateHz).map { String($0) }.joined(separator: ", ") }
        guard let bounds = bounds(sampleRateHz: sampleRateHz, channelCount: channelCount) else { return "none" }
        return "\(bounds.lowerBound) to \(bounds.upperBound)"
    }
}
