import Console
import Conversion

/// What `sluice recipe show` prints: the recipe's files, a picture of the timeline, and a table of its pieces.
struct RecipePage {
    private let recipe: Recipe
    private let name: String
    private let width: Int
    private let usesUnicode: Bool

    init(_ file: RecipeFile, width: Int, usesUnicode: Bool) {
        self.init(file.recipe, name: file.name, width: width, usesUnicode: usesUnicode)
    }

    init(_ recipe: Recipe, name: String, width: Int, usesUnicode: Bool) {
        (self.recipe, self.name) = (recipe, name)
        // A narrower picture would show nothing.
        (self.width, self.usesUnicode) = (max(60, width), usesUnicode)
    }

    var lines: [String] {
        let timeline = recipe.timeline ?? Timeline(ofOnlySource: recipe)
        let known = TimelineSchedule(timeline)
        var lines = head(timeline, known)
        lines.append("")
        lines += TimelinePicture(timeline, known: known, width: width, usesUnicode: usesUnicode).lines
        lines.append("")
        lines += table(timeline, known)
        return lines
    }

    // MARK: - Head

    private func head(_ timeline: Timeline, _ known: TimelineSchedule) -> [String] {
        var rows: [(String, String)] = [(name.printable, RecipeSummary(recipe).words)]
        for (number, source) in recipe.sources.enumerated() {
            let title = number == 0 ? "from" : ""
            let track = source.track.map { ", track \($0)" } ?? ""
            let use = source.use == .sound ? "" : ", for the \(source.use.rawValue)"
            let name = source.name.map { "\($0.printable) = " } ?? ""
            rows.append((title, name + source.location.printable + track + use))
        }
        for (number, output) in recipe.outputs.enumerated() {
            let preset = (output.preset ?? output.ownPreset.map { "\($0)" }).map { ", preset \($0.printable)" } ?? ""
            let range = output.range.map { ", \($0.words)" } ?? ""
            let waveform = output.waveform.map { ", \(WaveformWords.short($0))" } ?? ""
            rows.append((number == 0 ? "to" : "", output.location.printable + preset + range + waveform))
        }
        if let clock = clock(timeline) { rows.append(("clock", clock)) }
        return rows.enumerated().flatMap { number, row in
            number == 0
                ? "\(row.0)  \(row.1)".wrapped(to: width)
                : [("  " + row.0.padded(to: 7) + row.1).shortened(to: width, unicode: usesUnicode)]
        }
    }

    private func clock(_ timeline: Timeline) -> String? {
        let parts: [String?] = [
            timeline.sampleRateHz.map { Figures.hertz($0) }, timeline.layout.map { "\($0)" },
            timeline.limit.map { "limited to \($0)" }, timeline.padTo.map { "padded to \($0)" },
        ]
        let said = parts.compactMap { $0 }
        return said.isEmpty ? nil : said.joined(separator: ", ")
    }

    // MARK: - Table

    /// A row for each piece. Pieces and changes take as many lines as they need: here nothing may be missing.
    private func table(_ timeline: Timeline, _ known: TimelineSchedule) -> [String] {
        var rows: [(cells: [String], changes: [String])] = []
        for (index, track) in timeline.tracks.enumerated() {
            let title = PieceWords.title(of: track, index).printable
            let changes = PieceWords.changes(of: track)
            if !changes.isEmpty { rows.append(([title, "", "", ""], changes)) }
            for (piece, place) in zip(track.pieces, known.places[index]) {
                let cells = [
                    title, PieceWords.time(place.start), PieceWords.time(place.length),
                    PieceWords.material(of: piece).printable,
                ]
                rows.append((cells, PieceWords.changes(of: piece)))
            }
        }
        let titles = ["TRACK", "START", "LENGTH", "PIECE"]
        var widths = titles.indices.map { column in
            rows.reduce(titles[column].displayWidth) { max($0, $1.cells[column].displayWidth) }
        }
        widths[0] = min(widths[0], 16)
        let room = width - widths[..<3].reduce(0) { $0 + $1 + 2 }
        widths[3] = min(widths[3], room * 2 / 5)
        var table = TextTable(
            titles.enumerated().map { .init(title: $1, isNumber: $0 == 1 || $0 == 2) } + [.init(title: "CHANGES")]
        )
        for row in rows {
            let pieces = row.cells[3].wrapped(to: widths[3])
            let changes = row.changes.joined(separator: ", ").printable.wrapped(to: room - widths[3] - 2)
            for line in 0..<max(1, pieces.count, changes.count) {
                var cells = line == 0 ? row.cells : ["", "", "", ""]
                cells[0] = cells[0].shortened(to: widths[0], unicode: usesUnicode)
                cells[3] = line < pieces.count ? pieces[line] : ""
                table.add((cells + [line < changes.count ? changes[line] : ""]).map { .init($0) })
            }
        }
        return table.lines(width: width, unicode: usesUnicode).map(\.trimmedAtEnd)
    }
}

extension Timeline {
    /// What a recipe without a timeline does: the ranges of its only source, one after another.
    fileprivate init(ofOnlySource recipe: Recipe) {
        let ranges = recipe.sources.first?.ranges ?? []
        let name = recipe.sources.first?.name ?? "source"
        self.init(tracks: [
            Track(pieces: (ranges.isEmpty ? [.whole] : ranges).map { Piece(.source(name, $0)) })
        ])
    }
}
