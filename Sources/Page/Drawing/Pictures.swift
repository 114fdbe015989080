import API
import Conversion
import Ledger

/// Pictures in SVG, with attributes only. The words beside them say the same.
enum Picture {
    /// `12.5`: at most one decimal.
    static func number(_ value: Double) -> String {
        let text = Figures.decimals(value, 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// A path through values from 0 up to `most`: a unit wide for each value but the first, and 100 high. Whole numbers
    /// are short.
    private static func path(_ values: [Double], most: Double) -> String {
        let points = values.enumerated().map { place, value in
            "\(place),\(100 - Int(max(0, min(1, value / most)) * 98))"
        }
        return "M" + points.joined(separator: " ")
    }

    /// A line that fits into a cell.
    static func spark(_ values: [Double]) -> HTML {
        guard values.count > 1 else { return "" }
        let line = path(values, most: max(values.max() ?? 1, 1e-9))
        return """
            <svg class="spark" viewBox="0 0 \(values.count - 1) 100" preserveAspectRatio="none" aria-hidden="true">\
            <path class="a" d="\(line)V100H0z"/><path d="\(line)"/></svg>
            """
    }

    /// A bar for each value; nothing if all are zero.
    static func bars(_ values: [Double]) -> HTML {
        let most = values.max() ?? 0
        guard most > 0 else { return "" }
        var html: HTML = ""
        for (place, value) in values.enumerated() where value > 0 {
            // One failure can be seen beside a thousand.
            let height = max(4, Int((value / most * 100).rounded()))
            html += "<rect x=\"\(place)\" y=\"\(100 - height)\" width=\".8\" height=\"\(height)\"/>"
        }
        return """
            <svg class="spark" viewBox="0 0 \(values.count) 100" preserveAspectRatio="none" aria-hidden="true">\(html)</svg>
            """
    }

    /// A chart of values over time, up to a round number above the highest. `words` say what it shows.
    static func chart(_ values: [Double], words: String, marks: [String]) -> HTML {
        let top = roundNumber(above: values.max() ?? 0)
        let line = path(values, most: top)
        let width = max(1, values.count - 1)
        let scale: [String] = [top, top / 2, 0].map { $0 < 10 ? number($0) : Figures.grouped(Int64($0)) }
        func list(_ texts: [String]) -> HTML { .all(texts.map { "<li>\($0)</li>" }) }
        return """
            <figure class="chart"><svg viewBox="0 0 \(width) 100" preserveAspectRatio="none" role="img" \
            aria-label="\(words)"><path class="g" d="M0,26H\(width)M0,51H\(width)M0,75H\(width)"/>\
            <path class="a" d="\(line)V100H0z"/><path class="l" d="\(line)"/></svg>\
            <ol class="y" aria-hidden="true">\(list(scale))</ol><ol aria-hidden="true">\(list(marks))</ol></figure>
            """
    }

    /// 1, 2 or 5 times a power of ten.
    static func roundNumber(above value: Double) -> Double {
        var power = 1.0
        while power * 10 <= value, power < 1e12 { power *= 10 }
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= value } ?? value
    }

    /// The states of jobs, each as wide as its share.
    static func stack(_ jobs: JobCounts) -> HTML {
        let parts: [(HTML, Int)] = [
            ("c-done", jobs.completed), ("c-bad", jobs.failed), ("c-off", jobs.cancelled + jobs.accepted),
            ("c-skip", jobs.skipped), ("c-run", jobs.running + jobs.publishing),
        ]
        let total = Double(max(1, jobs.total))
        var (html, at): (HTML, Double) = ("", 0)
        for (kind, count) in parts where count > 0 {
            let width = Double(count) / total * 100
            html += """
                <rect class="\(kind)" x="\(Figures.decimals(at, 2))%" width="\(Figures.decimals(width, 2))%" height="100%"/>
                """
            at += width
        }
        return """
            <svg class="stack" width="600" height="18" role="img" aria-label="\(jobs.words)">\(html)</svg>
            """
    }

    /// The slots of a worker: each fills as its job advances. `nil` is a free one.
    static func slots(_ fills: [Double?]) -> HTML {
        // A picture with hundreds of slots would show nothing.
        guard (1...32).contains(fills.count) else { return "" }
        let width = fills.count * 9 - 2
        var (outlines, filled) = ("", "")
        for (slot, fill) in fills.enumerated() {
            outlines += "M\(slot * 9).5 .5h6v23h-6z"
            guard let fill else { continue }
            // A job that has just begun is told from a free slot.
            let height = max(2, Int((fill * 22).rounded()))
            filled += "M\(slot * 9 + 1) \(23 - height)h5v\(height)h-5z"
        }
        let busy = fills.count { $0 != nil }
        return """
            <svg class="slots" viewBox="0 0 \(width) 24" width="\(width)" height="24" role="img" \
            aria-label="\(busy) of \(fills.count) slots busy"><path class="o" d="\(outlines)"/>\
            <path class="v" d="\(filled)"/></svg>
            """
    }

    /// One slot beside a job.
    static func gate(_ fill: Double) -> HTML {
        let height = max(2, Int((max(0, min(1, fill)) * 14).rounded()))
        return """
            <svg class="gate" width="12" height="16" viewBox="0 0 12 16" aria-hidden="true">\
            <rect class="o" x=".5" y=".5" width="11" height="15"/>\
            <rect class="v" x="1" y="\(15 - height)" width="10" height="\(height)"/></svg>
            """
    }

    static func progress(_ share: Double) -> HTML {
        let percent = Int(max(0, min(1, share)) * 100)
        return "<progress value=\"\(percent)\" max=\"100\" aria-label=\"\(percent) % done\"></progress> \(percent)%"
    }

    /// Where a source of so many frames is damaged.
    static func damage(_ damage: DamageReport, frames: Int64) -> HTML {
        guard frames > 0, !damage.stretches.isEmpty else { return "" }
        var html: HTML = ""
        for stretch in damage.stretches.prefix(100) {
            let start = Double(stretch.start) / Double(frames) * 100
            // What is too short to be seen is drawn as wide as a hair.
            let width = max(0.3, Double(stretch.frames) / Double(frames) * 100)
            let (x, size) = (Figures.decimals(min(start, 99.7), 2), Figures.decimals(min(width, 100), 2))
            html += "<rect class=\"c-bad\" x=\"\(x)%\" width=\"\(size)%\" height=\"100%\"/>"
        }
        let words = "Damage at \(Figures.count(damage.stretchCount, "place"))"
        return "<svg class=\"stack\" width=\"600\" height=\"18\" role=\"img\" aria-label=\"\(words)\">\(html)</svg>"
    }
}
