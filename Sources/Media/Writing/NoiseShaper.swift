import Conversion

/// Rounds samples with TPDF dither, and moves the noise away from the frequencies that ears hear best.
///
/// The error of each sample, filtered, is subtracted from later ones (error feedback). The noise then has the spectrum
/// of the filter `1 - c1 z^-1 - ... - c5 z^-5`: its total rises, but in the band from 2 to 5 kHz it falls.
///
/// The coefficients are those of the linear prediction of order 5 for a spectrum that is the inverse of Terhardt's
/// threshold of hearing, `3.64 k^-0.8 - 6.5 exp(-0.6 (k - 3.3)^2) + 0.001 k^4` dB at `k` kHz. So the noise weighted by
/// the threshold is as small as five coefficients allow. The threshold is limited to -10 and 25 dB, and below 1 kHz to
/// 10 dB: otherwise the filter would pile up noise where it is inaudible, and the total would rise by more than 8 dB.
/// `NoiseShaperTests` computes the coefficients again.
struct NoiseShaper {
    static let order = 5

    /// c1 to c5 for a sample rate; `nil` for rates without a filter.
    static func coefficients(atRate rate: Int) -> [Double]? {
        switch rate {
        case 44_100: [1.719, -1.320, 0.194, 0.384, -0.326]
        case 48_000: [1.728, -1.159, -0.079, 0.568, -0.348]
        default: nil
        }
    }

    private let bits: Int
    private let coefficients: [Double]
    /// The last errors of each channel, the newest first.
    private var errors: [Double]

    init?(rate: Int, channelCount: Int, bits: Int) {
        guard let coefficients = Self.coefficients(atRate: rate) else { return nil }
        (self.bits, self.coefficients) = (bits, coefficients)
        errors = [Double](repeating: 0, count: Self.order * channelCount)
    }

    /// Forgets all errors.
    mutating func restart() {
        for place in errors.indices { errors[place] = 0 }
    }

    /// Rounds `count` samples of one channel, `stride` apart. `scale` brings a sample to steps. Noise numbers are as in
    /// `SampleRounding`. Returns how many samples are beyond full scale by more than half a step, or NaN.
    ///
    /// A sample beyond full scale is clipped, and what clipping takes away is not an error to feed back: the noise does
    /// not grow with it.
    mutating func round<Source: ShapedSample, Stored: RoundedSample>(
        channel: Int,
        _ source: UnsafePointer<Source>,
        into target: UnsafeMutablePointer<Stored>,
        _ count: Int,
        stride: Int,
        _ numbers: SampleRounding.Numbers
    ) -> Int {
        let full = Double(sign: .plus, exponent: bits - 1, significand: 1)
        let scale = full / Source.fullScale
        let shift = Stored.width - Int32(bits)
        let (c1, c2, c3, c4, c5) = (
            coefficients[0], coefficients[1], coefficients[2], coefficients[3], coefficients[4]
        )
        let first = channel * Self.order
        var (e1, e2, e3, e4, e5) = (
            errors[first], errors[first + 1], errors[first + 2], errors[first + 3], errors[first + 4]
        )
        var beyond = 0
        var number = numbers.first
        var place = 0
        var left = count
        while left > 0 {
            let sample = source[place].asDouble * scale
            if !(sample.magnitude <= full + 0.5) { beyond += 1 }
            let wanted = sample - (c1 * e1 + c2 * e2 + c3 * e3 + c4 * e4 + c5 * e5)
            // Clipped before rounding, so that the result is a number of the type, whatever the sample.
            let noisy = min(max(wanted + Double.noise(DitherNoise.triangle(number)), -2 * full), 2 * full)
            let rounded = noisy.rounded(.toNearestOrEven)
            (e5, e4, e3, e2) = (e4, e3, e2, e1)
            let error = rounded - wanted
            e1 = error.magnitude <= 2 ? error : 0
            target[place] = Stored.stored(Int32(min(max(rounded, -full), full - 1)), shift)
            number &+= numbers.step
            place &+= stride
            left &-= 1
        }
        (errors[first], errors[first + 1], errors[first + 2]) = (e1, e2, e3)
        (errors[first + 3], errors[first + 4]) = (e4, e5)
        return beyond
    }
}

/// A sample type that the shaper takes.
protocol ShapedSample {
    /// The value of full scale.
    static var fullScale: Double { get }
    var asDouble: Double { get }
}

extension Int32: ShapedSample {
    static var fullScale: Double { 0x1p31 }
    @inline(__always)
    var asDouble: Double { Double(self) }
}

extension Float: ShapedSample {
    static var fullScale: Double { 1 }
    @inline(__always)
    var asDouble: Double { Double(self) }
}

extension Double: ShapedSample {
    static var fullScale: Double { 1 }
    @inline(__always)
    var asDouble: Double { self }
}
