/// Short texts of a picture, drawn with a pen: smooth in any size, and without a font.
struct StrokeText {
    let width: Int
    let height: Int
    /// How much of each pixel the text covers, row after row.
    let coverage: [UInt8]

    /// The height of digits, in units of which letters are drawn, and the unit of the usual size in pixels.
    private static let capHeight = 7.0
    private static let unit = 9.0 / 7
    private static let pen = 1.15

    /// `scale` 1 makes digits nine pixels high.
    init(_ text: String, scale: Int) {
        let unit = Self.unit * Double(scale)
        let radius = Self.pen * Double(scale) / 2
        let letters = text.map { Self.letters[$0] ?? Letter(width: 2, strokes: []) }
        let total = letters.reduce(0.0) { $0 + $1.width + Letter.gap }
        let width = Int((total * unit).rounded(.up)) + scale
        let height = Int(Self.capHeight * unit) + 2 * scale
        var coverage = [UInt8](repeating: 0, count: width * height)
        var left = Double(scale)
        for letter in letters {
            for stroke in letter.strokes {
                let points = stroke.map { Point(x: left + $0.x * unit, y: Double(scale) + $0.y * unit) }
                for index in points.indices {
                    let start = points[max(0, index - 1)]
                    Self.draw(from: start, to: points[index], radius, width, height, into: &coverage)
                }
            }
            left += ((letter.width + Letter.gap) * unit).rounded()
        }
        (self.width, self.height, self.coverage) = (width, height, coverage)
    }

    /// A filled rectangle.
    init(filling width: Int, _ height: Int) {
        (self.width, self.height) = (width, height)
        coverage = [UInt8](repeating: 255, count: width * height)
    }

    private static func draw(
        from start: Point,
        to end: Point,
        _ radius: Double,
        _ width: Int,
        _ height: Int,
        into coverage: inout [UInt8]
    ) {
        let reach = radius + 1
        let columns = max(0, Int(min(start.x, end.x) - reach))..<min(width, Int(max(start.x, end.x) + reach) + 1)
        let rows = max(0, Int(min(start.y, end.y) - reach))..<min(height, Int(max(start.y, end.y) + reach) + 1)
        for y in rows {
            for x in columns {
                let distance = Point(x: Double(x) + 0.5, y: Double(y) + 0.5).distance(fromLine: start, end)
                let covered = min(1, max(0, radius + 0.5 - distance))
                let place = y * width + x
                coverage[place] = max(coverage[place], UInt8((covered * 255).rounded()))
            }
        }
    }

    struct Point: Sendable {
        var x: Double
        var y: Double

        func distance(fromLine start: Point, _ end: Point) -> Double {
            let (alongX, alongY) = (end.x - start.x, end.y - start.y)
            let length = alongX * alongX + alongY * alongY
            let part = length > 0 ? ((x - start.x) * alongX + (y - start.y) * alongY) / length : 0
            let bounded = min(1, max(0, part))
            let (awayX, awayY) = (x - start.x - bounded * alongX, y - start.y - bounded * alongY)
            return (awayX * awayX + awayY * awayY).squareRoot()
        }
    }

    /// The lines of a letter, in a box seven units high.
    private struct Letter {
        static let gap = 1.5
        let width: Double
        let strokes: [[Point]]
    }

    private static func line(_ numbers: Double...) -> [Point] {
        stride(from: 0, to: numbers.count - 1, by: 2).map { Point(x: numbers[$0], y: numbers[$0 + 1]) }
    }

    /// A part of an ellipse, clockwise, in degrees from the right.
    private static func arc(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ from: Double, _ to: Double)
        -> [Point]
    {
        (0...16).map { step in
            let turn = Exponent.turn((from + (to - from) * Double(step) / 16) / 360)
            return Point(x: x + width * turn.x, y: y + height * turn.y)
        }
    }

    /// Half a turn around the middle.
    private static func turned(_ strokes: [[Point]], width: Double) -> [[Point]] {
        strokes.map { $0.map { Point(x: width - $0.x, y: capHeight - $0.y) } }
    }

    private static let letters: [Character: Letter] = {
        let six: [[Point]] = [
            arc(2, 4.9, 1.8, 2.1, 0, 360), line(0.2, 4.9, 0.3, 3.9, 0.65, 2.85, 1.3, 1.8, 2.1, 0.85, 2.9, 0),
        ]
        let three: [Point] = arc(1.9, 1.65, 1.65, 1.65, 205, 450) + arc(1.9, 5.15, 1.85, 1.85, 270, 515)
        var letters: [Character: Letter] = [:]
        letters["0"] = Letter(width: 4, strokes: [arc(2, 3.5, 1.85, 3.5, 0, 360)])
        letters["1"] = Letter(width: 4, strokes: [line(0.6, 1.5, 2.3, 0, 2.3, 7)])
        letters["2"] = Letter(width: 4, strokes: [arc(2, 1.95, 1.75, 1.95, 195, 395) + line(0.2, 7, 3.9, 7)])
        letters["3"] = Letter(width: 4, strokes: [three])
        letters["4"] = Letter(width: 4, strokes: [line(3, 7, 3, 0, 0.1, 4.9, 4, 4.9)])
        letters["5"] = Letter(
            width: 4,
            strokes: [line(3.6, 0, 0.7, 0, 0.4, 3.3) + arc(1.9, 4.75, 1.9, 2.25, 220, 510)]
        )
        letters["6"] = Letter(width: 4, strokes: six)
        letters["7"] = Letter(width: 4, strokes: [line(0.2, 0, 3.8, 0, 1.4, 7)])
        letters["8"] = Letter(width: 4, strokes: [arc(2, 1.7, 1.55, 1.7, 0, 360), arc(2, 5.2, 1.85, 1.8, 0, 360)])
        letters["9"] = Letter(width: 4, strokes: turned(six, width: 4))
        letters[":"] = Letter(width: 0.9, strokes: [line(0.45, 2.4), line(0.45, 6.5)])
        letters["."] = Letter(width: 0.9, strokes: [line(0.45, 6.7)])
        letters["-"] = Letter(width: 2.6, strokes: [line(0.3, 4.1, 2.3, 4.1)])
        letters["B"] = Letter(
            width: 3.8,
            strokes: [
                line(0.4, 7, 0.4, 0, 2, 0) + arc(2, 1.65, 1.4, 1.65, 270, 450) + line(0.4, 3.3),
                line(2, 3.3) + arc(2, 5.15, 1.7, 1.85, 270, 450) + line(0.4, 7),
            ]
        )
        letters["H"] = Letter(
            width: 4,
            strokes: [line(0.3, 0, 0.3, 7), line(3.9, 0, 3.9, 7), line(0.3, 3.4, 3.9, 3.4)]
        )
        letters["d"] = Letter(width: 3.4, strokes: [arc(1.65, 4.75, 1.45, 2.25, 0, 360), line(3.1, 0, 3.1, 7)])
        letters["k"] = Letter(
            width: 3.2,
            strokes: [line(0.4, 0, 0.4, 7), line(3, 2.4, 0.4, 5), line(1.4, 4.1, 3.2, 7)]
        )
        letters["z"] = Letter(width: 3.2, strokes: [line(0.3, 2.5, 3, 2.5, 0.3, 7, 3.1, 7)])
        return letters
    }()
}
