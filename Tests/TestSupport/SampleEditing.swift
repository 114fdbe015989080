import Glibc

/// Steps of a plain renderer of timelines, each on the samples of one channel.
public enum SampleEditing {
    /// A change of the level between two frames, in decibels at both ends.
    public struct Ramp: Sendable {
        let start: Int
        let end: Int
        let from: Double
        let to: Double
        let isDecibel: Bool

        /// Between the ends, a ramp grows evenly in decibels, or as a factor without `isDecibel`.
        public init(_ range: Range<Int>, from: Double, to: Double, isDecibel: Bool) {
            (start, end) = (range.lowerBound, range.upperBound)
            (self.from, self.to) = (from, to)
            self.isDecibel = isDecibel
        }
    }

    // MARK: Factors

    /// The factor of a gain in decibels.
    public static func amplitude(_ decibels: Double) -> Double { pow(10, decibels / 20) }

    /// A factor for each of `count` frames: it rises over the first `fade` frames, and is 1 from there on.
    public static func rise(over fade: Int, count: Int, isEqualPower: Bool) -> [Double] {
        (0..<count).map { frame in
            guard frame < fade else { return 1 }
            let part = (Double(frame) + 0.5) / Double(fade)
            return isEqualPower ? sin(part * .pi / 2) : part
        }
    }

    /// A factor for each of `count` frames: 1, and falling over the last `fade` frames.
    public static func fall(over fade: Int, count: Int, isEqualPower: Bool) -> [Double] {
        rise(over: fade, count: count, isEqualPower: isEqualPower).reversed()
    }

    /// A factor for each of `count` frames: `gain` before the first ramp, and behind the last one times the end of that.
    public static func levels(_ gain: Double, _ ramps: [Ramp], count: Int) -> [Double] {
        let factor = amplitude(gain)
        return (0..<count).map { factor * level($0, ramps) }
    }

    private static func level(_ frame: Int, _ ramps: [Ramp]) -> Double {
        var level = 1.0
        for ramp in ramps {
            if frame >= ramp.end {
                level = amplitude(ramp.to)
            } else if frame >= ramp.start {
                let part = (Double(frame - ramp.start) + 0.5) / Double(ramp.end - ramp.start)
                level =
                    ramp.isDecibel
                    ? amplitude(ramp.from + (ramp.to - ramp.from) * part)
                    : amplitude(ramp.from) + (amplitude(ramp.to) - amplitude(ramp.from)) * part
            }
        }
        return level
    }

    // MARK: Samples

    /// Each sample times the factor of its frame.
    public static func multiplied(_ samples: [Double], by factors: [Double]) -> [Double] {
        precondition(samples.count == factors.count, "each sample has a factor")
        return samples.indices.map { samples[$0] * factors[$0] }
    }

    /// Each sample times the same factor.
    public static func scaled(_ samples: [Double], by factor: Double) -> [Double] { samples.map { $0 * factor } }

    /// The mean of two channels.
    public static func mean(of one: [Double], and other: [Double]) -> [Double] {
        zip(one, other).map { ($0 + $1) / 2 }
    }

    /// The samples in reverse order.
    public static func reversed(_ samples: [Double]) -> [Double] { samples.reversed() }

    /// The samples over and over until there are `count`.
    public static func looped(_ samples: [Double], to count: Int) -> [Double] {
        (0..<count).map { samples[$0 % samples.count] }
    }

    /// Adds `samples` to those of `sum` from `start` on.
    public static func add(_ samples: [Double], to sum: inout [Double], at start: Int) {
        precondition(start >= 0 && start + samples.count <= sum.count, "the sum has room")
        for frame in samples.indices { sum[start + frame] += samples[frame] }
    }
}
