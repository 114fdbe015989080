import Console
import Conversion
import FoundationEssentials

/// Pictures: the end of jobs over time, and the loudness. SVG with attributes only; the words beside it say the same.
extension ReportPage {
    // MARK: - Progress

    var progress: HTML? {
        let parts = report.progress.parts
        guard parts.count >= 4, let start = report.progress.startsAt else { return nil }
        let length = report.progress.secondsPerPart
        let most = max(1, parts.map(\.ended).max() ?? 1)
        // What is there can be seen: one failure beside a thousand completed jobs.
        func height(_ count: Int) -> String { Figures.decimals(max(2.5, Double(count) * 100 / Double(most)), 1) }
        var (ended, failed) = ("", "")
        for (place, part) in parts.enumerated() where part.ended > 0 {
            ended += "M\(place) 100v-\(height(part.ended))h.86V100z"
            if part.failed > 0 { failed += "M\(place) 100v-\(height(part.failed))h.86V100z" }
        }
        let end = start.addingTimeInterval(length * Double(parts.count))
        let middle = start.addingTimeInterval(length * Double(parts.count) / 2)
        let peak = "at most \(Figures.count(most, "job")) in \(Figures.duration(seconds: length)), times in UTC"
        let failures = report.failedJobs > 0 ? "; failures in red" : ""
        // Within few minutes, the minutes are the same.
        let digits = end.timeIntervalSince(start) < 300 ? 19 : 16
        let labels: HTML = "\(Self.label(start, digits))\(Self.label(middle, digits))\(Self.label(end, digits))"
        return """
            <section>
            <h2>When jobs ended <small>\(peak)\(failures)</small></h2>
            <figure class="chart">
            <svg viewBox="0 0 \(parts.count) 100" preserveAspectRatio="none" role="img" \
            aria-label="jobs that ended over time: \(peak)">\
            <path class="g" d="M0 0H\(parts.count)M0 50H\(parts.count)"/><path class="done" d="\(ended)"/>\
            <path class="bad" d="\(failed)"/></svg>
            <ol class="y" aria-hidden="true"><li>\(Figures.grouped(most))</li><li>0</li></ol>
            <ol class="x">\(labels)</ol>
            </figure>
            </section>
            """
    }

    /// `2026-11-20 09:12`, or with `digits` for the seconds.
    private static func label(_ date: Date, _ digits: Int) -> HTML {
        let text = date.formatted(.iso8601)
        let words = text.replacing("T", with: " ").prefix(digits)
        return "<li><time datetime=\"\(text)\">\(String(words))</time></li>"
    }

    // MARK: - Loudness

    var loudness: HTML? {
        let levels = report.loudness
        guard !levels.isEmpty else { return nil }
        var html: HTML = "<section>\n<h2>Loudness <small>integrated, EBU R 128</small></h2>\n"
        for (name, spread) in [("sources", levels.sources), ("outputs", levels.outputs)] {
            guard let low = spread.lowestLUFS, let high = spread.highestLUFS, let middle = spread.medianLUFS else {
                continue
            }
            let count = Figures.count(spread.files, String(name.dropLast()))
            let range = "\(LoudnessWords.figure(low)) to \(LoudnessWords.lufs(high))"
            let half = "half of them at most \(LoudnessWords.lufs(middle))"
            html += "<p><span class=\"k \(name)\"></span>\(count): \(range), \(half).</p>\n"
        }
        if levels.unmeasured > 0 {
            let them = Figures.subject(levels.unmeasured, "source")
            html += "<p class=\"soft\">\(them) too quiet or too short to measure.</p>\n"
        }
        if let chart = levelChart { html += chart }
        html += "</section>"
        return html
    }

    /// The levels of sources above the line and those of outputs below it, each to its own scale: outputs are so much more
    /// alike that one scale for both would show only them.
    private var levelChart: HTML? {
        let (sources, outputs) = (report.loudness.sources, report.loudness.outputs)
        let ranges = [sources.range, outputs.range].compactMap { $0 }
        guard let low = ranges.map(\.lowerBound).min(), let high = ranges.map(\.upperBound).max() else { return nil }
        // A few files of one level would be one block as wide as the page.
        let (first, last) = (min(low, high - 11) - 1, high + 1)
        let columns = last - first + 1
        func most(_ spread: LevelSpread) -> Int { (first...last).map { spread.files(at: $0) }.max() ?? 0 }
        func bars(_ spread: LevelSpread, _ direction: String) -> String {
            let most = max(1, most(spread))
            var path = ""
            for level in first...last where spread.files(at: level) > 0 {
                // What is there can be seen.
                let height = max(1.5, Double(spread.files(at: level)) * 100 / Double(most))
                path += "M\(level - first).1 100v\(direction)\(Figures.decimals(height, 1))h.8V100z"
            }
            return path
        }
        let bottom = outputs.files > 0 ? 200 : 100
        var html: HTML = """
            <figure class="chart\(outputs.files > 0 ? " both" : "")">
            <svg viewBox="0 0 \(columns) \(bottom)" preserveAspectRatio="none" aria-hidden="true">\
            <path class="from" d="\(bars(sources, "-"))"/><path class="done" d="\(bars(outputs, ""))"/>\
            <path class="axis" d="M0 100H\(columns)"/>
            """
        for target in report.loudness.targetsLUFS where target.isFinite {
            let place = target - Double(first) + 0.5
            guard place > 0, place < Double(columns) else { continue }
            html += "<path class=\"aim\" d=\"M\(Figures.decimals(place, 2)) 0V\(bottom)\"/>"
        }
        let middle = (first + last) / 2
        let aims = report.loudness.targetsLUFS.map { LoudnessWords.lufs($0) }
        let line = aims.count == 1 ? "The line is" : "The lines are"
        let aim = aims.isEmpty ? "" : " \(line) what was asked for: \(aims.joined(separator: ", "))."
        let halves = outputs.files > 0 ? ", sources above and outputs below" : ""
        let counts = [most(sources), 0, outputs.files > 0 ? most(outputs) : nil].compactMap { $0 }
        html += "</svg>\n<ol class=\"y\" aria-hidden=\"true\">"
        for count in counts { html += "<li>\(Figures.grouped(count))</li>" }
        html += """
            </ol>
            <ol class="x"><li>\(first) LUFS</li><li>\(middle)</li><li>\(last)</li></ol>
            <figcaption>How many files have each level, to 1 LU\(halves).\(aim)</figcaption>
            </figure>

            """
        return html
    }
}
