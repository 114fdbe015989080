extension WaveformPicture {
    /// How many pixels lines are wide: twice as many for a picture that is twice as high as the usual one, so that it looks
    /// the same on a screen with fine pixels.
    var scale: Int { max(1, min(8, height / 200)) }

    /// Writes the picture as PNG. Only one row of it is in memory.
    func writePNG(to sink: ByteSink) throws {
        let file = try PNGFile(width: width, height: height, to: sink)
        let scale = self.scale
        let area = self.area(scale: scale)
        let lanes = centres(scale: scale).enumerated().map { channel, centre in
            Lane(centre: Int(centre), columns: columns(of: channel, scale: scale))
        }
        let marks = hasAxis(scale: scale) ? axis(scale: scale).marks : []
        let blank = PixelRow(width: width, background: colours.background)
        for y in 0..<height {
            var row = blank
            guard y < area else {
                let line = (y - area - 6 * scale) / scale
                if y >= area + 6 * scale, line < DigitGlyphs.height {
                    for mark in marks { draw(mark, line, scale, in: &row) }
                }
                try file.add(row.bytes)
                continue
            }
            for mark in marks { row.fill(Int(mark.place), scale, with: colours.line) }
            for lane in lanes where (lane.centre..<lane.centre + scale).contains(y) {
                row.fill(0, width, with: colours.line)
            }
            for lane in lanes where lane.rows.contains(y) { draw(lane.columns, y, in: &row) }
            try file.add(row.bytes)
        }
        try file.finish()
    }

    private func draw(_ columns: [Column], _ y: Int, in row: inout PixelRow) {
        guard !columns.isEmpty else { return }
        let (upper, lower) = (Double(y), Double(y + 1))
        for x in 0..<width {
            let column = columns[x * columns.count / width]
            let covered = min(column.bottom, lower) - max(column.top, upper)
            if covered > 0 { row.blend(x, with: colours.wave, covered) }
        }
    }

    /// One line of the text of a mark.
    private func draw(_ mark: TimeAxis.Mark, _ line: Int, _ scale: Int, in row: inout PixelRow) {
        let start = Int(mark.place) + 4 * scale
        let advance = (DigitGlyphs.width + 1) * scale
        // A text must not stick out of the picture.
        guard start + mark.text.count * advance <= width else { return }
        for (index, letter) in mark.text.enumerated() {
            let bits = DigitGlyphs.row(line, of: letter)
            for column in 0..<DigitGlyphs.width where bits >> (DigitGlyphs.width - 1 - column) & 1 == 1 {
                row.fill(start + index * advance + column * scale, scale, with: colours.text)
            }
        }
    }
}

/// What is drawn for a channel.
private struct Lane {
    let centre: Int
    let columns: [WaveformPicture.Column]
    /// The rows that the wave touches.
    let rows: ClosedRange<Int>

    init(centre: Int, columns: [WaveformPicture.Column]) {
        (self.centre, self.columns) = (centre, columns)
        let top = columns.map(\.top).min() ?? 0
        let bottom = columns.map(\.bottom).max() ?? 0
        rows = Int(top)...max(Int(top), Int(bottom))
    }
}

/// A row of pixels.
private struct PixelRow {
    /// Red, green, blue and opacity of each pixel.
    private(set) var bytes: [UInt8]

    init(width: Int, background: UInt32?) {
        bytes = [UInt8](repeating: 0, count: 4 * width)
        if let background { fill(0, width, with: background) }
    }

    /// Covers pixels, as far as they are in the row.
    mutating func fill(_ start: Int, _ count: Int, with colour: UInt32) {
        for x in max(0, start)..<max(0, start, min(start + count, bytes.count / 4)) { blend(x, with: colour, 1) }
    }

    /// Covers a part of a pixel.
    mutating func blend(_ x: Int, with colour: UInt32, _ covered: Double) {
        let place = 4 * x
        let below = Double(bytes[place + 3]) / 255 * (1 - covered)
        let opacity = covered + below
        for channel in 0..<3 {
            let new = Double(colour >> UInt32(16 - 8 * channel) & 0xFF)
            let mixed = (new * covered + Double(bytes[place + channel]) * below) / opacity
            bytes[place + channel] = UInt8(mixed.rounded())
        }
        bytes[place + 3] = UInt8((min(1, opacity) * 255).rounded())
    }
}

/// The letters of an axis, in five by seven pixels.
enum DigitGlyphs {
    static let width = 5
    static let height = 7

    /// The pixels of a row, the leftmost as the highest of five bits.
    static func row(_ row: Int, of letter: Character) -> UInt8 {
        glyphs[letter]?[row] ?? 0
    }

    private static let glyphs: [Character: [UInt8]] = [
        "0": [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
        "1": [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        "2": [0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111],
        "3": [0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110],
        "4": [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        "5": [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        "6": [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        "7": [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
        "8": [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        "9": [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
        ":": [0b00000, 0b00100, 0b00100, 0b00000, 0b00100, 0b00100, 0b00000],
        ".": [0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b01100, 0b01100],
    ]
}
