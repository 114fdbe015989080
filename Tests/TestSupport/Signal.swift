import Glibc

/// Computed audio: one array of samples per channel; full scale is 1.
///
/// Doubles hold every integer sample of up to 32 bits exactly; `integers(bits:)` and `pcm(_:)` quantise.
public struct Signal: Sendable, Equatable {
    /// In hertz.
    public let rate: Int
    /// The samples of each channel.
    public let channels: [[Double]]

    /// All channels must have the same length.
    public init(rate: Int, channels: [[Double]]) {
        precondition(Set(channels.map(\.count)).count <= 1, "the channels of a signal are of one length")
        self.rate = rate
        self.channels = channels
    }

    /// The length of every channel.
    public var frames: Int { channels.first?.count ?? 0 }

    /// The same sine in every channel, starting at phase 0.
    public static func tone(
        _ frequency: Double,
        rate: Int,
        frames: Int,
        channels: Int = 1,
        amplitude: Double = 0.5
    ) -> Signal {
        // A sine of a whole number of hertz repeats after this many frames: compute one period and copy it.
        let period =
            frequency >= 1 && frequency < Double(rate) && frequency == frequency.rounded()
            ? rate / greatestCommonDivisor(rate, Int(frequency)) : frames
        let step = 2 * Double.pi * frequency / Double(rate)
        let samples = filled(frames) { out in
            let computed = min(period, frames)
            var frame = 0
            while frame < computed {
                out[frame] = amplitude * sin(step * Double(frame))
                frame &+= 1
            }
            var done = computed
            while done < frames {
                let count = min(computed, frames - done)
                (out + done).update(from: out, count: count)
                done += count
            }
        }
        return Signal(rate: rate, channels: Array(repeating: samples, count: channels))
    }

    /// A sine that glides from one frequency to another, linearly in time. Good for finding a lag.
    public static func sweep(
        from first: Double = 100,
        to last: Double? = nil,
        rate: Int,
        frames: Int,
        channels: Int = 1,
        amplitude: Double = 0.5
    ) -> Signal {
        let end = last ?? Double(rate) * 0.4
        let linear = 2 * Double.pi * first / Double(rate)
        let quadratic = Double.pi * (end - first) / Double(rate) / Double(max(frames, 1))
        let samples = filled(frames) { out in
            var frame = 0
            while frame < frames {
                let position = Double(frame)
                out[frame] = amplitude * sin((linear + quadratic * position) * position)
                frame &+= 1
            }
        }
        return Signal(rate: rate, channels: Array(repeating: samples, count: channels))
    }

    /// Silence except for one sample of `amplitude` at `frame` in every channel.
    public static func impulse(
        at frame: Int,
        rate: Int,
        frames: Int,
        channels: Int = 1,
        amplitude: Double = 0.9
    ) -> Signal {
        precondition(frame >= 0 && frame < frames, "the impulse lies within the signal")
        var samples = [Double](repeating: 0, count: frames)
        samples[frame] = amplitude
        return Signal(rate: rate, channels: Array(repeating: samples, count: channels))
    }

    /// Digital silence.
    public static func silence(rate: Int, frames: Int, channels: Int = 1) -> Signal {
        Signal(rate: rate, channels: Array(repeating: [Double](repeating: 0, count: frames), count: channels))
    }

    /// A full-scale 24-bit sawtooth that visits every value of the low 8 bits in any 256 frames.
    ///
    /// Code that drops, dithers or rounds a low-order bit changes it. Channels start at different values.
    public static func ramp24(rate: Int, frames: Int, channels: Int = 1) -> Signal {
        Signal(
            rate: rate,
            channels: (0..<channels).map { channel in
                filled(frames) { out in
                    var value = channel * 1_000_003
                    var frame = 0
                    while frame < frames {
                        out[frame] = Double((value & 0xFF_FFFF) &- 0x80_0000) * 0x1p-23
                        value = value &+ 4_099  // odd, so that the low bits take every value
                        frame &+= 1
                    }
                }
            }
        )
    }

    /// White noise between -`amplitude` and `amplitude`, different in each channel.
    public static func noise(
        seed: UInt64,
        rate: Int,
        frames: Int,
        channels: Int = 1,
        amplitude: Double = 0.5
    ) -> Signal {
        var generator = SeededGenerator(seed: seed)
        let all = (0..<channels).map { _ in
            filled(frames) { out in
                let scale = 2 * amplitude
                var frame = 0
                while frame < frames {
                    out[frame] = generator.unit() * scale - amplitude
                    frame &+= 1
                }
            }
        }
        return Signal(rate: rate, channels: all)
    }

    /// The channels of several signals side by side in one signal. All must have the same rate and length.
    public static func stacked(_ signals: [Signal]) -> Signal {
        precondition(Set(signals.map(\.rate)).count == 1, "stacked signals are of one rate")
        return Signal(rate: signals[0].rate, channels: signals.flatMap(\.channels))
    }

    /// This signal followed by `next`, which must have the same rate and channel count.
    public func followed(by next: Signal) -> Signal {
        precondition(rate == next.rate && channels.count == next.channels.count, "both are of one rate and width")
        return Signal(rate: rate, channels: zip(channels, next.channels).map { $0 + $1 })
    }

    /// This signal with every sample multiplied by `factor`.
    public func scaled(by factor: Double) -> Signal {
        Signal(
            rate: rate,
            channels: channels.map { samples in
                Self.filled(samples.count) { out in
                    samples.withUnsafeBufferPointer { input in
                        var frame = 0
                        while frame < input.count {
                            out[frame] = input[frame] * factor
                            frame &+= 1
                        }
                    }
                }
            }
        )
    }

    /// Calls `fill` once with space for `count` samples; `fill` must write all of them.
    static func filled(_ count: Int, _ fill: (UnsafeMutablePointer<Double>) -> Void) -> [Double] {
        guard count > 0 else { return [] }
        return [Double](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let start = buffer.baseAddress {
                fill(start)
                initialized = count
            }
        }
    }

    private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
        b == 0 ? a : greatestCommonDivisor(b, a % b)
    }
}
