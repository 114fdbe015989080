/// Where the marks of a time axis stand, and what they say.
struct TimeAxis {
    struct Mark: Hashable {
        /// From the left edge, in pixels.
        let place: Double
        let text: String
    }

    let marks: [Mark]

    /// Milliseconds that people count in.
    private static let steps: [Int64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
        600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000, 43_200_000, 86_400_000,
    ]

    /// Marks for sound of `seconds` over `width` pixels, not closer than `distance` to one another.
    init(seconds: Double, width: Int, distance: Double = 80) {
        guard seconds > 0, seconds < 1e9, width > 0 else {
            marks = []
            return
        }
        let pixels = Double(width) / seconds / 1_000
        let usual: Int64? = Self.steps.first { Double($0) * pixels >= distance }
        // Longer sound than any has a mark after many days.
        let days = Int64(seconds / 864_000) + 1
        let step: Int64 = usual ?? days * 86_400_000
        let count = Int64(seconds * 1_000) / step
        marks = (0...count).map { number in
            let time = number * step
            return Mark(place: Double(time) * pixels, text: Self.text(time, step))
        }
    }

    /// `0:05`, `1:02:30`, and with as many decimals as the step needs: `0:00.25`.
    private static func text(_ milliseconds: Int64, _ step: Int64) -> String {
        let seconds = milliseconds / 1_000
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
        let pair = { (number: Int64) -> String in number < 10 ? "0\(number)" : "\(number)" }
        let rest = pair(seconds % 60)
        let text = hours > 0 ? "\(hours):\(pair(minutes)):\(rest)" : "\(minutes):\(rest)"
        guard step < 1_000 else { return text }
        let decimals = step >= 100 ? 1 : step >= 10 ? 2 : 3
        let thousandths = milliseconds % 1_000
        let digits = "\(thousandths + 1_000)".dropFirst()
        return "\(text).\(digits.prefix(decimals))"
    }
}
