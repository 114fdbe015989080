extension WaveformPicture {
    /// The picture as SVG, as UTF-8.
    var svg: [UInt8] {
        var text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\""
        text += " viewBox=\"0 0 \(width) \(height)\" role=\"img\" aria-label=\"\(title)\">\n"
        if let background = colours.background {
            text += "<rect width=\"\(width)\" height=\"\(height)\" fill=\"\(background.hex)\"/>\n"
        }
        if hasAxis() { text += timeLines }
        var outlines = ""
        for (channel, centre) in centres().enumerated() {
            text += "<path d=\"M0,\(centre.short)H\(width)\"\(linePen)/>\n"
            if let path = outline(of: channel) {
                outlines += "<path d=\"\(path)\" fill=\"\(colours.wave.hex)\"/>\n"
            }
        }
        return Array((text + outlines + "</svg>\n").utf8)
    }

    /// Along the greatest samples to the right, and back along the least; `nil` without sound.
    private func outline(of channel: Int) -> String? {
        let columns = columns(of: channel, width)
        guard !columns.isEmpty else { return nil }
        let step = Double(width) / Double(columns.count)
        var (upper, lower): ([String], [String]) = ([], [])
        for (index, column) in columns.enumerated() {
            let place = ((Double(index) + 0.5) * step).short
            upper.append("\(place),\(column.top.short)")
            lower.append("\(place),\(column.bottom.short)")
        }
        let (there, back) = (upper.joined(separator: "L"), lower.reversed().joined(separator: "L"))
        return "M\(there)L\(back)Z"
    }

    private var linePen: String {
        let opacity = colours.lineOpacity < 1 ? " stroke-opacity=\"\(colours.lineOpacity)\"" : ""
        return " stroke=\"\(colours.line.hex)\"\(opacity) fill=\"none\""
    }

    private var timeLines: String {
        var (lines, words) = ("", "")
        for mark in axis().marks {
            lines += "M\(mark.place.short),0V\(area())"
            // A text must not stick out of the picture.
            guard mark.place + 44 < Double(width) else { continue }
            words += "<text x=\"\((mark.place + 4).short)\" y=\"\(area() + 14)\">\(mark.text)</text>\n"
        }
        guard !lines.isEmpty else { return "" }
        return "<path d=\"\(lines)\"\(linePen)/>\n"
            + "<g font-family=\"system-ui,sans-serif\" font-size=\"11\" fill=\"\(colours.text.hex)\">\n\(words)</g>\n"
    }
}

extension UInt32 {
    /// `#1f6f8b`
    fileprivate var hex: String {
        let digits = String(self, radix: 16)
        let zeros = String(repeating: "0", count: Swift.max(0, 6 - digits.count))
        return "#\(zeros)\(digits)"
    }
}

extension Double {
    /// With at most one decimal: `12.5`, `3`.
    fileprivate var short: String {
        let tenths = Int((self * 10).rounded())
        let (whole, rest) = (abs(tenths) / 10, abs(tenths) % 10)
        let sign = tenths < 0 ? "-" : ""
        return rest == 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(rest)"
    }
}
