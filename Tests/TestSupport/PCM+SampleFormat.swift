extension PCM.SampleFormat {
    /// `count` samples of `bytes` as doubles: the one at `first`, and each `stride` samples later. Full scale is 1.
    public func doubles(_ bytes: UnsafeRawBufferPointer, first: Int = 0, stride: Int, count: Int) -> [Double] {
        precondition(holds(bytes, first: first, stride: stride, count: count), "the samples lie within the bytes")
        return Signal.filled(count) { out in
            guard let start = bytes.baseAddress.map({ $0 + first * self.bytes }) else { return }
            switch self {
            case .u8:
                let input = start.assumingMemoryBound(to: UInt8.self)
                for frame in 0..<count { out[frame] = (Double(input[frame &* stride]) - 128) * 0x1p-7 }
            case .s16:
                let input = start.assumingMemoryBound(to: Int16.self)
                for frame in 0..<count { out[frame] = Double(input[frame &* stride]) * 0x1p-15 }
            case .s24:
                let input = start.assumingMemoryBound(to: UInt8.self)
                for frame in 0..<count {
                    let at = frame &* stride &* 3
                    let low = Double(input[at]) + Double(input[at &+ 1]) * 0x1p8
                    let high = Double(Int8(bitPattern: input[at &+ 2])) * 0x1p16
                    out[frame] = (low + high) * 0x1p-23
                }
            case .s32:
                let input = start.assumingMemoryBound(to: Int32.self)
                for frame in 0..<count { out[frame] = Double(input[frame &* stride]) * 0x1p-31 }
            case .f32:
                let input = start.assumingMemoryBound(to: Float.self)
                for frame in 0..<count { out[frame] = Double(input[frame &* stride]) }
            case .f64:
                let input = start.assumingMemoryBound(to: Double.self)
                for frame in 0..<count { out[frame] = input[frame &* stride] }
            }
        }
    }

    /// Appends `count` samples of `bytes` to `samples` as singles: the first one, and each `stride` samples later.
    ///
    /// Full scale is 1.
    public func appendSingles(_ bytes: UnsafeRawBufferPointer, stride: Int, count: Int, to samples: inout [Float]) {
        precondition(holds(bytes, first: 0, stride: stride, count: count), "the samples lie within the bytes")
        guard let start = bytes.baseAddress else { return }
        switch self {
        case .u8:
            let input = start.assumingMemoryBound(to: UInt8.self)
            for frame in 0..<count { samples.append(Float(input[frame &* stride]) / 128 - 1) }
        case .s16:
            let input = start.assumingMemoryBound(to: Int16.self)
            for frame in 0..<count { samples.append(Float(input[frame &* stride]) / 32_768) }
        case .s32:
            let input = start.assumingMemoryBound(to: Int32.self)
            for frame in 0..<count { samples.append(Float(input[frame &* stride]) / 2_147_483_648) }
        case .f32:
            let input = start.assumingMemoryBound(to: Float.self)
            for frame in 0..<count { samples.append(input[frame &* stride]) }
        case .s24, .f64:
            for sample in doubles(bytes, stride: stride, count: count) { samples.append(Float(sample)) }
        }
    }

    private func holds(_ bytes: UnsafeRawBufferPointer, first: Int, stride: Int, count: Int) -> Bool {
        count == 0 || bytes.count >= (first + (count - 1) * stride + 1) * self.bytes
    }
}

extension PCM {
    /// The samples of one channel as singles; full scale is 1.
    public func singles(channel: Int) -> [Float] { samples(channel: channel).map { Float($0) } }
}
