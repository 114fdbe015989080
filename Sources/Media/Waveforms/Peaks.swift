/// The least and the greatest sample of each window of the sound, as 16-bit numbers.
public struct Peaks: Sendable, Hashable {
    public let sampleRateHz: Int
    public let channelCount: Int
    /// The frames of a window. The last window may hold fewer.
    public private(set) var framesPerPair: Int
    /// For each window, and in it for each channel, the least sample and the greatest.
    public private(set) var values: [Int16]

    /// `values` has `2 * channelCount` numbers for each window.
    public init(sampleRateHz: Int, channelCount: Int, framesPerPair: Int, values: [Int16] = []) {
        self.sampleRateHz = sampleRateHz
        self.channelCount = channelCount
        self.framesPerPair = framesPerPair
        self.values = values
    }

    /// The number of windows.
    public var count: Int { values.count / max(1, 2 * channelCount) }

    /// The least sample of a window.
    public func least(_ window: Int, channel: Int) -> Int16 { values[2 * (window * channelCount + channel)] }
    /// The greatest sample of a window.
    public func greatest(_ window: Int, channel: Int) -> Int16 { values[2 * (window * channelCount + channel) + 1] }

    /// Adds a window.
    mutating func append(_ window: [Int16]) { values += window }

    /// The next coarser level: windows twice as long. It is equal to peaks that are computed with such windows.
    public func halved() -> Peaks {
        var coarser = Peaks(sampleRateHz: sampleRateHz, channelCount: channelCount, framesPerPair: framesPerPair * 2)
        coarser.values.reserveCapacity(values.count / 2 + 2 * channelCount)
        for first in stride(from: 0, to: count, by: 2) {
            let second = min(first + 1, count - 1)
            for channel in 0..<channelCount {
                coarser.values.append(min(least(first, channel: channel), least(second, channel: channel)))
                coarser.values.append(max(greatest(first, channel: channel), greatest(second, channel: channel)))
            }
        }
        return coarser
    }
}
