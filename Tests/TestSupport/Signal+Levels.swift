import Glibc

extension Signal {
    /// This signal with a level that swells between 0.2 and 1, in about a second and a quarter.
    public func swelling() -> Signal {
        let rate = Double(rate)
        return multiplied { 0.6 + 0.4 * sin($0 * 5 / rate) }
    }

    /// This signal with a level that wanders between -39 and -1 dB, so that blocks of all levels occur.
    public func wandering() -> Signal {
        let rate = Double(rate)
        return multiplied { place in
            let time = place / rate
            return pow(10, (-20 + 15 * sin(time) + 4 * sin(7.3 * time)) / 20)
        }
    }

    /// Low noise from noise: the sum of `count` samples from each on, a fifth as loud. The last `count` have none.
    public func movingSum(of count: Int) -> Signal {
        precondition(frames >= count, "there are samples to add")
        return Signal(
            rate: rate,
            channels: channels.map { samples in
                var sum = samples.prefix(count).reduce(0, +)
                return (0..<samples.count - count).map { frame in
                    let value = sum * 0.2
                    sum += samples[frame + count] - samples[frame]
                    return value
                }
            }
        )
    }

    /// A sine in one channel whose samples are all computed, while `tone` repeats the first period of some frequencies.
    public static func computedTone(_ frequency: Double, rate: Int, frames: Int, amplitude: Double) -> Signal {
        let step = 2 * Double.pi * frequency / Double(rate)
        return Signal(rate: rate, channels: [(0..<frames).map { amplitude * sin(step * Double($0)) }])
    }

    /// Each sample times the factor of its frame.
    private func multiplied(_ factor: (Double) -> Double) -> Signal {
        Signal(
            rate: rate,
            channels: channels.map { samples in samples.indices.map { samples[$0] * factor(Double($0)) } }
        )
    }
}
