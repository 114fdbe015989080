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
    private let secondsPerColumn: Double
    private let seconds: Double

    init(_ timeline: Timeline, known: TimelineSchedule, width: Int, usesUnicode: Bool) {
        self.timeline = timeline
        self.known = known
        drawn = TimelineSchedule(timeline, sourceLengths: Self.assumedLengths(timeline, known))
        signs = usesUnicode ? .unicode : .ascii
        let titles = timeline.tracks.enumerated().map { PieceWords.title(of: $1, $0).printable.displayWidth }
        titleColumns = min(max(titles.max() ?? 0, 7), 16) + 2
        columns = max(16, width - titleColumns - 1)
        let end = (drawn.ends + [timeline.padTo]).compactMap { $0?.seconds }.filter(\.isFinite).max() ?? 0
        seconds = end > 0 ? end : 1
        secondsPerColumn = seconds / Double(columns)
    }

    var lines: [String] {
        var lines = axis
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

    private var axis: [String] {
        let step = Self.step(atLeast: secondsPerColumn * 10)
        var (times, marks) = (TextRow(columns + 12), TextRow(columns + 1))
        for column in 0...columns { marks.put(signs.axis, at: column) }
        var number: Int64 = 0
        while true {
            let time = step.multiplied(by: number)
            let column = column(time.seconds)
            guard time.isNumeric, time.seconds <= seconds, number <= columns else { break }
            marks.put(number == 0 ? signs.axisStart : signs.tick, at: column)
            let text = "\(time)"
            if column + text.count <= columns { times.put(text, at: column) }
            number += 1
        }
        return [line("", times), line("", marks)]
    }

    /// The shortest usual distance of ticks that is not below `seconds`.
    private static func step(atLeast seconds: Double) -> MediaTime {
        var steps: [MediaTime] = []
        for scale in [1_000_000_000, 1_000_000, 1_000] as [Int32] {
            steps += [1, 2, 5, 10, 20, 50, 100, 200, 500].map { MediaTime(value: $0, timescale: scale) }
        }
        let minute: Int64 = 60
        let hour = 60 * minute
        steps += [
            1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour,
            5 * hour, 10 * hour, 20 * hour, 50 * hour, 100 * hour, 200 * hour,
        ].map { MediaTime(value: $0, timescale: 1) }
        return steps.first { $0.seconds >= seconds } ?? steps[steps.count - 1]
    }

    private func column(_ time: Double) -> Int {
        guard time.isFinite else { return columns }
        return Int(min(max(0, (time / secondsPerColumn).rounded()), Double(columns)))
    }

    // MARK: - The tracks

    /// The columns of a piece: at least one.
    private func extent(_ place: TimelineSchedule.Place) -> Range<Int> {
        let start = min(column(place.start?.seconds ?? 0), columns - 1)
        return start..<max(start + 1, column(place.end?.seconds ?? 0))
    }

    private func levels(of index: Int) -> TextRow {
        var row = TextRow(columns + 1)
        let track = timeline.tracks[index]
        for (number, piece) in track.pieces.enumerated() {
            let place = drawn.places[index][number]
            let extent = extent(place)
            let level = PieceLevel(piece, track, place)
            for column in extent {
                let start = Double(column) * secondsPerColumn
                let levels = level.during(start, start + secondsPerColumn)
                row.put(signs.level(levels[0], levels[1], levels[2]), at: column)
            }
            if known.places[index][number].length == nil { row.put(signs.open, at: extent.upperBound - 1) }
            guard number > 0, let overlap = piece.crossfade?.length.seconds else { continue }
            let end = max(extent.lowerBound + 1, column((place.start?.seconds ?? 0) + overlap))
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
    let axis: String
    let axisStart: String
    let tick: String

    static let unicode = Signs(
        isUnicode: true,
        full: "▔",
        reduced: "─",
        silent: "▁",
        crossfade: "╳",
        border: "│",
        open: "…",
        axis: "─",
        axisStart: "├",
        tick: "┼"
    )
    static let ascii = Signs(
        isUnicode: false,
        full: "=",
        reduced: "-",
        silent: "_",
        crossfade: "X",
        border: "|",
        open: "~",
        axis: "-",
        axisStart: "+",
        tick: "+"
    )

    /// The sign for a column, from the levels at its start, in its middle and at its end.
    func level(_ first: Double, _ middle: Double, _ last: Double) -> String {
        if last - first > 1e-6 { return "/" }
        if first - last > 1e-6 { return "\\" }
        if middle - first > 1e-6 { return "^" }
        return first > 0.75 ? full : first > 0.001 ? reduced : silent
    }
}

/// A line of text in which each column can be set.
private struct TextRow {
    /// A character of two columns is followed by an empty text.
    private var cells: [String]

    init(_ columns: Int) { cells = Array(repeating: " ", count: columns) }

    /// Overwrites what is there. What does not fit into the row is left out.
    mutating func put(_ text: String, at column: Int) {
        var column = column
        for character in text {
            let width = String(character).displayWidth
            guard width > 0 else {
                if cells.indices.contains(column - 1) { cells[column - 1].append(character) }
                continue
            }
            guard column >= 0, column + width <= cells.count else { return }
            // Half of a wide character cannot stay.
            if cells[column].isEmpty { cells[column - 1] = " " }
            if column + width < cells.count, cells[column + width].isEmpty { cells[column + width] = " " }
            cells[column] = String(character)
            for rest in 1..<max(2, width) where rest < width { cells[column + rest] = "" }
            column += width
        }
    }

    var text: String { cells.joined() }
}

extension String {
    /// Without spaces at the end.
    var trimmedAtEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
