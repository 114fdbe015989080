import Conversion

/// Which frequencies the rows of a spectrogram show. Row 0 is the highest.
struct FrequencyRows: Sendable, Hashable {
    let scale: Recipe.Waveform.FrequencyScale
    let count: Int
    /// Half the sample rate.
    let highest: Double

    init(_ scale: Recipe.Waveform.FrequencyScale, count: Int, sampleRateHz: Int) {
        self.scale = scale
        self.count = max(1, count)
        highest = Double(max(2, sampleRateHz)) / 2
    }

    /// The frequency at a distance from the top, in rows.
    func frequency(at place: Double) -> Double {
        let height = 1 - place / Double(count)
        switch scale {
        case .linear: return highest * height
        case .mel: return Self.hertz(ofMel: Self.mel(of: highest) * height)
        }
    }

    /// How far from the top a frequency is, in rows.
    func place(of frequency: Double) -> Double {
        let height =
            switch scale {
            case .linear: frequency / highest
            case .mel: Self.mel(of: frequency) / Self.mel(of: highest)
            }
        return (1 - height) * Double(count)
    }

    /// O'Shaughnessy's formula: 1,000 mel are 1,000 Hz.
    private static func mel(of hertz: Double) -> Double { 2_595 * Exponent.decimal(1 + hertz / 700) }
    private static func hertz(ofMel mel: Double) -> Double { 700 * (Exponent.power(10, mel / 2_595) - 1) }

    /// What of a spectrum a row shows: the loudest of the frequencies from `first` to `last`; or, if none lies in the row, a
    /// value between those at `first` and behind it.
    struct Band: Sendable, Hashable {
        let first: Int
        let last: Int
        let share: Float

        func level(in powers: UnsafeBufferPointer<Float>) -> Float {
            guard first <= last else { return powers[last] + (powers[first] - powers[last]) * share }
            var greatest = powers[first]
            var index = first + 1
            while index <= last {
                greatest = max(greatest, powers[index])
                index += 1
            }
            return greatest
        }
    }

    /// The bands of all rows in a spectrum of `frequencies` values, from 0 to the highest.
    func bands(in frequencies: Int) -> [Band] {
        let steps = Double(frequencies - 1) / highest
        return (0..<count).map { row in
            let (low, high) = (frequency(at: Double(row + 1)) * steps, frequency(at: Double(row)) * steps)
            // The end of a row belongs to the row above, and the highest frequency to the top, whatever the logarithm makes of it.
            let first = max(0, Int(low.rounded(.up)))
            let last = row == 0 ? frequencies - 1 : min(frequencies - 1, Int(high.rounded(.up)) - 1)
            guard first > last else { return Band(first: first, last: last, share: 1) }
            let middle = min(max((low + high) / 2, 0), Double(frequencies - 1))
            let below = min(Int(middle), frequencies - 2)
            return Band(first: below + 1, last: below, share: Float(middle - Double(below)))
        }
    }

    /// A frequency with a label.
    struct Mark: Hashable {
        /// From the top, in rows.
        let place: Double
        let text: String
    }

    /// Frequencies that people count in, not closer than `distance` to one another, from above.
    func marks(distance: Double) -> [Mark] {
        var known: [Double] = []
        var decade = 10.0
        while decade < highest {
            known += [decade, decade * 2, decade * 5]
            decade *= 10
        }
        switch scale {
        case .linear:
            // There is room for one decimal of a kilohertz.
            let least: Double = highest < 1_000 ? 0 : 100
            let rowsPerHertz = Double(count) / highest
            let step = known.first { $0 >= least && $0 * rowsPerHertz >= distance } ?? highest
            let numbers = Int(highest / step)
            return (0...numbers).reversed().map { mark(of: Double($0) * step) }
        case .mel:
            var marks: [Mark] = []
            for frequency in known.reversed() where frequency <= highest {
                let next = mark(of: frequency)
                if let last = marks.last, next.place - last.place < distance { continue }
                // Where it would be cut off.
                if next.place > Double(count) - distance / 2 { break }
                marks.append(next)
            }
            return marks
        }
    }

    private func mark(of frequency: Double) -> Mark {
        Mark(place: place(of: frequency), text: Figures.hertz(Int(frequency.rounded())))
    }
}
