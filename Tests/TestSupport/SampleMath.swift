import Glibc

/// Figures of samples that tests compare with what they expect.
///
/// They stand here because this module is optimised in debug builds and the test modules are not. Of two lists of different
/// lengths, the samples that both have are compared.
public enum SampleMath {
    /// The sum of the squares of the samples in `range`, or of all.
    public static func energy(_ samples: [Double], in range: Range<Int>? = nil) -> Double {
        var sum = 0.0
        each(samples, in: range) { sum += $0 * $0 }
        return sum
    }

    /// The mean of the squares of the samples in `range`, or of all.
    public static func meanSquare(_ samples: [Double], in range: Range<Int>? = nil) -> Double {
        energy(samples, in: range) / Double(range?.count ?? samples.count)
    }

    /// The root of the mean of the squares of all samples.
    public static func rootMeanSquare(_ samples: [Double]) -> Double { meanSquare(samples).squareRoot() }

    /// The arithmetic mean.
    public static func mean(_ samples: [Double]) -> Double {
        var sum = 0.0
        each(samples) { sum += $0 }
        return sum / Double(samples.count)
    }

    /// The greatest absolute value of the samples in `range`, or of all; 0 if there are none.
    public static func peak(_ samples: [Double], in range: Range<Int>? = nil) -> Double {
        var peak = 0.0
        each(samples, in: range) { peak = max(peak, fabs($0)) }
        return peak
    }

    /// How many samples are less than `limit` away from zero.
    public static func count(_ samples: [Double], below limit: Double) -> Int {
        var count = 0
        each(samples) { if fabs($0) < limit { count &+= 1 } }
        return count
    }

    private static func each(_ samples: [Double], in range: Range<Int>? = nil, _ body: (Double) -> Void) {
        for sample in samples[range ?? 0..<samples.count] { body(sample) }
    }

    /// The first of the samples that have the greatest absolute value as singles; `nil` if there are none.
    public static func firstPeak(_ samples: [Double]) -> Int? {
        samples.withUnsafeBufferPointer { samples in
            var (place, peak): (Int?, Float) = (nil, -1)
            var frame = 0
            while frame < samples.count {
                let size = fabsf(Float(samples[frame]))
                if size > peak { (place, peak) = (frame, size) }
                frame &+= 1
            }
            return place
        }
    }

    // MARK: Two signals

    /// The greatest absolute value of `one - gain * other`; infinity if a difference is not a number.
    ///
    /// With `limit`, only where `other` is less than that away from zero.
    public static func greatestDifference(
        _ one: [Double],
        _ other: [Double],
        gain: Double = 1,
        whereBelow limit: Double = .infinity
    ) -> Double {
        one.withUnsafeBufferPointer { one in
            other.withUnsafeBufferPointer { other in
                var greatest = 0.0
                var frame = 0
                while frame < one.count, frame < other.count {
                    if limit == .infinity || fabs(other[frame]) < limit {
                        let difference = fabs(one[frame] - gain * other[frame])
                        if difference > greatest { greatest = difference }
                        if difference.isNaN { return .infinity }
                    }
                    frame &+= 1
                }
                return greatest
            }
        }
    }

    /// `one - other`, multiplied by `scale`.
    public static func differences(_ one: [Double], _ other: [Double], scale: Double = 1) -> [Double] {
        let count = min(one.count, other.count)
        return Signal.filled(count) { out in
            one.withUnsafeBufferPointer { one in
                other.withUnsafeBufferPointer { other in
                    var frame = 0
                    while frame < count {
                        out[frame] = (one[frame] - other[frame]) * scale
                        frame &+= 1
                    }
                }
            }
        }
    }

    /// The sum of the products of each sample and the one `lag` samples later.
    public static func autocorrelation(_ samples: [Double], lag: Int) -> Double {
        samples.withUnsafeBufferPointer { samples in
            var sum = 0.0
            var frame = 0
            while frame < samples.count &- lag {
                sum += samples[frame] * samples[frame &+ lag]
                frame &+= 1
            }
            return sum
        }
    }

    // MARK: Frequencies

    /// The sums of the products with a sine and a cosine whose phase grows by `step` radians from sample to sample.
    ///
    /// With `isWindowed`, under a Hann window over all samples.
    public static func toneSums(
        _ samples: [Double],
        step: Double,
        isWindowed: Bool = false
    ) -> (sine: Double, cosine: Double) {
        samples.withUnsafeBufferPointer { samples in
            var (sine, cosine) = (0.0, 0.0)
            let turn = 2 * Double.pi / Double(samples.count)
            var frame = 0
            while frame < samples.count {
                let place = Double(frame)
                let sample = samples[frame] * (isWindowed ? 0.5 - 0.5 * cos(turn * place) : 1)
                sine += sample * sin(step * place)
                cosine += sample * cos(step * place)
                frame &+= 1
            }
            return (sine, cosine)
        }
    }

    /// The sine and cosine that fit best by least squares, and the energy of the rest. The phase grows by `step` radians.
    public static func fittedTone(_ samples: [Double], step: Double) -> (sine: Double, cosine: Double, rest: Double) {
        samples.withUnsafeBufferPointer { samples in
            var (ss, sc, cc, ys, yc) = (0.0, 0.0, 0.0, 0.0, 0.0)
            var frame = 0
            while frame < samples.count {
                let (s, c) = (sin(step * Double(frame)), cos(step * Double(frame)))
                ss += s * s
                sc += s * c
                cc += c * c
                ys += samples[frame] * s
                yc += samples[frame] * c
                frame &+= 1
            }
            let determinant = ss * cc - sc * sc
            let sine = (ys * cc - yc * sc) / determinant
            let cosine = (yc * ss - ys * sc) / determinant
            var rest = 0.0
            frame = 0
            while frame < samples.count {
                let (s, c) = (sin(step * Double(frame)), cos(step * Double(frame)))
                let left = samples[frame] - sine * s - cosine * c
                rest += left * left
                frame &+= 1
            }
            return (sine, cosine, rest)
        }
    }

    /// The mean power between two frequencies in hertz, over windows of 1,024 samples (Hann).
    public static func bandPower(_ samples: [Double], rate: Int, _ band: ClosedRange<Double>) -> Double {
        let size = 1_024
        let window = (0..<size).map { 0.5 - 0.5 * cos(2 * .pi * Double($0) / Double(size)) }
        let bins = (0...size / 2).filter { band.contains(Double($0 * rate) / Double(size)) }
        var (sum, count) = (0.0, 0.0)
        for bin in bins {
            let angles = (0..<size).map { 2 * Double.pi * Double(bin * $0 % size) / Double(size) }
            let cosines = (0..<size).map { cos(angles[$0]) * window[$0] }
            let sines = (0..<size).map { sin(angles[$0]) * window[$0] }
            for start in stride(from: 0, through: samples.count - size, by: size) {
                let real = product(samples, from: start, cosines)
                let imaginary = product(samples, from: start, sines)
                sum += real * real + imaginary * imaginary
                count += 1
            }
        }
        return sum / count
    }

    /// The sum of the products of `wave` and the samples from `start` on.
    private static func product(_ samples: [Double], from start: Int, _ wave: [Double]) -> Double {
        precondition(start + wave.count <= samples.count, "the wave lies within the samples")
        return samples.withUnsafeBufferPointer { samples in
            wave.withUnsafeBufferPointer { wave in
                var sum = 0.0
                var place = 0
                while place < wave.count {
                    sum += samples[start &+ place] * wave[place]
                    place &+= 1
                }
                return sum
            }
        }
    }

    // MARK: Integers

    /// The least and the greatest sample of each window of `frames` samples, the last of which may be shorter.
    public static func extremes(_ samples: [Int16], every frames: Int) -> [Int16] {
        var extremes: [Int16] = []
        extremes.reserveCapacity(2 * (samples.count / frames + 1))
        for start in stride(from: 0, to: samples.count, by: frames) {
            let window = samples[start..<min(start + frames, samples.count)]
            extremes.append(window.min() ?? 0)
            extremes.append(window.max() ?? 0)
        }
        return extremes
    }

    /// The mean of the samples of each pair, towards zero. The last of an odd number of samples is left out.
    public static func meansOfPairs(_ samples: [Int16]) -> [Int16] {
        (0..<samples.count / 2).map { (pair: Int) -> Int16 in
            let sum: Int = Int(samples[2 * pair]) + Int(samples[2 * pair + 1])
            return Int16(sum / 2)
        }
    }
}
