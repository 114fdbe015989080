/// Keeps the peaks of sound of any length in constant memory: when it is full, it halves the number of windows.
final class PeakOverview: PeakStore {
    private(set) var peaks: Peaks
    private var capacity: Int

    /// 16 MiB: of 64 channels, still two windows for each column of the widest picture.
    private static let mostNumbers = 1 << 23

    /// Keeps at least half as many windows as `capacity`, if the sound has as many frames; of very many channels fewer.
    init(capacity: Int) {
        self.capacity = max(2, capacity + capacity % 2)
        peaks = Peaks(sampleRateHz: 1, channelCount: 1, framesPerPair: 1)
    }

    var framesPerPair: Int { peaks.framesPerPair }

    func begin(sampleRateHz: Int, channelCount: Int) throws {
        peaks = Peaks(sampleRateHz: sampleRateHz, channelCount: channelCount, framesPerPair: 1)
        let most = Self.mostNumbers / (2 * max(1, channelCount))
        capacity = min(capacity, max(2, most - most % 2))
    }

    func add(_ window: [Int16]) throws {
        peaks.append(window)
        // The capacity is even, so that every window of the coarser level is whole.
        if peaks.count == capacity { peaks = peaks.halved() }
    }
}
