/// Which columns of an overview a column of pixels shows.
struct PixelColumns {
    private struct Share {
        let first: Int
        /// How much of the first, of the last, and of each between them counts.
        let weights: [Float]
    }

    private let shares: [Share]

    init(_ width: Int, _ overview: SpectrumOverview, frames: Int64) {
        let columns = overview.count
        guard columns > 0, frames > 0 else {
            shares = []
            return
        }
        let perPixel = Double(frames) / Double(overview.framesPerColumn) / Double(width)
        shares = (0..<width).map { x in
            let (start, end) = (Double(x) * perPixel, Double(x + 1) * perPixel)
            guard perPixel > 1 else {
                // Between the middles of two columns.
                let middle = max(0, (start + end) / 2 - 0.5)
                let first = min(columns - 1, Int(middle))
                let part = Float(min(1, middle - Double(first)))
                return Share(first: first, weights: first + 1 < columns ? [1 - part, part] : [1])
            }
            let first = min(columns - 1, Int(start))
            let last = min(columns - 1, max(first, Int(end.rounded(.up)) - 1))
            let weights = (first...last).map { column -> Float in
                let (from, to) = (max(start, Double(column)), min(end, Double(column + 1)))
                return Float(max(0, to - from))
            }
            let sum: Float = weights.reduce(0, +)
            return Share(first: first, weights: sum > 0 ? weights.map { $0 / sum } : [1])
        }
    }

    /// In decibels.
    func level(_ x: Int, _ overview: SpectrumOverview, row: Int) -> Double {
        guard x < shares.count else { return SpectrogramPicture.decibels(0) }
        let share = shares[x]
        var power: Float = 0
        for (index, weight) in share.weights.enumerated() {
            power += overview.powers[(share.first + index) * overview.rows + row] * weight
        }
        return SpectrogramPicture.decibels(power)
    }
}
