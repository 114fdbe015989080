extension WaveformPicture {
    /// How many pixels lines are wide: twice as many for a picture that is twice as high as the usual one, so that it looks
    /// the same on a screen with fine pixels.
    var scale: Int { max(1, min(8, height / 200)) }

    /// The parts of a column of pixels that are drawn beside one another, so that its edge is smooth.
    private static let parts = 4

    /// Writes the picture as PNG. Only one row of it is in memory.
    func writePNG(to sink: ByteSink) throws {
        let file = try PNGFile(width: width, height: height, to: sink)
        let scale = self.scale
        let area = self.area(scale: scale)
        let lanes = centres(scale: scale).enumerated().map { channel, centre in
            Lane(centre: Int(centre), columns: smoothColumns(of: channel, scale: scale))
        }
        let marks = hasAxis(scale: scale) ? axis(scale: scale).marks : []
        let texts = marks.map { StrokeText($0.text, scale: scale) }
        let blank = PixelRow(width: width, background: colours.background)
        for y in 0..<height {
            var row = blank
            guard y < area else {
                for (mark, text) in zip(marks, texts) { draw(text, of: mark, y - area - 5 * scale, scale, in: &row) }
                try file.add(row.bytes)
                continue
            }
            for mark in marks { row.fill(Int(mark.place), scale, with: colours.line, colours.lineOpacity) }
            for lane in lanes where (lane.centre..<lane.centre + scale).contains(y) {
                row.fill(0, width, with: colours.line, colours.lineOpacity)
            }
            for lane in lanes where lane.rows.contains(y) { draw(lane.columns, y, in: &row) }
            try file.add(row.bytes)
        }
        try file.finish()
    }

    /// Columns of which several share a pixel. Each also shows what is beside it, as far as a pixel is wide: so the wave is
    /// an area and not a line where its swings take longer than a column.
    private func smoothColumns(of channel: Int, scale: Int) -> [Column] {
        let columns = columns(of: channel, Self.parts * width, scale: scale)
        guard columns.count > width else { return columns }
        let reach = Self.parts / 2
        return columns.indices.map { index in
            var (top, bottom) = (columns[index].top, columns[index].bottom)
            for other in max(0, index - reach)...min(columns.count - 1, index + reach) {
                top = min(top, columns[other].top)
                bottom = max(bottom, columns[other].bottom)
            }
            return Column(top: top, bottom: bottom)
        }
    }

    private func draw(_ columns: [Column], _ y: Int, in row: inout PixelRow) {
        guard !columns.isEmpty else { return }
        let (upper, lower) = (Double(y), Double(y + 1))
        for x in 0..<width {
            let first = x * columns.count / width
            let end = max(first + 1, (x + 1) * columns.count / width)
            var covered = 0.0
            for column in columns[first..<end] {
                covered += max(0, min(column.bottom, lower) - max(column.top, upper))
            }
            if covered > 0 { row.blend(x, with: colours.wave, covered / Double(end - first)) }
        }
    }

    /// One row of the text of a mark.
    private func draw(_ text: StrokeText, of mark: TimeAxis.Mark, _ line: Int, _ scale: Int, in row: inout PixelRow) {
        let start = Int(mark.place) + 4 * scale
        // A text must not stick out of the picture.
        guard line >= 0, line < text.height, start + text.width <= width else { return }
        for x in 0..<text.width {
            let covered = text.coverage[line * text.width + x]
            if covered > 0 { row.blend(start + x, with: colours.text, Double(covered) / 255) }
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
