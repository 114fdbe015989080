extension SampleBlock {
    /// Lends the samples of one plane as numbers; `nil` if the block holds another type of sample.
    ///
    /// Planar samples have a plane for each channel. Interleaved samples have a single plane with all channels, frame
    /// after frame. The memory must not leave the closure.
    public borrowing func withSamples<Sample: PCMSample, Result>(
        as _: Sample.Type,
        plane: Int = 0,
        _ body: (UnsafeBufferPointer<Sample>) throws -> Result
    ) rethrows -> Result? {
        guard let shape, shape.format.interleaved == Sample.sampleFormat, (0..<planeCount).contains(plane) else {
            return nil
        }
        return try withPlane(plane) { try body($0.bindMemory(to: Sample.self)) }
    }

    /// Copies the samples of one channel; `nil` if the block holds another type of sample or lacks the channel.
    public borrowing func samples<Sample: PCMSample>(ofChannel channel: Int, as _: Sample.Type) -> [Sample]? {
        guard let shape, (0..<shape.channelCount).contains(channel) else { return nil }
        let isPlanar = shape.format.isPlanar
        return withSamples(as: Sample.self, plane: isPlanar ? channel : 0) { samples in
            isPlanar ? Array(samples) : samples.channel(channel, of: shape.channelCount)
        }
    }
}

extension PCMBlock {
    /// The samples as numbers, a list for each channel; `nil` if the block holds another sample type.
    public func channels<Sample: PCMSample>(as _: Sample.Type) -> [[Sample]]? {
        guard let samples = samples(as: Sample.self) else { return nil }
        return samples.withUnsafeBufferPointer { samples in
            (0..<shape.channelCount).map { samples.channel($0, of: shape.channelCount) }
        }
    }

    /// The samples with full scale at 1, in frame order. Integers of more than 24 bits are rounded.
    public var floats: [Float] {
        switch shape.format {
        case .u8: scaled(by: 0x1p-7) { (sample: UInt8) in Float(sample) - 128 }
        case .s16: scaled(by: 0x1p-15) { (sample: Int16) in Float(sample) }
        case .s32: scaled(by: 0x1p-31) { (sample: Int32) in Float(sample) }
        case .s64: scaled(by: 0x1p-63) { (sample: Int64) in Float(sample) }
        case .f64: scaled(by: 1) { (sample: Double) in Float(sample) }
        default: samples(as: Float.self) ?? []
        }
    }

    /// The samples with full scale at 1, a list for each channel. Integers of more than 24 bits are rounded.
    public var floatChannels: [[Float]] {
        floats.withUnsafeBufferPointer { samples in
            (0..<shape.channelCount).map { samples.channel($0, of: shape.channelCount) }
        }
    }

    private func scaled<Sample: PCMSample>(by scale: Float, _ number: (Sample) -> Float) -> [Float] {
        (samples(as: Sample.self) ?? []).map { number($0) * scale }
    }
}

extension UnsafeBufferPointer {
    /// Every `count`th element, from `channel` on.
    fileprivate func channel(_ channel: Int, of count: Int) -> [Element] {
        stride(from: channel, to: self.count, by: count).map { self[$0] }
    }
}
