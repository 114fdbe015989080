/// Keeps the spectra of sound of any length in constant memory: when it is full, it takes the mean of each two columns.
struct SpectrumOverview {
    /// The numbers of a column.
    let rows: Int
    /// The mean power of each row, column after column.
    private(set) var powers: [Float] = []
    /// The frames that a column stands for. The last column may stand for fewer.
    private(set) var framesPerColumn: Int
    private let capacity: Int
    /// The column that is not complete.
    private var sums: [Float]
    private var summands = 0

    /// Keeps at least half as many columns as `capacity`, if the sound has as many.
    init(rows: Int, capacity: Int, framesPerColumn: Int) {
        (self.rows, self.framesPerColumn) = (rows, framesPerColumn)
        self.capacity = max(2, capacity + capacity % 2)
        // An array that grows takes up to three times as much while it moves.
        powers.reserveCapacity(self.capacity * rows)
        sums = [Float](repeating: 0, count: rows)
    }

    var count: Int { powers.count / max(1, rows) }

    /// Adds one of the `share` spectra that a column has.
    mutating func add(_ spectrum: [Float], of share: Int) {
        for row in 0..<rows { sums[row] += spectrum[row] }
        summands += 1
        if summands >= share { finishColumn() }
    }

    /// Ends the last column.
    mutating func finish() {
        if summands > 0 { finishColumn() }
    }

    private mutating func finishColumn() {
        let factor = 1 / Float(summands)
        for row in 0..<rows {
            powers.append(sums[row] * factor)
            sums[row] = 0
        }
        summands = 0
        // The capacity is even, so that every column has a partner.
        if count == capacity { halve() }
    }

    private mutating func halve() {
        for column in 0..<count / 2 {
            let (first, second, target) = (2 * column * rows, (2 * column + 1) * rows, column * rows)
            for row in 0..<rows { powers[target + row] = (powers[first + row] + powers[second + row]) / 2 }
        }
        powers.removeLast(powers.count - count / 2 * rows)
        framesPerColumn *= 2
    }
}
