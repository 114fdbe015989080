import Conversion

/// Collects the outline of a sound in constant memory: parts become twice as long whenever there would be too many.
struct OutlineMeter {
    private var parts: [Part] = []
    private var current = Part()
    private var stepsInCurrent = 0
    private var stepsPerPart = 1

    private struct Part {
        var lowest = Float.infinity
        var highest = -Float.infinity
        /// The highest mean energy of a window.
        var momentary = 0.0

        var hasSamples: Bool { lowest <= highest }

        mutating func join(_ other: Part) {
            (lowest, highest) = (min(lowest, other.lowest), max(highest, other.highest))
            momentary = max(momentary, other.momentary)
        }
    }

    /// Adds samples of any channels.
    mutating func add(_ samples: UnsafePointer<Float>, count: Int) {
        // A sample that is not a number is neither lower nor higher.
        for sample in UnsafeBufferPointer(start: samples, count: count) {
            if sample < current.lowest { current.lowest = sample }
            if sample > current.highest { current.highest = sample }
        }
    }

    /// Ends a step of the meter. `momentary` is the mean energy of the 400 ms before its end.
    mutating func endStep(momentary: Double) {
        if momentary > current.momentary { current.momentary = momentary }
        stepsInCurrent += 1
        if stepsInCurrent == stepsPerPart { endPart() }
    }

    private mutating func endPart() {
        if parts.count == SoundOutline.mostParts {
            parts = stride(from: 0, to: parts.count, by: 2).map { place in
                var part = parts[place]
                part.join(parts[place + 1])
                return part
            }
            stepsPerPart *= 2
            // The part that has just ended is the first half of the next one.
            if stepsInCurrent < stepsPerPart { return }
        }
        parts.append(current)
        (current, stepsInCurrent) = (Part(), 0)
    }

    /// The outline of everything that was added.
    var outline: SoundOutline {
        var whole = self
        // Less than a step, or less than a part.
        if whole.current.hasSamples { whole.endPart() }
        if whole.current.hasSamples { whole.parts.append(whole.current) }
        return SoundOutline(
            secondsPerPart: Double(whole.stepsPerPart) / Double(LoudnessWindows.stepsPerSecond),
            lowest: whole.parts.map { $0.hasSamples ? Self.figure($0.lowest) : 0 },
            highest: whole.parts.map { $0.hasSamples ? Self.figure($0.highest) : 0 },
            momentaryLUFS: whole.parts.map { part in
                let level = LoudnessScale.lufs(part.momentary)
                return level.isFinite && level >= SoundOutline.silenceLUFS ? (level * 10).rounded() / 10 + 0 : nil
            }
        )
    }

    /// To four decimals, which is more than a picture shows. A source of floats may have samples that are infinite.
    private static func figure(_ sample: Float) -> Double {
        let limit = SoundOutline.largestSample
        return (min(max(Double(sample), -limit), limit) * 10_000).rounded() / 10_000 + 0
    }
}
