public import Conversion

/// The points that a file states: the marks of its container, chapters, parts of an edit list, and CUE sheets in tags.
enum ContainerPoints {
    /// Of a pipe, marks behind the sound are known when it has been read to its end.
    static func read(_ reader: Reader, _ track: Track) -> StatedPoints {
        let rate = track.sampleRateHz
        var stated = reader.demuxer.rules.statedPoints(in: reader.demuxer.source)
        let sheet = cueSheet(reader.description.tags + track.tags, rate: rate)
        if !sheet.points.isEmpty {
            // A CUE sheet in the tags has titles, which FLAC's own lacks.
            let places = Set(sheet.points.map { Place($0) })
            stated.keep { !places.contains(Place($0)) }
        }
        stated.add(sheet)
        stated.chapterFrames.formUnion(sheet.chapterFrames)
        for chapter in reader.description.chapters {
            guard let point = point(of: chapter, rate: rate) else { continue }
            if !stated.chapterFrames.contains(point.frame) { stated.add(point) }
        }
        if let edits = track.edits { add(edits, to: &stated) }
        return stated
    }

    private struct Place: Hashable {
        let kind: SourcePoint.Kind
        let frame: Int64

        init(_ point: SourcePoint) { (kind, frame) = (point.kind, point.frame) }
    }

    private static func point(of chapter: Chapter, rate: Int) -> SourcePoint? {
        guard let start = chapter.start.frames(atRate: rate) else { return nil }
        // A CUE sheet of FLAC can state the least number as the start of a track, whose negative does not exist.
        let end = chapter.end.frames(atRate: rate) ?? start
        let frames = Int64(clamping: max(0, Int128(end.frames) - Int128(start.frames)))
        return SourcePoint(
            .chapter,
            at: start.frames,
            frames: frames,
            text: PointText.bounded(chapter.title),
            isRounded: !start.isExact
        )
    }

    private static func cueSheet(_ tags: [Tag], rate: Int) -> StatedPoints {
        let sheet = tags.first(where: CueSheetTag.isSheet)
        return sheet.map { StatedPoints(cueSheet: $0.value, rate: rate) } ?? StatedPoints()
    }

    private static func add(_ edits: EditedTime, to stated: inout StatedPoints) {
        var place: Int64 = 0
        for piece in edits.pieces {
            let text = piece.start.map { "from frame \(Figures.grouped($0)) of the media" } ?? "silence"
            stated.add(SourcePoint(.edit, at: place, frames: piece.frames, text: text))
            place = place.addingSaturated(piece.frames)
        }
    }
}

extension Reader {
    /// All points of a track: what the file states, and what changes in its sound. The main track if `track` is `nil`.
    ///
    /// Decodes the track to its end. It is this reader's output. Damage is among the points if the damage mode tolerates
    /// it, and an error if it does not.
    public func points(of track: Track? = nil, _ rules: PointRules = PointRules()) throws -> PointReport {
        let track = try track ?? self.track()
        let output = try samples(of: track)
        var finder = PointFinder(rules, track: track)
        var block = try SampleBlock()
        while try output.next(into: &block) { finder.add(block, filling: output.filling) }
        return finder.finish(self, track, damage: output.damage)
    }
}
