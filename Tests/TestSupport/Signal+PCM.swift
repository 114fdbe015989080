// Loops here index raw pointers and avoid generic conversions: tests run unoptimised, where those cost ten times
// as much.

extension Signal {
    /// The samples as integers of `bits` significant bits, from -2^(bits-1) to 2^(bits-1) - 1.
    public func integers(bits: Int) -> [[Int32]] {
        channels.map { Self.quantised($0, significantBits: bits, shift: 0) }
    }

    /// The samples as they are stored in a file.
    ///
    /// `significantBits` quantises to fewer bits than the format holds; the remaining low-order bits are zero.
    public func pcm(_ format: PCM.SampleFormat, significantBits: Int? = nil) -> PCM {
        let significant = significantBits ?? format.bits
        precondition(significant >= 1 && significant <= format.bits, "significant bits fit the format")
        let frames = self.frames
        let width = channels.count
        let size = frames * width * format.bytes
        guard size > 0 else { return PCM(rate: rate, channels: width, format: format, bytes: []) }

        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            guard let start = buffer.baseAddress else { return }
            for (channel, samples) in channels.enumerated() {
                let first = UnsafeMutableRawPointer(start + channel * format.bytes)
                switch format {
                case .f32: Self.storeSingles(samples, at: first, stride: width)
                case .f64: Self.storeDoubles(samples, at: first, stride: width)
                default:
                    let whole = Self.quantised(
                        samples,
                        significantBits: significant,
                        shift: format.bits - significant
                    )
                    Self.storeIntegers(whole, at: first, stride: width, format: format)
                }
            }
            initialized = size
        }
        return PCM(rate: rate, channels: width, format: format, bytes: bytes)
    }

    private static func quantised(_ samples: [Double], significantBits: Int, shift: Int) -> [Int32] {
        precondition((1...32).contains(significantBits), "a sample has 1 to 32 bits")
        let scale = Double(1 << (significantBits - 1))
        let step = Double(1 << shift)
        let count = samples.count
        return [Int32](unsafeUninitializedCapacity: count) { out, initialized in
            samples.withUnsafeBufferPointer { input in
                guard let from = input.baseAddress, let to = out.baseAddress else { return }
                var index = 0
                while index < count {
                    var value = (from[index] * scale).rounded(.toNearestOrEven)
                    if value >= scale { value = scale - 1 }
                    if value < -scale { value = -scale }
                    to[index] = Int32(value * step)
                    index &+= 1
                }
            }
            initialized = count
        }
    }

    private static func storeSingles(_ samples: [Double], at start: UnsafeMutableRawPointer, stride: Int) {
        let out = start.assumingMemoryBound(to: Float.self)
        samples.withUnsafeBufferPointer { input in
            guard let from = input.baseAddress else { return }
            var index = 0
            while index < input.count {
                out[index &* stride] = Float(from[index])
                index &+= 1
            }
        }
    }

    private static func storeDoubles(_ samples: [Double], at start: UnsafeMutableRawPointer, stride: Int) {
        let out = start.assumingMemoryBound(to: Double.self)
        samples.withUnsafeBufferPointer { input in
            guard let from = input.baseAddress else { return }
            var index = 0
            while index < input.count {
                out[index &* stride] = from[index]
                index &+= 1
            }
        }
    }

    /// Copies the low-order bytes of each sample: both sides are little-endian.
    private static func storeIntegers(
        _ samples: [Int32],
        at start: UnsafeMutableRawPointer,
        stride: Int,
        format: PCM.SampleFormat
    ) {
        let count = samples.count
        samples.withUnsafeBytes { raw in
            guard let from = raw.baseAddress else { return }
            var index = 0
            switch format {
            case .s32:
                let input = from.assumingMemoryBound(to: Int32.self)
                let out = start.assumingMemoryBound(to: Int32.self)
                while index < count {
                    out[index &* stride] = input[index]
                    index &+= 1
                }
            case .s16:
                let input = from.assumingMemoryBound(to: Int16.self)
                let out = start.assumingMemoryBound(to: Int16.self)
                while index < count {
                    out[index &* stride] = input[index &* 2]
                    index &+= 1
                }
            case .s24:
                let input = from.assumingMemoryBound(to: UInt8.self)
                let out = start.assumingMemoryBound(to: UInt8.self)
                while index < count {
                    let source = index &* 4
                    let target = index &* stride &* 3
                    out[target] = input[source]
                    out[target &+ 1] = input[source &+ 1]
                    out[target &+ 2] = input[source &+ 2]
                    index &+= 1
                }
            default:
                let input = from.assumingMemoryBound(to: UInt8.self)
                let out = start.assumingMemoryBound(to: UInt8.self)
                while index < count {
                    out[index &* stride] = input[index &* 4] ^ 0x80  // 8-bit samples are unsigned
                    index &+= 1
                }
            }
        }
    }
}
