/// A text or a line at its place in a picture.
struct PlacedText {
    let text: StrokeText
    let left: Int
    let top: Int

    init(_ text: String, endingAt right: Int, around y: Int, _ scale: Int) {
        self.text = StrokeText(text, scale: scale)
        (left, top) = (right - self.text.width, y - self.text.height / 2)
    }

    init(_ text: String, startingAt left: Int, around y: Int, _ scale: Int) {
        self.text = StrokeText(text, scale: scale)
        (self.left, top) = (left, y - self.text.height / 2)
    }

    init(_ text: String, around x: Int, from top: Int, _ scale: Int) {
        self.text = StrokeText(text, scale: scale)
        (left, self.top) = (x - self.text.width / 2, top)
    }

    /// A filled rectangle.
    init(line x: Int, _ y: Int, _ width: Int, _ height: Int) {
        text = StrokeText(filling: width, height)
        (left, top) = (x, y)
    }

    func draw(_ y: Int, in row: inout [UInt8], shade: (UInt8) -> UInt8) {
        let line = y - top
        guard line >= 0, line < text.height else { return }
        for x in 0..<text.width where row.indices.contains(left + x) {
            let covered = text.coverage[line * text.width + x]
            if covered > 0 { row[left + x] = shade(covered) }
        }
    }
}
