import Console
import Conversion

/// The output of `probe` for people, for one file.
struct ProbePage {
    let name: String
    let bytes: Int64?
    let report: SourceReport
    /// The columns before values.
    private static let margin = 14

    func lines(for outlet: Outlet) -> [String] {
        let size = bytes.map { ", \(Figures.bytes($0))" } ?? ""
        var lines = ["\(outlet.paint(name.printable, .strong)): \(report.container.printable)\(size)"]
        for track in report.tracks { lines += rows("track \(track.track)", self.lines(of: track), outlet) }
        if let scan = report.scan { lines += rows("scan", self.lines(of: scan), outlet) }
        if let loudness = report.loudness { lines += rows("loudness", self.lines(of: loudness), outlet) }
        lines += picture(outlet)
        let tags = report.tags.filter { !$0.isTechnical }
        lines += rows("tags", tags.flatMap { self.lines(of: $0) }, outlet)
        lines += rows("chapters", report.chapters.map(line(of:)), outlet)
        if let cover = report.cover { lines += rows("cover", [line(of: cover)], outlet) }
        let others = (report.pictures ?? []).dropFirst().map { picture in
            "\((picture.shows ?? "Other").printable): \(line(of: picture))"
        }
        lines += rows("pictures", others, outlet)
        if report.isProtected {
            lines += rows("protected", [outlet.paint("yes: it cannot be converted", .bad)], outlet)
        }
        return lines
    }

    /// A label, with its values in a second column.
    private func rows(_ label: String, _ values: [String], _ outlet: Outlet) -> [String] {
        values.enumerated().map { index, value in
            let margin = "  " + (index == 0 ? label : "").padded(to: 10) + "  "
            return margin + (outlet.isTerminal ? value.fitting(outlet.width - 14, outlet) : value)
        }
    }

    /// The waveform, below it the loudness, and where points begin, over one axis of time; empty if they were not asked for.
    private func picture(_ outlet: Outlet) -> [String] {
        guard let outline = report.outline, let scan = report.scan, !outline.lowest.isEmpty else { return [] }
        let rate = max(1, report.tracks.first(where: \.isMain)?.sampleRateHz ?? 1)
        let columns = max(8, outlet.width - Self.margin - 1)
        let style = outlet.drawingStyle
        // Samples of floats may be beyond full scale.
        let peak = max(1, zip(outline.lowest, outline.highest).map { max(-$0, $1) }.max() ?? 1)
        let sound = zip(outline.lowest, outline.highest).map { ClosedRange(uncheckedBounds: ($0, max($0, $1))) }
        let waveform = SpanPicture(sound, scale: -peak...peak).lines(columns: columns, rows: 6, style: style)
        let (silent, loudest) = (-60.0, 0.0)
        let levels = outline.momentaryLUFS.map { level in
            level.flatMap { $0 > silent ? silent...min($0, loudest) : nil }
        }
        let loudness = SpanPicture(levels, scale: silent...loudest).lines(columns: columns, rows: 3, style: style)
        let seconds = Double(scan.frames) / Double(rate)
        let axis = TimeAxis(seconds: seconds, columns: columns, usesUnicode: outlet.usesUnicode).rows
        var rows: [(label: String, line: String)] = []
        for (place, line) in waveform.enumerated() { rows.append((place == 0 ? "waveform" : "", line)) }
        for (label, line) in zip(["0 LUFS", "", "-60"], loudness) { rows.append((label, line)) }
        rows += pointRow(columns, style)
        rows.append(("", axis.marks.text))
        rows.append(("", axis.times.text))
        return rows.map { label, line in ("  " + label.padded(to: Self.margin - 2) + line).trimmedAtEnd }
    }

    private func pointRow(_ columns: Int, _ style: DrawingStyle) -> [(label: String, line: String)] {
        guard let points = report.points, points.frames > 0, !points.points.isEmpty else { return [] }
        let starts = points.points.map { Double($0.frame) / Double(points.frames) }
        return [("points", TimeStrip(marks: starts.map { $0..<$0 }).text(columns: columns, style: style))]
    }

    /// Each value has a line.
    private func lines(of tag: TagReport) -> [String] {
        (tag.values ?? [tag.value]).map { "\(tag.name.printable): \($0.printable)" }
    }

    private func line(of picture: CoverReport) -> String {
        let kind = picture.type == "image/png" ? "PNG" : "JPEG"
        return "\(kind) of \(picture.width) x \(picture.height), \(Figures.bytes(Int64(picture.bytes)))"
    }

    private func lines(of track: TrackReport) -> [String] {
        var first = [track.codec.printable]
        if let bits = track.bitDepth { first.append((track.sampleKind == .float ? "f" : "s") + "\(bits)") }
        if let rate = track.bitRate, rate > 0, !track.isLossless {
            first.append(Figures.bitRate(rate < 1 << 50 ? (rate + 500) / 1000 * 1000 : rate))
        }
        first.append(Figures.hertz(track.sampleRateHz))
        first.append(track.layout ?? Figures.count(track.channelCount, "channel"))
        if report.tracks.count > 1, track.isMain { first.append("(main)") }
        if track.isProtected { first.append("(protected)") }
        var lines = [first.joined(separator: " "), length(of: track)]
        var ends: [String] = []
        if let delay = track.delayFrames { ends.append("delay \(Figures.count(delay, "frame"))") }
        if let padding = track.paddingFrames { ends.append("padding \(Figures.count(padding, "frame"))") }
        if !ends.isEmpty { lines.append(ends.joined(separator: ", ")) }
        return lines
    }

    private func length(of track: TrackReport) -> String {
        guard let frames = track.frames else { return "length unknown without decoding; use --scan" }
        let length = Figures.length(frames: frames, rate: track.sampleRateHz)
        return "\(length), \(Figures.count(frames, "frame")), \(track.exactness.rawValue)"
    }

    private func lines(of scan: ScanReport) -> [String] {
        let count = "\(Figures.count(scan.frames, "frame")) decoded"
        if scan.damage.isEmpty { return ["\(count), no damage"] }
        let rate = report.tracks.first(where: \.isMain)?.sampleRateHz ?? 1
        let places = Figures.count(scan.damage.stretchCount, "place")
        let listed = scan.damage.stretches.map { stretch in
            let time = MediaTime(frames: stretch.start, rate: rate)
            return "\(Figures.count(stretch.frames, "frame")) lost at \(time.short) (\(stretch.code))"
        }
        let more = scan.damage.stretchCount > listed.count ? ["and others that are not listed"] : []
        return ["\(count), \(Figures.count(scan.damage.frames, "frame")) lost in \(places)"] + listed + more
    }

    private func lines(of loudness: LoudnessReport) -> [String] {
        let levels = [
            loudness.integratedLUFS.map { "integrated \(LoudnessWords.lufs($0))" },
            loudness.rangeLU.map { "range \(LoudnessWords.figure($0)) LU" },
        ].compactMap { $0 }
        let maxima = [
            loudness.momentaryMaxLUFS.map { "momentary at most \(LoudnessWords.lufs($0))" },
            loudness.shortTermMaxLUFS.map { "short-term at most \(LoudnessWords.lufs($0))" },
        ].compactMap { $0 }
        let peaks = [
            loudness.truePeakDBTP.map { "true peak \(LoudnessWords.figure($0)) dBTP" },
            loudness.samplePeakDBFS.map { "sample peak \(LoudnessWords.figure($0)) dBFS" },
        ].compactMap { $0 }
        let first = loudness.integratedLUFS == nil ? ["too quiet or too short for an integrated loudness"] : []
        return first + [levels, maxima, peaks].filter { !$0.isEmpty }.map { $0.joined(separator: ", ") }
    }

    private func line(of chapter: ChapterReport) -> String {
        "\(chapter.start.short) to \(chapter.end.short)" + (chapter.title.map { "  \($0.printable)" } ?? "")
    }
}

extension String {
    /// Cut to the terminal's width. Text with colour codes stays whole, because the codes would count as columns.
    fileprivate func fitting(_ width: Int, _ outlet: Outlet) -> String {
        contains("\u{1B}") ? self : shortened(to: max(8, width), unicode: outlet.usesUnicode)
    }
}
