import Glibc

extension Signal {
    /// Seeded mono babble with voiced bursts, formants, hisses and pauses, like recorded speech.
    ///
    /// For benches of short clips, and for encoders that treat speech in a special way.
    public static func speechLike(
        seed: UInt64,
        rate: Int = 8_000,
        seconds: Double = 4,
        amplitude: Double = 0.5
    ) -> Signal {
        var generator = SeededGenerator(seed: seed)
        let frames = Int(seconds * Double(rate))
        let samples = filled(frames) { out in
            out.update(repeating: 0, count: frames)
            let pitch = generator.number(in: 95..<210)
            var frame = Int(generator.number(in: 0.02..<0.2) * Double(rate))
            while frame < frames {
                let length = Int(generator.number(in: 0.06..<0.28) * Double(rate))
                let room = min(length, frames - frame)
                if generator.unit() < 0.2 {
                    hiss(out + frame, room, amplitude: amplitude * 0.15, &generator)
                } else {
                    vowel(out + frame, room, rate: rate, pitch: pitch, amplitude: amplitude, &generator)
                }
                frame += length
                // Usually the next syllable follows at once; now and then there is a pause for breath.
                let isBreath = generator.unit() < 0.18
                frame += Int(generator.number(in: isBreath ? 0.25..<0.6 : 0.01..<0.06) * Double(rate))
            }
        }
        return Signal(rate: rate, channels: [samples])
    }

    /// Harmonics of a gliding pitch, weighted by three seeded formants.
    private static func vowel(
        _ out: UnsafeMutablePointer<Double>,
        _ frames: Int,
        rate: Int,
        pitch: Double,
        amplitude: Double,
        _ generator: inout SeededGenerator
    ) {
        let formants = [
            (frequency: generator.number(in: 280..<800), level: 1.0),
            (frequency: generator.number(in: 850..<2_200), level: 0.5),
            (frequency: generator.number(in: 2_300..<3_200), level: 0.2),
        ]
        let base = pitch * generator.number(in: 0.9..<1.15)
        let glide = generator.number(in: -0.12..<0.12)
        let loudness = amplitude * generator.number(in: 0.4..<1)
        let harmonics = min(24, Int(0.45 * Double(rate) / (base * 1.12)))
        guard harmonics > 0, frames > 0 else { return }
        let weights = (1...harmonics).map { harmonic in
            formants.reduce(0) { sum, formant in
                let distance = (Double(harmonic) * base - formant.frequency) / 120
                return sum + formant.level / (1 + distance * distance)
            } + 0.02
        }
        let scale = loudness / weights.reduce(0, +)

        weights.withUnsafeBufferPointer { weights in
            var phase = 0.0
            var frame = 0
            while frame < frames {
                let position = Double(frame) / Double(frames)
                phase += 2 * Double.pi * base * (1 + glide * position) / Double(rate)
                // Computes sin(n x) by recurrence from sin(x) and cos(x).
                let turn = 2 * cos(phase)
                var before = 0.0
                var now = sin(phase)
                var sum = 0.0
                var harmonic = 0
                while harmonic < harmonics {
                    sum += weights[harmonic] * now
                    let next = turn * now - before
                    before = now
                    now = next
                    harmonic &+= 1
                }
                out[frame] = sum * scale * sin(.pi * position)
                frame &+= 1
            }
        }
    }

    /// Noise that swells and fades, like the sound of an s.
    private static func hiss(
        _ out: UnsafeMutablePointer<Double>,
        _ frames: Int,
        amplitude: Double,
        _ generator: inout SeededGenerator
    ) {
        var frame = 0
        while frame < frames {
            let swell = sin(.pi * Double(frame) / Double(frames))
            out[frame] = (generator.unit() * 2 - 1) * amplitude * swell
            frame &+= 1
        }
    }
}
