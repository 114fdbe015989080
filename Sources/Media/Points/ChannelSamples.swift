import Conversion

/// The samples of a block, a list for each channel, with full scale at 1. Exact for all formats but integers of 64 bits.
struct ChannelSamples {
    private(set) var channels: [[Double]] = []

    /// Replaces the samples by those of `block`, and keeps the memory.
    mutating func fill(from block: borrowing SampleBlock) {
        guard let shape = block.shape else { return channels = [] }
        let frames = block.frameCount
        if channels.count != shape.channelCount {
            channels = [[Double]](repeating: [], count: shape.channelCount)
        }
        for channel in channels.indices {
            if channels[channel].count != frames { channels[channel] = [Double](repeating: 0, count: frames) }
            let isPlanar = shape.format.isPlanar
            let (offset, stride) = isPlanar ? (0, 1) : (channel, shape.channelCount)
            block.withPlane(isPlanar ? channel : 0) { bytes in
                channels[channel].withUnsafeMutableBufferPointer { target in
                    let samples = Strided(bytes: bytes, offset: offset, stride: stride)
                    switch shape.format.interleaved {
                    case .u8: samples.copy(to: target) { (sample: UInt8) in (Double(sample) - 128) * 0x1p-7 }
                    case .s16: samples.copy(to: target) { (sample: Int16) in Double(sample) * 0x1p-15 }
                    case .s32: samples.copy(to: target) { (sample: Int32) in Double(sample) * 0x1p-31 }
                    case .s64: samples.copy(to: target) { (sample: Int64) in Double(sample) * 0x1p-63 }
                    case .f64: samples.copy(to: target) { (sample: Double) in sample }
                    default: samples.copy(to: target) { (sample: Float) in Double(sample) }
                    }
                }
            }
        }
    }

    private struct Strided {
        let bytes: UnsafeRawBufferPointer
        let offset: Int
        let stride: Int

        @inline(__always)
        func copy<Sample: BitwiseCopyable>(
            to target: UnsafeMutableBufferPointer<Double>,
            _ number: (Sample) -> Double
        ) {
            let samples = bytes.bindMemory(to: Sample.self)
            var place = offset
            for frame in target.indices where place < samples.count {
                target[frame] = number(samples[place])
                place &+= stride
            }
        }
    }
}

/// Where the frames of a block lie on the clock of the track. Where a stream changes its rate, the clock keeps that of
/// its beginning.
struct BlockClock {
    let position: Int64
    let blockRate: Int
    let rate: Int

    /// Where frame `index` of the block begins.
    @inline(__always)
    func frame(_ index: Int) -> Int64 {
        position &+ (blockRate == rate ? Int64(index) : Int64(index) * Int64(rate) / Int64(max(1, blockRate)))
    }
}

extension PointRules {
    /// A length in frames, at least one.
    static func frames(_ time: MediaTime, _ rate: Int) -> Int64 {
        max(1, time.frames(atRate: rate)?.frames ?? .max)
    }
}
