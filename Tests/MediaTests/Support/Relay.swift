import TestSupport

extension Signal {
    /// One channel after the other sounds for `step` frames; channel `low` has a lower tone.
    static func relay(channels: Int, step: Int, rate: Int = 48_000, low: Int? = nil) -> Signal {
        stacked(
            (0..<channels).map { channel in
                let tone = Signal.tone(channel == low ? 60 : 500, rate: rate, frames: step, amplitude: 0.5)
                let before = Signal.silence(rate: rate, frames: channel * step)
                return before.followed(by: tone)
                    .followed(by: Signal.silence(rate: rate, frames: (channels - channel - 1) * step))
            }
        )
    }
}

extension PCM {
    /// The loudest channel in each step of a relay; -1 if none stands out by 14 dB.
    func loudestChannels(step: Int, from start: Int = 0) throws -> [Int] {
        try (0..<channels).map { number in
            let begin = start + number * step
            let levels = try cut(begin + step / 4..<begin + step * 3 / 4).rms
            let best = levels.indices.max { levels[$0] < levels[$1] } ?? -1
            let rest = levels.indices.filter { $0 != best }.map { levels[$0] }.max() ?? 0
            return rest < levels[best] / 5 ? best : -1
        }
    }
}
