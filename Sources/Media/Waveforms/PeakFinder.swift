/// Finds the least and the greatest sample of each window, with the arithmetic of audiowaveform: samples become 16-bit
/// integers by truncation, floats with full scale at 32,767, and a mean of channels is truncated towards zero.
final class PeakFinder: SoundAnalysis {
    /// Frames added so far.
    private(set) var frames: Int64 = 0

    private let shape: SampleShape
    private let mixes: Bool
    private let store: any PeakStore
    /// The channels of the peaks.
    let channelCount: Int
    /// The samples of a block as 16-bit integers, channel after channel; for a mean, their sums.
    private var levels: [Int32] = []
    /// Of each channel, the extremes in the current window. Memory of one's own costs no checks of access in each window.
    private let least: UnsafeMutablePointer<Int32>
    private let greatest: UnsafeMutablePointer<Int32>
    /// Frames in the current window, and those that it will have.
    private var filled = 0
    private var windowFrames: Int
    /// The last window that was handed on, whose memory the next one reuses.
    private var window: [Int16]

    /// All blocks have this rate and number of channels. `splits` keeps the channels apart.
    init(of shape: SampleShape, splits: Bool, into store: any PeakStore) throws {
        self.shape = shape
        self.store = store
        channelCount = splits ? shape.channelCount : 1
        mixes = channelCount < shape.channelCount
        least = .allocate(capacity: channelCount)
        least.initialize(repeating: .max, count: channelCount)
        greatest = .allocate(capacity: channelCount)
        greatest.initialize(repeating: .min, count: channelCount)
        window = [Int16](repeating: 0, count: 2 * channelCount)
        try store.begin(sampleRateHz: shape.sampleRateHz, channelCount: channelCount)
        windowFrames = store.framesPerPair
    }

    deinit {
        least.deallocate()
        greatest.deallocate()
    }

    func add(_ block: borrowing SampleBlock) throws {
        let count = block.frameCount
        guard count > 0, block.channelCount == shape.channelCount else { return }
        frames += Int64(count)
        if mixes, shape.channelCount == 2, block.shape?.format == .s16, try addPairs(block) { return }
        if levels.count < count * channelCount { levels = [Int32](repeating: 0, count: count * channelCount) }
        read(block)
        try walk(count) { start, length in
            for channel in 0..<channelCount { look(at: channel * count + start, length, in: channel) }
        }
    }

    /// Stereo of 16 bits, which most sources are: both samples of a frame are read as one number, and need no memory
    /// between. `false` if they do not lie so that they can be read.
    private func addPairs(_ block: borrowing SampleBlock) throws -> Bool {
        try block.withPlane(0) { bytes in
            guard Int(bitPattern: bytes.baseAddress) % MemoryLayout<Int32>.alignment == 0 else { return false }
            let pairs = bytes.bindMemory(to: Int32.self)
            try walk(pairs.count) { start, length in look(atPairs: pairs, from: start, length) }
            return true
        }
    }

    /// Calls `look` for each stretch of `count` frames that lies in one window.
    private func walk(_ count: Int, _ look: (_ start: Int, _ length: Int) -> Void) throws {
        var start = 0
        while start < count {
            let length = min(count - start, windowFrames - filled)
            look(start, length)
            start += length
            filled += length
            if filled == windowFrames { try finishWindow() }
        }
    }

    /// Hands on the last window, which may hold fewer frames than the others.
    func finish() throws {
        if filled > 0 { try finishWindow() }
    }

    private func look(at start: Int, _ length: Int, in channel: Int) {
        levels.withUnsafeBufferPointer { levels in
            var (low, high) = (least[channel], greatest[channel])
            var index = start
            let end = start &+ length
            while index != end {
                let level = levels[index]
                low = min(low, level)
                high = max(high, level)
                index &+= 1
            }
            (least[channel], greatest[channel]) = (low, high)
        }
    }

    private func look(atPairs pairs: UnsafeBufferPointer<Int32>, from start: Int, _ length: Int) {
        var (low, high) = (least[0], greatest[0])
        var index = start
        let end = start &+ length
        while index != end {
            let pair = pairs[index]
            // Little-endian, as all machines are on which Sluice runs: the first channel is the lower half.
            let sum = ((pair &<< 16) &>> 16) &+ (pair &>> 16)
            low = min(low, sum)
            high = max(high, sum)
            index &+= 1
        }
        (least[0], greatest[0]) = (low, high)
    }

    private func finishWindow() throws {
        // Division and truncation keep the order of numbers, so the extremes may be divided instead of all samples.
        let divisor = Int32(mixes ? shape.channelCount : 1)
        window.withUnsafeMutableBufferPointer { window in
            for channel in 0..<channelCount {
                window[2 * channel] = Int16(clamping: least[channel] / divisor)
                window[2 * channel + 1] = Int16(clamping: greatest[channel] / divisor)
                (least[channel], greatest[channel]) = (.max, .min)
            }
        }
        filled = 0
        try store.add(window)
        windowFrames = store.framesPerPair
    }

    // MARK: Samples as 16-bit integers

    private func read(_ block: borrowing SampleBlock) {
        guard let format = block.shape?.format else { return }
        let channels = shape.channelCount
        for channel in 0..<channels {
            block.withPlane(format.isPlanar ? channel : 0) { bytes in
                let (first, step) = format.isPlanar ? (0, 1) : (channel, channels)
                switch format.interleaved {
                case .u8: read(bytes.bindMemory(to: UInt8.self), first, step, channel) { (Int32($0) - 128) << 8 }
                case .s16: read(bytes.bindMemory(to: Int16.self), first, step, channel) { Int32($0) }
                case .s32: read(bytes.bindMemory(to: Int32.self), first, step, channel) { $0 >> 16 }
                case .s64: read(bytes.bindMemory(to: Int64.self), first, step, channel) { Int32(clamping: $0 >> 48) }
                case .f64: read(bytes.bindMemory(to: Double.self), first, step, channel) { Self.level(of: Float($0)) }
                default: read(bytes.bindMemory(to: Float.self), first, step, channel) { Self.level(of: $0) }
                }
            }
        }
    }

    @inline(__always)
    private func read<Sample>(
        _ samples: UnsafeBufferPointer<Sample>,
        _ first: Int,
        _ step: Int,
        _ channel: Int,
        _ level: (Sample) -> Int32
    ) {
        let count = samples.count / step
        levels.withUnsafeMutableBufferPointer { levels in
            // Builds without optimisation, which the tests run, need ten times as long for a range.
            var (index, place) = (first, mixes ? 0 : channel &* count)
            let end = place &+ count
            if mixes, channel > 0 {
                while place < end {
                    levels[place] &+= level(samples[index])
                    index &+= step
                    place &+= 1
                }
            } else {
                while place < end {
                    levels[place] = level(samples[index])
                    index &+= step
                    place &+= 1
                }
            }
        }
    }

    /// Beyond full scale there is nothing to show, and what is not a number counts as silence.
    @inline(__always)
    private static func level(of sample: Float) -> Int32 {
        let scaled = sample * 32_767
        if scaled >= 32_767 { return 32_767 }
        if scaled > -32_768 { return Int32(scaled) }
        return scaled.isNaN ? 0 : -32_768
    }
}
