/// A picture whose columns are filled from a low to a high value: a waveform from its lowest to its highest sample, or a
/// level from the bottom.
package struct SpanPicture {
    private let spans: [ClosedRange<Double>?]
    private let scale: ClosedRange<Double>

    /// The spans are spread over the columns, whatever their number is; `nil` leaves a gap. `scale` has the values at the
    /// bottom and at the top; what is beyond them is cut.
    package init(_ spans: [ClosedRange<Double>?], scale: ClosedRange<Double>) {
        (self.spans, self.scale) = (spans, scale)
    }

    /// The lines, from the top down.
    package func lines(columns: Int, rows: Int, style: DrawingStyle) -> [String] {
        let (across, down) = (max(1, columns) * style.dotsAcross, max(1, rows) * style.dotsDown)
        let filled = (0..<across).map { extent(of: span(at: $0, of: across), down) }
        return (0..<max(1, rows)).map { row in
            var line = ""
            for column in 0..<max(1, columns) {
                line.append(
                    style.character { x, y in
                        filled[column * style.dotsAcross + x]?.contains(row * style.dotsDown + y) == true
                    }
                )
            }
            return line
        }
    }

    /// What of the spans falls into a column of dots.
    private func span(at column: Int, of columns: Int) -> ClosedRange<Double>? {
        guard !spans.isEmpty else { return nil }
        let first = column * spans.count / columns
        let last = max(first, (column + 1) * spans.count / columns - 1)
        var whole: ClosedRange<Double>?
        for case let span? in spans[first...last] {
            whole = whole.map { min($0.lowerBound, span.lowerBound)...max($0.upperBound, span.upperBound) } ?? span
        }
        return whole
    }

    /// The rows of dots from the top that a span fills: at least one.
    private func extent(of span: ClosedRange<Double>?, _ down: Int) -> ClosedRange<Int>? {
        guard let span else { return nil }
        let height = scale.upperBound - scale.lowerBound
        func row(_ value: Double) -> Double {
            guard value.isFinite, height > 0 else { return Double(down) }
            return (scale.upperBound - min(max(value, scale.lowerBound), scale.upperBound)) / height * Double(down)
        }
        let top = min(Int(row(span.upperBound).rounded(.down)), down - 1)
        let bottom = max(top, min(Int(row(span.lowerBound).rounded(.up)), down) - 1)
        return top...bottom
    }
}
