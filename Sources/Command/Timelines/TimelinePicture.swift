import Console
import Conversion

/// A timeline as text: an axis of time, and for each track a line for its level and one for its pieces.
///
/// The positions are columns, so seconds as `Double` are exact enough here.
struct TimelinePicture {
    private let timeline: Timeline
    /// Only what is certain without the sources.
    private let known: TimelineSchedule
    /// With an assumed length for each source.
    private let drawn: TimelineSchedule
    private let signs: Signs
    private let titleColumns: Int
    private let columns: Int
    private let axis: TimeAxis

    init(_ timeline: Timeline, known: TimelineSchedule, width: Int, usesUnicode: Bool) {
        self.timeline = timeline
        self.known = known
        drawn = TimelineSchedule(timeline, sourceLengths: Self.assumedLengths(timeline, known))
        signs = usesUnicode ? .unicode : .ascii
        let titles = timeline.tracks.enumerated().map { PieceWords.title(of: $1, $0).printable.displayWidth }
        titleColumns = min(max(titles.max() ?? 0, 7), 16) + 2
        columns = max(16, width - titleColumns - 1)
        let end = (drawn.ends + [timeline.padTo]).compactMap { $0?.seconds }.filter(\.isFinite).max() ?? 0
        axis = TimeAxis(seconds: end, columns: columns, usesUnicode: usesUnicode)
    }

    var lines: [String] {
        var lines = axisLines
        let inner = timeline.namesOfInnerTracks
        for (index, track) in timeline.tracks.enumerated() {
            let notes = [
                track.name.map(inner.contains) == true ? "inside" : nil,
                track.gain == .unity ? nil : "\(track.gain)",
            ]
            let note = notes.compactMap { $0 }.joined(separator: " ")
            lines.append(line(PieceWords.title(of: track, index).printable, levels(of: index)))
            lines.append(line(note, names(of: index)))
        }
        return lines
    }

    private func line(_ title: String, _ row: TextRow) -> String {
        let title = title.shortened(to: titleColumns - 2, unicode: signs.isUnicode).padded(to: titleColumns)
        return (title + row.text).trimmedAtEnd
    }

    // MARK: - The axis

    private var axisLines: [String] {
        let rows = axis.rows
        return [line("", rows.times), line("", rows.marks)]
    }

    // MARK: - The tracks

    /// The columns of a piece: at least one.
    private func extent(_ place: TimelineSchedule.Place) -> Range<Int> {
        let start = min(axis.column(place.start?.seconds ?? 0), columns - 1)
        return start..<max(start + 1, axis.column(place.end?.seconds ?? 0))
    }

    private func levels(of index: Int) -> TextRow {
        var row = TextRow(columns + 1)
        let track = timeline.tracks[index]
        for (number, piece) in track.pieces.enumerated() {
            let place = drawn.places[index][number]
            let extent = extent(place)
            let level = PieceLevel(piece, track, place)
            for column in extent {
                let start = Double(column) * axis.secondsPerColumn
                let levels = level.during(start, start + axis.secondsPerColumn)
                row.put(signs.level(levels[0], levels[1], levels[2]), at: column)
            }
            if known.places[index][number].length == nil { row.put(signs.open, at: extent.upperBound - 1) }
            guard number > 0, let overlap = piece.crossfade?.length.seconds else { continue }
            let end = max(extent.lowerBound + 1, axis.column((place.start?.seconds ?? 0) + overlap))
            for column in extent.lowerBound..<min(end, extent.upperBound) { row.put(signs.crossfade, at: column) }
        }
        return row
    }

    private func names(of index: Int) -> TextRow {
        var row = TextRow(columns + 1)
        for (number, piece) in timeline.tracks[index].pieces.enumerated() {
            let extent = extent(drawn.places[index][number])
            row.put(signs.border, at: extent.lowerBound)
            row.put(signs.border, at: extent.upperBound)
            let room = extent.count - 1
            let label = PieceWords.label(of: piece, usesUnicode: signs.isUnicode)
            row.put(label.shortened(to: room, unicode: signs.isUnicode), at: extent.lowerBound + 1)
        }
        return row
    }

    // MARK: - Assumed lengths

    /// A length for each source: longer than all that is used of it, by half of the longest piece that is known.
    private static func assumedLengths(_ timeline: Timeline, _ known: TimelineSchedule) -> [String: MediaTime] {
        let lengths = known.places.joined().compactMap { $0.length?.seconds }.filter(\.isFinite)
        // An open end is a guess, and only has to be seen.
        let share = lengths.isEmpty ? 60 : max(1, (lengths.max() ?? 0) / 2)
        let more = MediaTime(value: Int64(share * 1_000), timescale: 1_000)
        var assumed: [String: MediaTime] = [:]
        for case .source(let name, let range) in timeline.tracks.flatMap(\.pieces).map(\.material) {
            let end = (range.isOpenEnded ? range.start : range.end) + more
            assumed[name] = max(assumed[name] ?? .zero, end)
        }
        return assumed
    }
}

// MARK: - Levels

/// The level of a piece over time, without its gain, as a factor: only whether it rises or falls matters here.
private struct PieceLevel {
    private let piece: Piece
    private let track: Timeline.Track
    private let start: Double
    private let length: Double

    init(_ piece: Piece, _ track: Timeline.Track, _ place: TimelineSchedule.Place) {
        (self.piece, self.track) = (piece, track)
        (start, length) = (place.start?.seconds ?? 0, place.length?.seconds ?? 0)
    }

    /// The levels at the start, in the middle and at the end of the part of the piece between two times on the track.
    func during(_ first: Double, _ last: Double) -> [Double] {
        var (from, to) = (max(0, first - start), min(length, last - start))
        // A piece shorter than its only column, which may lie beside it after rounding.
        if from >= to { (from, to) = (0, length) }
        return [from, (from + to) / 2, to].map(level)
    }

    private func level(_ offset: Double) -> Double {
        if case .silence = piece.material { return 0 }
        var level = Self.level(of: piece.ramps, offset) * Self.level(of: track.ramps, start + offset)
        if let fade = piece.fadeIn?.length.seconds, offset < fade { level *= offset / fade }
        if let fade = piece.fadeOut?.length.seconds, length - offset < fade { level *= (length - offset) / fade }
        return level
    }

    private static func level(of ramps: [Ramp], _ time: Double) -> Double {
        guard let ramp = ramps.last(where: { $0.range.start.seconds <= time }) else { return 1 }
        let share = min(1, (time - ramp.range.start.seconds) / max(ramp.range.duration.seconds, 1e-12))
        return ramp.from.amplitude + (ramp.to.amplitude - ramp.from.amplitude) * share
    }
}

// MARK: - Signs

/// The characters of a picture, each one column wide.
private struct Signs {
    let isUnicode: Bool
    let full: String
    let reduced: String
    let silent: String
    let crossfade: String
    let border: String
    let open: String

    static let unicode = Signs(
        isUnicode: true,
        full: "▔",
        reduced: "─",
        silent: "▁",
        crossfade: "╳",
        border: "│",
        open: "…"
    )
    static let ascii = Signs(
        isUnicode: false,
        full: "=",
        reduced: "-",
        silent: "_",
        crossfade: "X",
        border: "|",
        open: "~"
    )

    /// The sign for a column, from the levels at its start, in its middle and at its end.
    func level(_ first: Double, _ middle: Double, _ last: Double) -> String {
        if last - first > 1e-6 { return "/" }
        if first - last > 1e-6 { return "\\" }
        if middle - first > 1e-6 { return "^" }
        return first > 0.75 ? full : first > 0.001 ? reduced : silent
    }
}
