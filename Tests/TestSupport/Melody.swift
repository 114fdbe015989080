import Glibc

extension Signal {
    /// A short tune of about seven seconds for demonstrations: plucked notes over a soft bass, in stereo.
    public static func melody(rate: Int = 48_000, amplitude: Double = 0.7) -> Signal {
        let beat = 0.3
        // C, A minor, F, G, and back to C: four broken chords of eighth notes, as MIDI note numbers.
        let chords = [[64, 67, 72, 67], [64, 69, 72, 76], [65, 69, 72, 77], [67, 71, 74, 79]]
        let tune = chords.flatMap { $0 } + [76, 72]
        let bass = [48, 45, 41, 43, 48]
        var notes: [Note] = []
        for (index, number) in tune.enumerated() {
            let last = index == tune.count - 1
            notes.append(
                Note(
                    number: number,
                    start: Double(index) * beat,
                    seconds: last ? 1.8 : 0.9,
                    level: 0.55,
                    pan: 0.5 + 0.3 * sin(Double(index))
                )
            )
        }
        for (index, number) in bass.enumerated() {
            notes.append(
                Note(number: number, start: Double(index) * 4 * beat, seconds: 1.7, level: 0.45, pan: 0.5)
            )
        }

        let end = notes.map { $0.start + $0.seconds }.max() ?? 0
        let frames = Int(end * Double(rate)) + rate / 10
        var left = [Double](repeating: 0, count: frames)
        var right = left
        left.withUnsafeMutableBufferPointer { left in
            right.withUnsafeMutableBufferPointer { right in
                for note in notes { note.add(to: left, right, rate: rate) }
            }
        }
        let sum = Signal(rate: rate, channels: [left, right])
        let peak = max(left.max() ?? 0, -(left.min() ?? 0), right.max() ?? 0, -(right.min() ?? 0))
        return sum.scaled(by: amplitude / peak)
    }
}

/// One plucked note: a few harmonics; the higher ones decay sooner.
private struct Note {
    let number: Int
    let start: Double
    let seconds: Double
    let level: Double
    /// 0 is left, 1 is right.
    let pan: Double

    func add(to left: UnsafeMutableBufferPointer<Double>, _ right: UnsafeMutableBufferPointer<Double>, rate: Int) {
        let frequency = 440 * exp2(Double(number - 69) / 12)
        let first = Int(start * Double(rate))
        let frames = min(Int(seconds * Double(rate)), left.count - first)
        let attack = max(1, rate / 200)
        let release = max(1, rate / 20)
        let leftGain = level * cos(pan * .pi / 2)
        let rightGain = level * sin(pan * .pi / 2)
        for harmonic in 1...4 {
            let step = 2 * Double.pi * frequency * Double(harmonic) / Double(rate)
            guard step < .pi else { break }
            let decay = exp(-Double(1 + harmonic) / Double(rate))
            // A recurrence computes each sine value from the last two: no call to sin in the loop.
            let turn = 2 * cos(step)
            var before = -sin(step)
            var now = 0.0
            var envelope = 1 / Double(harmonic * harmonic)
            var frame = 0
            while frame < frames {
                var sample = now * envelope
                if frame < attack { sample *= Double(frame) / Double(attack) }
                if frames &- frame < release { sample *= Double(frames &- frame) / Double(release) }
                left[first &+ frame] += sample * leftGain
                right[first &+ frame] += sample * rightGain
                let next = turn * now - before
                before = now
                now = next
                envelope *= decay
                frame &+= 1
            }
        }
    }
}
