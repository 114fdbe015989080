import Conversion

/// The chapters of a timeline: those of its sources, where these are heard.
///
/// Chapters of the first track that has some count. Sound that is played backwards has none.
struct TimelineChapters {
    /// The chapters of a source in their order, and the rate of its frames.
    struct Source {
        let chapters: [Chapter]
        let rate: Int

        init(_ chapters: [Chapter], rate: Int) {
            self.chapters = chapters.sorted { $0.start < $1.start }
            self.rate = rate
        }
    }

    private(set) var chapters: [Chapter] = []
    /// How many that are heard have no place: backwards, and in further tracks.
    private(set) var lost = 0
    /// How many of those that the caller sets begin behind the end.
    private(set) var behindEnd = 0
    private let sources: [Source]
    private let rate: Int

    /// No container has places for more.
    private static let most = 65_536
    /// Tracks may hold each other, so that the parts to visit double with each.
    private var partsLeft = 100_000

    /// `rate` is that of the plan's frames.
    init(_ plan: MixPlan, sources: [Source], rate: Int) {
        (self.sources, self.rate) = (sources, rate)
        guard sources.contains(where: { !$0.chapters.isEmpty }) else { return }
        for track in plan.parts {
            let found = chapters(of: track)
            if chapters.isEmpty { chapters = found } else { lost += found.count }
        }
        // One chapter from the start to the end divides nothing.
        if chapters.count == 1, chapters[0].start == .zero { chapters = [] }
    }

    /// Chapters that the caller sets.
    init(set wished: (chapters: [Chapter], behindEnd: Int)) {
        (chapters, behindEnd, sources, rate) = (wished.chapters, wished.behindEnd, [], 1)
    }

    /// Those of a part, in the time of its plan.
    private mutating func chapters(of part: MixPlan.Part) -> [Chapter] {
        guard partsLeft > 0 else { return [] }
        partsLeft -= 1
        let once: [Chapter]
        let length: MediaTime
        let times: Int64
        let isReversed: Bool
        switch part.sound {
        case .source(let plan):
            let source = sources[plan.source]
            once = ChapterPlan.heard(source.chapters, in: [plan.frames], rate: source.rate).chapters
            length = MediaTime(frames: Int64(plan.frames.count), rate: source.rate)
            (times, isReversed) = (plan.times, plan.isReversed)
        case .mix(let plan, let isBackwards):
            var inner: [Chapter] = []
            for part in plan.parts where inner.count < Self.most { inner += chapters(of: part) }
            once = inner.sorted { $0.start < $1.start }
            length = time(plan.frames)
            // As often as it takes to fill the part.
            (times, isReversed) = (.max, isBackwards)
        }
        guard !isReversed else {
            if once.count > 1 { lost += once.count }
            return []
        }
        return repeated(once, every: length, times, in: part)
    }

    private func repeated(
        _ chapters: [Chapter],
        every length: MediaTime,
        _ times: Int64,
        in part: MixPlan.Part
    ) -> [Chapter] {
        guard !chapters.isEmpty, length > .zero else { return [] }
        let (begin, end) = (time(part.place.lowerBound), time(part.place.upperBound))
        let start = time(part.place.lowerBound - part.skipped)
        var (found, done) = ([Chapter](), Int64(0))
        while done < times, done < Int64(Self.most), found.count < Self.most {
            // Multiplied and not added up, so that no error does.
            let shift = start + length.multiplied(by: done)
            guard shift < end else { break }
            for chapter in chapters {
                let (first, last) = (max(shift + chapter.start, begin), min(shift + chapter.end, end))
                // A chapter without a length lasts until the next one.
                guard first < end, shift + chapter.start >= begin || last > begin else { continue }
                found.append(Chapter(start: first, end: max(first, last), title: chapter.title))
            }
            done += 1
        }
        return found
    }

    private func time(_ frames: Int64) -> MediaTime { MediaTime(frames: frames, rate: rate) }
}
