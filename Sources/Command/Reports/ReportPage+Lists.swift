import Console
import Conversion
import Ledger

/// Lists: failures, damage, losses, and the most expensive jobs.
extension ReportPage {
    // MARK: - Failures

    var failures: HTML? {
        guard !report.failures.isEmpty else { return nil }
        let accepted = report.jobs.accepted
        let note = accepted > 0 ? "\(Figures.grouped(accepted)) of them accepted" : ""
        let noun = Figures.count(report.failedJobs, "job")
        var html: HTML = "<section>\n<h2>Why \(noun) failed <small>\(note)</small></h2>\n"
        var unlisted = report.failuresUnlisted
        for cause in report.failures {
            let room = Self.mostFailureBytes - html.text.utf8.count
            if room > 0 { html += article(on: cause, room: room) } else { unlisted += cause.jobs }
        }
        if unlisted > 0 { html += others(unlisted, "sluice errors \(batchWords)") }
        html += "</section>"
        return html
    }

    /// `room` is how many bytes the list of places may have.
    private func article(on cause: BatchReport.FailureCause, room: Int) -> HTML {
        // A ledger that a newer version wrote to may hold other codes and stages.
        let (code, stage) = (cause.code.cutInside(to: 80), cause.stage.cutInside(to: 80))
        let kind = [cause.kind?.rawValue, stage.isEmpty ? nil : "stage \(stage)"].compactMap { $0 }
        var html: HTML = """
            <article>
            <h3><code>\(code)</code> \(Figures.count(cause.jobs, "job")) \
            <small>\(kind.joined(separator: ", "))</small></h3>

            """
        if let meaning = cause.meaning {
            let usual = cause.usualCause.map { " Usual cause: \($0)." } ?? ""
            html += "<p>\(meaning)\(usual)</p>\n"
        }
        if let hint = cause.hint { html += "<p><b>What to do</b> \(hint.cutInside(to: 400))</p>\n" }
        var rows: HTML = ""
        var listed = 0
        for place in cause.places where rows.text.utf8.count < room {
            let at = place.seconds.map { Self.clock($0) } ?? ""
            let message = place.message.cutInside(to: Self.longestMessage)
            rows += """
                <tr><th scope="row">\(place.job)</th><td class="src">\(location(place.source))</td>\
                <td class="n" data-k="at">\(at)</td><td class="w">\(message)</td></tr>

                """
            listed += 1
        }
        if listed > 0 {
            html += """
                <table><thead><tr><th scope="col">Job</th><th scope="col">Source</th>\
                <th scope="col" class="n">Place</th><th scope="col">What was found</th></tr></thead>
                <tbody>
                \(rows)</tbody></table>

                """
        }
        let unlisted = cause.jobs - listed
        if unlisted > 0 {
            html += others(unlisted, "sluice jobs \(batchWords) --code \(code)")
        }
        html += "</article>\n"
        return html
    }

    // MARK: - Damage

    var damage: HTML? {
        let damage = report.damage
        guard damage.files > 0 else { return nil }
        let noun = Figures.subject(damage.files, "source")
        let places = "in \(Figures.count(damage.places, "place")); the most damaged first"
        var html: HTML = """
            <section>
            <h2>\(noun) damaged <small>\(places)</small></h2>
            <ul class="strips">

            """
        var listed = 0
        for file in damage.listed where html.text.utf8.count < Self.mostDamageBytes {
            html += item(on: file)
            listed += 1
        }
        html += "</ul>\n"
        // Not "jobs --remarks": a scan that finds damage fails.
        if damage.files > listed { html += others(damage.files - listed, "sluice export \(batchWords)") }
        html += "</section>"
        return html
    }

    private func item(on file: BatchReport.DamagedFile) -> HTML {
        let damage = file.damage
        let rate = max(1, file.sampleRateHz ?? 1)
        var lost = Figures.count(damage.frames, "frame")
        var places = ""
        if file.sampleRateHz != nil {
            lost = Figures.duration(seconds: Double(damage.frames) / Double(rate))
            let times = damage.stretches.prefix(4).map { Self.clock(Double($0.start) / Double(rate)) }
            let more = damage.stretchCount - times.count
            places = times.isEmpty ? "" : " at " + times.joined(separator: ", ")
            places += more > 0 && !times.isEmpty ? " and \(Figures.grouped(more)) more" : ""
        }
        // Each of several sources has a clock of its own.
        if file.sources > 1 { places = " in its \(Figures.count(file.sources, "source"))" }
        // Nothing is missing, or how much is not known.
        let what = damage.frames > 0 ? "\(lost) \(file.treatment)" : "damaged"
        return """
            <li><p><b>\(file.job)</b> \(location(file.source))\(Self.mark(file.state))</p>\
            <p class="soft">\(what)\(places)</p>\(strip(of: file))</li>

            """
    }

    private func strip(of file: BatchReport.DamagedFile) -> HTML {
        guard let frames = file.frames else { return "" }
        let length = file.sampleRateHz.map { Figures.length(frames: frames, rate: max(1, $0)) } ?? ""
        return """
            <svg class="strip" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
            <path d="\(DamageStrip(file.damage, of: frames).path)"/></svg><p class="end">\(length)</p>
            """
    }

    /// The state of a job, if it is not what a reader expects.
    private static func mark(_ state: JobState) -> HTML {
        let word = state.rawValue
        return state == .completed ? "" : " <span class=\"s \(word)\">\(word)</span>"
    }

    /// `3:12.48`
    private static func clock(_ seconds: Double) -> String {
        guard seconds.isFinite, abs(seconds) < 1e12 else { return "-" }
        return MediaTime(value: Int64((seconds * 100).rounded(.down)), timescale: 100).description
    }

    // MARK: - Losses

    var losses: HTML? {
        guard !report.losses.isEmpty || !report.otherRemarks.isEmpty else { return nil }
        var html: HTML = "<section>\n"
        if !report.losses.isEmpty { html += table(of: report.losses, "What outputs lack of their sources") }
        if !report.otherRemarks.isEmpty { html += table(of: report.otherRemarks, "Other warnings") }
        html += "</section>"
        return html
    }

    private func table(of losses: [BatchReport.Loss], _ title: String) -> HTML {
        var html: HTML = """
            <h2>\(title)</h2>
            <table><thead><tr><th scope="col">Warning</th><th scope="col" class="n">Jobs</th>\
            <th scope="col">For example</th></tr></thead>
            <tbody>

            """
        for loss in losses {
            let number = loss.count > 0 && loss.kind.briefNamesCount ? "\(Figures.grouped(loss.count)) in all" : ""
            html += "<tr><th scope=\"row\" class=\"what\">\(loss.brief) <span class=\"soft\">\(number)</span></th>"
            html += "<td class=\"n\" data-k=\"jobs\">\(Figures.grouped(loss.jobs))</td><td class=\"w\">"
            for example in loss.examples {
                let detail = example.detail.cutInside(to: Self.longestMessage)
                html += "<p>\(detail) <span class=\"soft\">job \(example.job)</span></p>"
            }
            html += "</td></tr>\n"
        }
        html += "</tbody></table>\n"
        return html
    }

    // MARK: - The most expensive jobs

    var efforts: HTML? {
        let pairs: [(String, [BatchReport.Effort])] = [("Slowest", report.slowest), ("Largest", report.largest)]
        let tables = pairs.filter { !$0.1.isEmpty }.map { title, efforts in table(of: efforts, title) }
        return tables.isEmpty ? nil : "<div class=\"pair\">\n\(HTML.lines(tables))</div>"
    }

    private func table(of efforts: [BatchReport.Effort], _ title: String) -> HTML {
        var rows: HTML = ""
        for effort in efforts {
            let took = Figures.duration(seconds: effort.seconds)
            let speed = effort.speed.map { Figures.speed($0) } ?? ""
            let bytes = effort.bytes > 0 ? Figures.bytes(effort.bytes) : ""
            rows += """
                <tr><th scope="row">\(effort.job)</th><td class="src">\(location(effort.source))\(Self.mark(effort.state))</td>\
                <td class="n">\(took)</td>\
                <td class="n">\(speed)</td><td class="n">\(bytes)</td></tr>

                """
        }
        return """
            <section>
            <h2>\(title)</h2>
            <table><thead><tr><th scope="col">Job</th><th scope="col">Source</th>\
            <th scope="col" class="n">Took</th><th scope="col" class="n">Speed</th>\
            <th scope="col" class="n">Written</th></tr></thead>
            <tbody>
            \(rows)</tbody></table>
            </section>
            """
    }
}

/// The places of damage on a strip of a thousand columns, as the path of an SVG.
struct DamageStrip {
    private let ranges: [Range<Int>]

    init(_ damage: DamageReport, of frames: Int64) {
        let whole = max(1, Double(frames))
        func column(_ frame: Double) -> Int { Int(min(max(0, frame / whole * 1_000), 1_000).rounded(.down)) }
        var ranges: [Range<Int>] = []
        for stretch in damage.stretches.sorted(by: { $0.start < $1.start }) {
            let start = min(column(Double(stretch.start)), 999)
            let end = max(start + 1, column(Double(stretch.start) + Double(stretch.frames)))
            // What meets in one column is drawn once.
            if let last = ranges.last, start <= last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, end)
            } else {
                ranges.append(start..<end)
            }
        }
        self.ranges = ranges
    }

    var path: String { ranges.map { "M\($0.lowerBound) 0h\($0.count)v10h-\($0.count)z" }.joined() }
}
