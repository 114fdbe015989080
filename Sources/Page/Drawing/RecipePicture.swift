import Conversion

/// A recipe drawn over time: a row for each track or file, all on one axis. Of a long recipe the beginning is drawn.
struct RecipePicture: Hashable {
    /// What is heard from one time to another, in seconds.
    struct Block: Hashable {
        var start: Double
        /// `nil` if only the source tells where it ends.
        var end: Double?
        var text: String
        /// Where its level changes; empty if it stays the same.
        var course: [Point] = []
    }

    /// A level: so many seconds after the start of a block, and from 0 (the top) to 30 (silence).
    struct Point: Hashable {
        var time: Double
        var level: Double
    }

    struct Row: Hashable {
        var label: String
        var note = ""
        var blocks: [Block] = []
    }

    private(set) var rows: [Row] = []
    /// What the recipe does, in a few words.
    private(set) var summary = ""
    /// What is left out of the picture, such as `3 tracks`.
    private(set) var rest: [String] = []
    /// The least length of the axis, in seconds.
    private var least = 0.0

    private static let mostRows = 8
    /// In a row of few, and in one of many.
    private static let (mostBlocks, fewBlocks) = (32, 12)
    /// Of ramps in one block, and of points in all.
    private static let (mostRamps, mostPoints) = (12, 400)

    /// `nil` for a recipe that converts the whole of its source. `sourceLength` is that of the only source.
    init?(_ recipe: Recipe, sourceLength: MediaTime?) {
        let known = Self.seconds(sourceLength)
        if let timeline = recipe.timeline {
            var lengths: [String: MediaTime] = [:]
            if recipe.soundSources.count == 1, let name = recipe.sources[0].name { lengths[name] = sourceLength }
            draw(timeline, of: recipe, TimelineSchedule(timeline, sourceLengths: lengths))
        } else if recipe.isSplit {
            draw(parts: recipe.outputs, sourceEnd: known)
        } else if let source = recipe.sources.first, !source.ranges.isEmpty {
            draw(source, sourceEnd: known)
            if let output = Self.output(of: recipe, end: rows[0].blocks.isEmpty ? nil : endOfRanges(source)) {
                rows.append(output)
            }
        } else {
            return nil
        }
    }

    // MARK: - What is drawn

    /// `nil` for what is no place on an axis, as in recipes that were never checked.
    private static func seconds(_ time: MediaTime?) -> Double? {
        guard let seconds = time?.seconds, (0...1e9).contains(seconds) else { return nil }
        return seconds
    }

    private mutating func draw(_ timeline: Timeline, of recipe: Recipe, _ schedule: TimelineSchedule) {
        let locations = Dictionary(recipe.sources.map { ($0.name ?? "", $0.location) }) { first, _ in first }
        let heard = timeline.heardTracks
        let most = heard.count > 3 ? Self.fewBlocks : Self.mostBlocks
        var (pieces, points) = (0, 0)
        for index in heard.prefix(Self.mostRows) {
            let track = timeline.tracks[index]
            var row = Row(label: track.name ?? "track \(index + 1)", note: Self.note(track))
            var drawn = 0
            for (number, piece) in track.pieces.prefix(most).enumerated() {
                let place = schedule.places[index][number]
                guard let start = Self.seconds(place.start) else { break }
                drawn += 1
                guard let text = Self.text(of: piece, locations) else { continue }
                let length = Self.seconds(place.length)
                let next = track.pieces.indices.contains(number + 1) ? track.pieces[number + 1].crossfade : nil
                let fades = (
                    first: piece.fadeIn ?? (number > 0 ? piece.crossfade : nil), last: piece.fadeOut ?? next
                )
                let course =
                    points < Self.mostPoints
                    ? Self.course(of: piece, in: track, at: start, length: length, fades.first, fades.last) : []
                points += course.count
                row.blocks.append(Block(start: start, end: length.map { start + $0 }, text: text, course: course))
            }
            pieces += track.pieces.count - drawn
            rows.append(row)
        }
        if heard.count > Self.mostRows { rest.append(Figures.count(heard.count - Self.mostRows, "track")) }
        if pieces > 0 { rest.append(Figures.count(pieces, "piece")) }
        if let output = Self.output(of: recipe, end: Self.seconds(schedule.length)) { rows.append(output) }
        let mixed = heard.count > 1 ? ", \(heard.count) tracks, mixed" : ""
        summary = "\(Figures.count(recipe.soundSources.count, "source"))\(mixed)"
    }

    /// Outputs that are parts of the source.
    private mutating func draw(parts: [Recipe.Output], sourceEnd: Double?) {
        rows = [Row(label: "source", blocks: [Block(start: 0, end: sourceEnd, text: "")]), Row(label: "outputs")]
        for output in parts.prefix(Self.mostBlocks) {
            guard let range = output.range else { continue }
            rows[1].blocks.append(Self.block(range, sourceEnd, LocationText.name(output.location)))
        }
        if parts.count > Self.mostBlocks { rest.append(Figures.count(parts.count - Self.mostBlocks, "output")) }
        summary = "the source is cut into \(Figures.count(parts.count, "output"))"
    }

    /// Ranges of the source, which the output has one after another.
    private mutating func draw(_ source: Recipe.Source, sourceEnd: Double?) {
        least = sourceEnd ?? 0
        let ranges = source.ranges.prefix(Self.mostBlocks)
        let name = LocationText.name(source.location)
        rows = [Row(label: "source", blocks: ranges.map { Self.block($0, sourceEnd, name) })]
        if source.ranges.count > ranges.count {
            rest.append(Figures.count(source.ranges.count - ranges.count, "part"))
        }
        let count = source.ranges.count
        summary =
            count == 1 ? "a part of the source" : "\(Figures.grouped(count)) parts of the source, one after another"
    }

    /// How long ranges of the source are together; `nil` if that is not known.
    private func endOfRanges(_ source: Recipe.Source) -> Double? {
        let lengths = source.ranges.compactMap { Self.seconds($0.duration) }
        if lengths.count == source.ranges.count { return lengths.reduce(0, +) }
        let drawn = rows[0].blocks.compactMap { block in block.end.map { $0 - block.start } }
        return drawn.count == source.ranges.count ? drawn.reduce(0, +) : nil
    }

    private static func block(_ range: MediaTimeRange, _ sourceEnd: Double?, _ text: String) -> Block {
        let start = seconds(range.start) ?? 0
        let end = range.isOpenEnded ? sourceEnd : seconds(range.end)
        return Block(start: start, end: end.map { max(start, $0) }, text: text)
    }

    private static func output(of recipe: Recipe, end: Double?) -> Row? {
        guard let first = recipe.outputs.first else { return nil }
        let preset = first.presetName.map { ", \($0)" } ?? ""
        let more = recipe.outputs.count > 1 ? ", and \(recipe.outputs.count - 1) more" : ""
        let text = "\(LocationText.name(first.location))\(preset)\(more)"
        let label = recipe.outputs.count > 1 ? "outputs" : "output"
        let note = first.loudness?.target.text ?? ""
        return Row(label: label, note: note, blocks: [Block(start: 0, end: end, text: text)])
    }

    private static func note(_ track: Timeline.Track) -> String {
        var words = track.gain == .unity ? [] : ["\(track.gain)"]
        if track.pan != .centre { words.append("pan \(Picture.number(track.pan.position))") }
        return words.joined(separator: ", ")
    }

    /// `nil` for silence, which is not drawn.
    private static func text(of piece: Piece, _ locations: [String: String]) -> String? {
        var words: [String]
        switch piece.material {
        case .silence: return nil
        case .source(let name, _): words = [locations[name].map { LocationText.name($0) } ?? name]
        case .track(let name, _): words = ["track \(name)"]
        }
        if let start = piece.range?.start, start > .zero { words.append("from its \(start.short)") }
        if piece.isReversed { words.append("backwards") }
        switch piece.repeats {
        case .times(let count) where count > 1: words.append("\(Figures.grouped(count)) times")
        case .until: words.append("repeated")
        case .times, nil: break
        }
        if piece.gain != .unity { words.append("\(piece.gain)") }
        return words.joined(separator: ", ")
    }

    // MARK: - Levels

    /// How the level of a piece changes; nothing if it does not.
    private static func course(
        of piece: Piece,
        in track: Timeline.Track,
        at start: Double,
        length: Double?,
        _ fadeIn: Fade?,
        _ fadeOut: Fade?
    ) -> [Point] {
        let end = length ?? .infinity
        // Of a piece without a known end, nothing is drawn there.
        let (rise, fall) = (fadeIn?.length.seconds ?? 0, length == nil ? 0 : fadeOut?.length.seconds ?? 0)
        let (own, others) = (piece.ramps.prefix(mostRamps), track.ramps.prefix(mostRamps))
        var times: Set<Double> = [0, rise, end, end - fall]
        for ramp in own { times.formUnion([ramp.range.start.seconds, ramp.range.end.seconds]) }
        for ramp in others { times.formUnion([ramp.range.start.seconds - start, ramp.range.end.seconds - start]) }
        var points: [Point] = []
        for time in times.sorted() where time.isFinite && time >= 0 && time <= end {
            for isBefore in [true, false] {
                let decibels =
                    piece.gain.drawn + level(own, at: time, isBefore: isBefore)
                    + level(others, at: start + time, isBefore: isBefore)
                let top = min(30, max(0, 7 - decibels))
                let share = min(1, rise > 0 ? time / rise : 1, fall > 0 ? (end - time) / fall : 1)
                let point = Point(time: time, level: 30 - (30 - top) * share)
                if points.last != point { points.append(point) }
            }
        }
        return Set(points.map(\.level)).count > 1 ? points : []
    }

    /// In decibels. `isBefore` asks for what the level is immediately before a ramp begins at that time.
    private static func level(_ ramps: ArraySlice<Ramp>, at time: Double, isBefore: Bool) -> Double {
        var level = 0.0
        for ramp in ramps {
            let (start, end) = (ramp.range.start.seconds, ramp.range.end.seconds)
            guard time > start || time == start && !isBefore else { break }
            guard time < end else {
                level = ramp.to.drawn
                continue
            }
            return ramp.from.drawn + (ramp.to.drawn - ramp.from.drawn) * (time - start) / (end - start)
        }
        return level
    }

    // MARK: - The picture

    /// The length of the axis in seconds, and whether it means anything.
    private var axis: (length: Double, isKnown: Bool) {
        let blocks = rows.flatMap(\.blocks)
        let known = blocks.reduce(least) { max($0, $1.end ?? $1.start) }
        guard known > 0 else { return (1, false) }
        return (blocks.contains { $0.end == nil } ? known * 1.25 : known, true)
    }

    /// Times at which the axis has marks: at most nine.
    static func marks(upTo length: Double) -> [Double] {
        let steps = [
            0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400,
            28_800, 86_400,
        ]
        let step = steps.first { length / $0 <= 8 } ?? length / 8
        return (0...8).map { Double($0) * step }.filter { $0 <= length }
    }

    private static func clock(_ seconds: Double) -> String {
        MediaTime(value: Int64((seconds * 100).rounded()), timescale: 100).description
    }

    private static func percent(_ share: Double) -> String { "\(Figures.decimals(share * 100, 2))%" }

    var html: HTML {
        let (length, isKnown) = axis
        let marks = isKnown ? Self.marks(upTo: length) : []
        let times: HTML = .all(
            marks.enumerated().map { place, time in
                let share = time / length
                let anchor: HTML = place == 0 ? "start" : share > 0.97 ? "end" : "middle"
                // A small screen has room for every second one.
                let kind: HTML = place % 2 == 0 ? "" : " class=\"alt\""
                return """
                    <text\(kind) x="\(Self.percent(share))" y="11" text-anchor="\(anchor)">\(Self.clock(time))</text>
                    """
            }
        )
        let lines: HTML = .all(
            marks.map { "<line x1=\"\(Self.percent($0 / length))\" x2=\"\(Self.percent($0 / length))\" y2=\"100%\"/>" }
        )
        let tracks: HTML = .all(
            rows.map { row in
                let note: HTML = row.note.isEmpty ? "" : "<small>\(row.note.cutInside(to: 40))</small>"
                let blocks: HTML = .all(row.blocks.map { Self.drawn($0, length) })
                return """
                    <p class="lab"><bdi>\(row.label.cutInside(to: 40))</bdi>\(note)</p><svg width="600" height="38">\(lines)\(blocks)</svg>
                    """
            }
        )
        let axis: HTML = marks.isEmpty ? "" : "<svg class=\"times\" width=\"600\" height=\"16\">\(times)</svg>"
        let left: HTML = rest.isEmpty ? "" : "<p class=\"soft\">Not drawn: \(rest.joined(separator: ", "))</p>"
        return """
            <div class="wave plan" role="img" aria-label="\(words.cutInside(to: 1_000))">\(axis)\(tracks)</div>\(left)
            """
    }

    private static func drawn(_ block: Block, _ length: Double) -> HTML {
        let start = min(block.start, length)
        let width = max(length * 0.002, (block.end ?? length) - start)
        var course: HTML = ""
        if let last = block.course.last {
            // Whole numbers are short, and finer than a screen.
            let points = block.course.map { point in
                "\(Int((min(1, point.time / width) * 1_000).rounded())),\(Int(point.level.rounded()))"
            }
            let line = "M\(points.joined(separator: " "))\(last.time < width ? "H1000" : "")"
            course = """
                <svg width="100%" height="100%" viewBox="0 0 1000 30" preserveAspectRatio="none">\
                <path class="f" d="\(line)V30H0z"/><path class="r" d="\(line)"/></svg>
                """
        }
        let kind: HTML = block.end == nil ? "p open" : "p"
        // In a narrow block it could not be read.
        let text: HTML =
            block.text.isEmpty || width < length * 0.03
            ? "" : "<text x=\"8\" y=\"60%\">\(block.text.cutInside(to: 80))</text>"
        return """
            <svg x="\(percent(start / length))" width="\(percent(width / length))" height="100%">\
            <rect class="\(kind)" width="100%" height="100%" rx="3"/>\(course)\(text)</svg>
            """
    }

    /// What the picture shows.
    private var words: String {
        rows.map { row in
            let blocks = row.blocks.map { block in
                let times = "\(Self.clock(block.start)) to \(block.end.map(Self.clock) ?? "its end")"
                return block.text.isEmpty ? times : "\(block.text) (\(times))"
            }
            let note = row.note.isEmpty ? "" : " (\(row.note))"
            return "\(row.label)\(note): \(blocks.isEmpty ? "nothing" : blocks.joined(separator: ", "))"
        }
        .joined(separator: "; ")
    }
}

extension Gain {
    /// What is drawn: below this there is no more room.
    fileprivate var drawn: Double { max(decibels, -60) }
}
