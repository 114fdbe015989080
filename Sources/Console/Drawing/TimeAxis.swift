import Conversion

/// An axis of time as text: the times, and below them a line with a tick at each.
///
/// Positions are columns, so seconds as `Double` are exact enough here.
package struct TimeAxis {
    private let seconds: Double
    private let columns: Int
    private let usesUnicode: Bool

    package init(seconds: Double, columns: Int, usesUnicode: Bool) {
        self.seconds = seconds > 0 && seconds.isFinite ? seconds : 1
        (self.columns, self.usesUnicode) = (max(1, columns), usesUnicode)
    }

    package var secondsPerColumn: Double { seconds / Double(columns) }

    /// The column of a time: that of the end if it is not a number.
    package func column(_ time: Double) -> Int {
        guard time.isFinite else { return columns }
        return Int(min(max(0, (time / secondsPerColumn).rounded()), Double(columns)))
    }

    package var rows: (times: TextRow, marks: TextRow) {
        let (line, start, tick) = usesUnicode ? ("─", "├", "┼") : ("-", "+", "+")
        let step = Self.step(atLeast: secondsPerColumn * 10)
        var (times, marks) = (TextRow(columns + 12), TextRow(columns + 1))
        for column in 0...columns { marks.put(line, at: column) }
        var number: Int64 = 0
        while true {
            let time = step.multiplied(by: number)
            let column = column(time.seconds)
            guard time.isNumeric, time.seconds <= seconds, number <= columns else { break }
            marks.put(number == 0 ? start : tick, at: column)
            let text = "\(time)"
            if column + text.count <= columns { times.put(text, at: column) }
            number += 1
        }
        return (times, marks)
    }

    /// The shortest usual distance of ticks that is not below `seconds`.
    private static func step(atLeast seconds: Double) -> MediaTime {
        var steps: [MediaTime] = []
        for scale in [1_000_000_000, 1_000_000, 1_000] as [Int32] {
            steps += [1, 2, 5, 10, 20, 50, 100, 200, 500].map { MediaTime(value: $0, timescale: scale) }
        }
        let minute: Int64 = 60
        let hour = 60 * minute
        steps += [
            1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour,
            5 * hour, 10 * hour, 20 * hour, 50 * hour, 100 * hour, 200 * hour,
        ].map { MediaTime(value: $0, timescale: 1) }
        return steps.first { $0.seconds >= seconds } ?? steps[steps.count - 1]
    }
}
