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
