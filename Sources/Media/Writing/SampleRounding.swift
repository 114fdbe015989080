/// Rounds runs of consecutive samples to fewer bits.
///
/// The loops are plain and free of branches, so that the compiler vectorises them.
struct SampleRounding {
    /// Significant bits of the result, from 8 to 32.
    let bits: Int
    /// Whether noise is added before rounding.
    let dithers: Bool

    /// The noise numbers of a run of samples: the first sample's, and the distance from each sample's to the next.
    struct Numbers {
        var first: UInt32
        var step: UInt32
    }

    // MARK: Integers

    /// Rounds 32-bit samples, with saturation.
    func round<Stored: RoundedSample>(
        _ source: UnsafePointer<Int32>,
        into target: UnsafeMutablePointer<Stored>,
        _ count: Int,
        _ numbers: Numbers
    ) {
        // Half the scale leaves headroom for noise above full scale.
        let dropped = UInt32(max(0, 31 - bits))
        let half: Int32 = dropped > 0 ? 1 &<< Int32(dropped - 1) : 0
        let (low, high) = limits
        let shift = Stored.width - Int32(bits)
        let (right, left) = (UInt32(max(0, 16 - Int(dropped))), Int32(max(0, Int(dropped) - 16)))
        let mean = Int32(bitPattern: (0xFFFF &>> right)) &<< left
        var number = numbers.first
        if dithers {
            for index in 0..<count {
                let word = DitherNoise.hash(number)
                number &+= numbers.step
                let noise = Int32(bitPattern: ((word & 0xFFFF) &>> right) &+ ((word &>> 16) &>> right)) &<< left
                let value = ((source[index] &>> 1) &+ noise &- mean &+ half) &>> Int32(dropped)
                target[index] = Stored.stored(min(max(value, low), high), shift)
            }
        } else {
            for index in 0..<count {
                let value = ((source[index] &>> 1) &+ half) &>> Int32(dropped)
                target[index] = Stored.stored(min(max(value, low), high), shift)
            }
        }
    }

    private var limits: (low: Int32, high: Int32) {
        bits >= 32 ? (.min, .max) : (-(1 &<< Int32(bits - 1)), (1 &<< Int32(bits - 1)) - 1)
    }

    // MARK: Floats

    /// Rounds samples whose full scale is 1, with saturation. Returns how many are beyond full scale by
    /// more than half a step, or NaN.
    func round<Source: FloatSample, Stored: RoundedSample>(
        _ source: UnsafePointer<Source>,
        into target: UnsafeMutablePointer<Stored>,
        _ count: Int,
        _ numbers: Numbers
    ) -> Int {
        let scale = Source.full(bits)
        let (low, high) = (-scale, scale - 1)
        let limit = scale + Source.half
        let shift = Stored.width - Int32(bits)
        var beyond: Int32 = 0
        var number = numbers.first
        if dithers {
            for index in 0..<count {
                let value = source[index] * scale
                beyond &+= value.magnitude <= limit ? 0 : 1
                let noisy = value + Source.noise(DitherNoise.triangle(number))
                number &+= numbers.step
                target[index] = Stored.stored(Source.rounded(min(max(noisy, low), high)), shift)
            }
        } else {
            for index in 0..<count {
                let value = source[index] * scale
                beyond &+= value.magnitude <= limit ? 0 : 1
                target[index] = Stored.stored(Source.rounded(min(max(value, low), high)), shift)
            }
        }
        return Int(beyond)
    }

    /// The index of the first sample that `bits` bits cannot represent; a sample beyond
    /// full scale counts as full scale.
    func firstMisfit<Source: FloatSample>(in samples: UnsafeBufferPointer<Source>) -> Int? {
        let scale = Source.full(bits)
        let (low, high) = (-scale, scale - 1)
        // A first pass over all samples, which the compiler vectorises; the index is searched for only if needed.
        var misfits: UInt32 = 0
        for index in samples.indices {
            misfits |= Source.fraction(min(max(samples[index] * scale, low), high))
        }
        guard misfits != 0 else { return nil }
        return samples.firstIndex { Source.fraction(min(max($0 * scale, low), high)) != 0 }
    }
}

/// A sample type that encoders take.
protocol RoundedSample {
    static var width: Int32 { get }
    /// A value shifted up to the width of the type.
    static func stored(_ value: Int32, _ shift: Int32) -> Self
}

extension Int16: RoundedSample {
    static var width: Int32 { 16 }
    @inline(__always)
    static func stored(_ value: Int32, _ shift: Int32) -> Int16 { Int16(truncatingIfNeeded: value &<< shift) }
}

extension Int32: RoundedSample {
    static var width: Int32 { 32 }
    @inline(__always)
    static func stored(_ value: Int32, _ shift: Int32) -> Int32 { value &<< shift }
}

extension UInt8: RoundedSample {
    static var width: Int32 { 8 }
    /// 128 is silence.
    @inline(__always)
    static func stored(_ value: Int32, _ shift: Int32) -> UInt8 { UInt8(truncatingIfNeeded: (value &<< shift) &+ 128) }
}

/// A sample type with more precision than the output.
protocol FloatSample: BinaryFloatingPoint where Magnitude == Self {
    static var half: Self { get }
    /// 2 to the power of `bits - 1`.
    static func full(_ bits: Int) -> Self
    static func noise(_ triangle: Int32) -> Self
    /// The nearest integer, for a value small enough that the type holds it exactly.
    static func rounded(_ value: Self) -> Int32
    /// 0 for an integer, otherwise not 0.
    static func fraction(_ value: Self) -> UInt32
}

extension Float: FloatSample {
    static var half: Float { 0.5 }
    static func full(_ bits: Int) -> Float { Float(sign: .plus, exponent: bits - 1, significand: 1) }
    @inline(__always)
    static func noise(_ triangle: Int32) -> Float { Float(triangle) * 0x1p-16 }

    /// Adding this leaves no bits for a fraction: the processor rounds, and the lower bits are the integer.
    private static var rounder: Float { 0x1.8p23 }

    @inline(__always)
    static func rounded(_ value: Float) -> Int32 {
        Int32(bitPattern: (value + rounder).bitPattern &- rounder.bitPattern)
    }

    @inline(__always)
    static func fraction(_ value: Float) -> UInt32 {
        (((value + rounder) - rounder).bitPattern ^ value.bitPattern) & 0x7FFF_FFFF
    }
}

extension Double: FloatSample {
    static var half: Double { 0.5 }
    static func full(_ bits: Int) -> Double { Double(sign: .plus, exponent: bits - 1, significand: 1) }
    @inline(__always)
    static func noise(_ triangle: Int32) -> Double { Double(triangle) * 0x1p-16 }

    private static var rounder: Double { 0x1.8p52 }

    @inline(__always)
    static func rounded(_ value: Double) -> Int32 { Int32(truncatingIfNeeded: (value + rounder).bitPattern) }

    @inline(__always)
    static func fraction(_ value: Double) -> UInt32 {
        let bits = (((value + rounder) - rounder).bitPattern ^ value.bitPattern) & 0x7FFF_FFFF_FFFF_FFFF
        return UInt32(truncatingIfNeeded: bits | bits &>> 32)
    }
}
