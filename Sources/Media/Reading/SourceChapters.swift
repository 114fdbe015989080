import Conversion

/// The chapters of a source: those that libav sees, or those that marks of its container are, or else the tracks of a CUE
/// sheet in its tags.
struct SourceChapters {
    private(set) var chapters: [Chapter]
    /// How many marks there are beyond those that are read.
    private(set) var unread: Int64 = 0
    /// Whether they are the tracks of a CUE sheet in the tags.
    private(set) var areOfSheet = false

    /// Without an end, a chapter ends where the next one begins, or at `last`. `tags` are those of the file.
    init(_ demuxer: Demuxer, _ track: Track?, _ tags: [Tag], upTo last: MediaTime?) {
        chapters = demuxer.chapters(upTo: last).map { Chapter(start: $0.start, end: $0.end, title: $0.title) }
        readMarks(demuxer, track, tags, upTo: last)
        guard chapters.isEmpty else { return }
        chapters = CueSheetTag.chapters(in: tags, upTo: last)
        areOfSheet = !chapters.isEmpty
    }

    private mutating func readMarks(_ demuxer: Demuxer, _ track: Track?, _ tags: [Tag], upTo last: MediaTime?) {
        guard let kind = demuxer.rules.chapterMarks, let track, demuxer.source.isSeekable else { return }
        // libav begins the tracks of a CUE sheet with the pauses before them, and has their ISRCs for titles. Where comments
        // state chapters as well, it mixes both.
        guard chapters.isEmpty || kind == .cueTrack else { return }
        let rate = track.sampleRateHz
        let stated = demuxer.rules.statedPoints(in: demuxer.source)
        let marks = stated.points.filter { point in
            guard point.kind == kind, stated.chapterFrames.contains(point.frame) else { return false }
            // A mark at the end divides nothing.
            return last.map { MediaTime(frames: point.frame, rate: rate) < $0 } ?? true
        }
        .sorted { $0.frame < $1.frame }
        guard !marks.isEmpty else { return }
        let kept = stated.points.count { $0.kind == kind }
        unread = max(0, (stated.counts[kind] ?? 0) - Int64(kept))
        let titles = kind == .cueTrack ? Self.titles(tags, rate) : [:]
        chapters = marks.indices.map { index in
            let start = MediaTime(frames: marks[index].frame, rate: rate)
            let next = index + 1 < marks.count ? MediaTime(frames: marks[index + 1].frame, rate: rate) : nil
            let title = kind == .cueTrack ? titles[marks[index].frame] : marks[index].text
            return Chapter(start: start, end: next ?? max(start, last ?? start), title: title)
        }
    }

    /// The titles in the CUE sheet that a tag holds, by the frames at which the tracks begin. FLAC's own has none.
    private static func titles(_ tags: [Tag], _ rate: Int) -> [Int64: String] {
        guard let list = CueSheetTag.list(in: tags) else { return [:] }
        var titles: [Int64: String] = [:]
        for mark in list.marks {
            if let frame = mark.start.frames(atRate: rate)?.frames, let title = mark.title { titles[frame] = title }
        }
        return titles
    }
}
