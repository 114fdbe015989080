import Console
import Conversion
import FoundationEssentials
import Ledger

/// A report as one page of HTML, which loads nothing and needs no script.
///
/// The page has at most two megabytes: names are cut, and long lists end where their share of the page does.
struct ReportPage {
    let report: BatchReport
    /// The bytes that the list of damaged files may have, and that the places of failures may have.
    static let mostDamageBytes = 900_000
    static let mostFailureBytes = 600_000
    static let longestName = 160
    static let longestMessage = 240

    var html: HTML {
        let title = name.map { "Batch \(report.batch): \($0)" } ?? "Batch \(report.batch)"
        var page: HTML = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
            <meta name="generator" content="Sluice \(Version.number)">
            <title>\(title) · Sluice</title>
            <style>
            \(ReportStyle.sheet)</style>
            </head>
            <body>
            <main>

            """
        let parts: [HTML?] = [head, figures, states, progress, failures, damage, losses, loudness, efforts, foot]
        page += .lines(parts.compactMap(\.self))
        page += "</main>\n</body>\n</html>\n"
        return page
    }

    /// If a text were not escaped, a browser would still run nothing, load nothing and send nothing.
    private static let policy: HTML =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

    var name: String? { report.name?.cutInside(to: Self.longestName) }
    /// The argument that names the batch on a command line.
    var batchWords: String { "--batch \(report.batch)" }

    // MARK: - Head

    private var head: HTML {
        let title: HTML = name.map { "<bdi>\($0)</bdi>" } ?? "Batch \(report.batch)"
        let skipped =
            report.sourcesSkipped > 0
            ? " \(Figures.count(report.sourcesSkipped, "source")) left out: done before, or edited." : ""
        let forgotten =
            report.jobsForgotten > 0
            ? " \(Figures.subject(report.jobsForgotten, "job")) no longer in the ledger, and not counted here." : ""
        return """
            <header>
            <p class="soft">Sluice · batch \(report.batch)</p>
            <h1>\(title)</h1>
            <p class="say">\(answer)</p>
            <p class="soft">Submitted \(time(report.submittedAt)) by \
            <bdi>\(report.submitter.cutInside(to: Self.longestName))</bdi> to queue \
            <bdi>\(report.queue.cutInside(to: Self.longestName))</bdi>. As of \(time(report.asOf)).\(skipped)\(forgotten)</p>
            </header>
            """
    }

    /// What there is to know, in one sentence.
    private var answer: String {
        let jobs = report.jobs
        let total = Figures.grouped(jobs.total)
        if jobs.total == 0 { return "The batch has no jobs." }
        var parts: [String] = []
        if jobs.open > 0 {
            parts.append("\(Figures.grouped(jobs.total - jobs.open)) of \(total) jobs have ended")
        } else if jobs.completed == jobs.total {
            parts.append(jobs.total == 1 ? "The only job is completed" : "All \(total) jobs are completed")
        } else {
            parts.append("\(Figures.grouped(jobs.completed)) of \(total) jobs are completed")
        }
        if jobs.failed > 0 { parts.append("\(Figures.grouped(jobs.failed)) failed") }
        if report.jobsWithRemarks > 0 {
            parts.append("\(Figures.grouped(report.jobsWithRemarks)) completed with warnings")
        }
        return parts.joined(separator: ", ") + "."
    }

    // MARK: - Figures

    private var figures: HTML {
        var items: [(label: String, value: String)] = []
        if let took = report.tookSeconds {
            items.append((report.jobs.open > 0 ? "so far" : "took", Self.span(seconds: took)))
        }
        if report.audioSeconds > 0 { items.append(("of sound", Self.span(seconds: report.audioSeconds))) }
        if report.outputs > 0 {
            items.append(("outputs", Figures.grouped(report.outputs)))
            items.append(("written", Figures.bytes(report.bytes)))
        }
        if let took = report.tookSeconds, took > 0, report.audioSeconds > 0 {
            items.append(("speed", Figures.speed(report.audioSeconds / took) + " real time"))
        }
        if report.cpuSeconds > 0 { items.append(("of CPU time", Self.span(seconds: report.cpuSeconds))) }
        guard !items.isEmpty else { return facts }
        var html: HTML = "<dl class=\"figs\">"
        for (label, value) in items { html += "<div><dt>\(label)</dt><dd>\(Self.figure(value))</dd></div>" }
        html += "</dl>\n\(facts)"
        return html
    }

    /// `21.9 s`, `3 h 5 min`; from a hundred hours on `6,731 h`.
    private static func span(seconds: Double) -> String {
        guard seconds >= 360_000, seconds < 1e15 else { return Figures.duration(seconds: seconds) }
        return "\(Figures.grouped(Int64(seconds / 3_600))) h"
    }

    /// Numbers large and units small.
    private static func figure(_ words: String) -> HTML {
        var html: HTML = ""
        for (place, word) in words.split(separator: " ").enumerated() {
            if place > 0 { html += " " }
            html += word.first?.isNumber == true ? "\(String(word))" : "<span>\(String(word))</span>"
        }
        return html
    }

    private var facts: HTML {
        var rows: [(String, String)] = []
        func add(_ label: String, _ counts: WordCounts, counted: Bool = true) {
            let sorted = counts.sorted
            guard !sorted.isEmpty else { return }
            var words = sorted.prefix(6).map { word, count in
                let word = word.cutInside(to: 60)
                return counted && sorted.count > 1 ? "\(word) (\(Figures.grouped(count)))" : word
            }
            let more = sorted.count - words.count
            if more > 0 || counts.others > 0 { words.append("and others") }
            rows.append((label, words.joined(separator: ", ")))
        }
        add("asked for", report.presets)
        add("made", report.formats)
        add("on damage", report.damageModes)
        let attempts = report.attempts
        var tries: [String] = []
        if attempts.failed > 0 { tries.append("\(Figures.grouped(attempts.failed)) failed") }
        if attempts.lost > 0 { tries.append("\(Figures.grouped(attempts.lost)) lost with their workers") }
        if attempts.released > 0 { tries.append("\(Figures.grouped(attempts.released)) released") }
        if attempts.cancelled > 0 { tries.append("\(Figures.grouped(attempts.cancelled)) cancelled") }
        if attempts.total > 0 {
            let how = tries.isEmpty ? "" : ", of which " + tries.joined(separator: ", ")
            rows.append(("attempts", Figures.grouped(attempts.total) + how))
        }
        add("workers", report.workers)
        add("versions", report.builds, counted: false)
        guard !rows.isEmpty else { return "" }
        var html: HTML = "<dl class=\"facts\">"
        for (label, words) in rows { html += "<dt>\(label)</dt><dd>\(words)</dd>" }
        html += "</dl>"
        return html
    }

    // MARK: - States

    /// The states in the order of the bar, with the class that paints them.
    private static let shown: [(state: JobState, paint: HTML)] = [
        (.completed, "done"), (.failed, "bad"), (.accepted, "off"), (.cancelled, "off"), (.skipped, "skip"),
        (.publishing, "run"), (.running, "run"), (.waiting, "wait"), (.delayed, "wait"),
    ]

    private var states: HTML? {
        let total = report.jobs.total
        guard total > 0 else { return nil }
        let present = Self.shown.filter { report.jobs[$0.state] > 0 }
        let words = present.map { "\(Figures.grouped(report.jobs[$0.state])) \($0.state.rawValue)" }
        let said = words.joined(separator: ", ")
        var html: HTML = """
            <section>
            <h2>\(Figures.count(total, "job"))</h2>
            <svg class="stack" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="by state: \(said)">
            """
        var start = 0
        for (part, width) in zip(present, Self.widths(of: present.map { report.jobs[$0.state] })) {
            html += "<rect class=\"\(part.paint)\" x=\"\(start)\" width=\"\(width)\" height=\"10\"/>"
            start += width
        }
        html += "</svg>\n<dl class=\"key\">"
        for (state, _) in present {
            let count = Figures.grouped(report.jobs[state])
            html += "<div><dt class=\"s \(state.rawValue)\">\(state.rawValue)</dt><dd>\(count)</dd></div>"
        }
        html += "</dl>\n</section>"
        return html
    }

    /// The widths of the parts of a bar of a thousand columns: each has its share, and what is there can be seen. The
    /// largest part gives what small ones need, so that none covers another.
    static func widths(of counts: [Int]) -> [Int] {
        let total = max(1, Double(counts.reduce(0, +)))
        var widths = counts.map { max(4, Int((Double($0) * 1_000 / total).rounded())) }
        if let largest = widths.indices.max(by: { widths[$0] < widths[$1] }) {
            widths[largest] += 1_000 - widths.reduce(0, +)
        }
        return widths
    }

    // MARK: - Foot

    private var foot: HTML {
        """
        <footer>
        <p class="soft">In a terminal: <code>sluice batches \(report.batch)</code> \
        <code>sluice errors \(batchWords)</code> <code>sluice jobs \(batchWords) --remarks</code> \
        <code>sluice export \(batchWords)</code></p>
        <p class="soft">Made by Sluice \(Version.number).</p>
        </footer>
        """
    }

    // MARK: - Parts

    func time(_ date: Date) -> HTML {
        let text = date.formatted(.iso8601)
        // `2026-11-20T09:12:04Z`; a reader elsewhere knows no other zone.
        let parts = text.split(separator: "T")
        let words = parts.count == 2 ? "\(parts[0]) \(parts[1].prefix(5)) UTC" : text
        return "<time datetime=\"\(text)\">\(words)</time>"
    }

    /// A location: the folder soft, the name in ink.
    func location(_ source: String) -> HTML {
        let name = source.cutInside(to: Self.longestName)
        guard let slash = name.lastIndex(where: { $0 == "/" || $0 == ":" }), name.index(after: slash) < name.endIndex
        else { return "<bdi>\(name)</bdi>" }
        let (folder, file) = (String(name[...slash]), String(name[name.index(after: slash)...]))
        return "<bdi class=\"dir\">\(folder)</bdi><bdi>\(file)</bdi>"
    }

    /// What a list leaves out, and the command that lists it.
    func others(_ count: Int, _ command: String) -> HTML {
        "<p class=\"soft\">and \(Figures.count(count, "other")): <code>\(command)</code></p>"
    }
}
