import Conversion

/// Where the chapters of a source are in an output that holds all of it, or parts of it.
enum ChapterPlan {
    /// The chapters of an output, in their order. `ranges` are the parts of the source that it has; none for all of it.
    ///
    /// Parts begin and end at frames of the track, at `rate`. No other time is rounded: the container of the output does
    /// that, once. A part of one chapter has none: nothing divides it.
    static func chapters(_ source: [Chapter], in ranges: [MediaTimeRange], rate: Int) -> [Chapter] {
        let sorted = source.sorted { $0.start < $1.start }
        guard !ranges.isEmpty, let first = sorted.first else { return sorted }
        let parts = ranges.map { range -> Range<Int64> in
            let start = range.start.frames(atRate: rate)?.frames ?? 0
            return start..<max(start, range.end.frames(atRate: rate)?.frames ?? .max)
        }
        let heard = heard(sorted, in: parts, rate: rate)
        let hasFront = ranges.contains { $0.start < first.start }
        return heard.count + (hasFront ? 1 : 0) > 1 ? heard.chapters : []
    }

    /// Where the chapters of a source are in parts of it that follow one another, and how many of `sorted` they are.
    static func heard(_ sorted: [Chapter], in parts: [Range<Int64>], rate: Int) -> (chapters: [Chapter], count: Int) {
        var (found, heard) = ([Chapter](), Set<Int>())
        var last: Int?
        var before = MediaTime.zero
        for part in parts {
            let start = MediaTime(frames: part.lowerBound, rate: rate)
            let isOpen = part.upperBound == .max
            let end: MediaTime = isOpen ? .positiveInfinity : MediaTime(frames: part.upperBound, rate: rate)
            for (index, chapter) in sorted.enumerated() {
                // A chapter lasts until the next one begins. What lies behind its own end belongs to it as well.
                let next: MediaTime = index + 1 < sorted.count ? sorted[index + 1].start : .positiveInfinity
                let from = max(chapter.start, start)
                guard chapter.start < next, from < min(next, end) else { continue }
                heard.insert(index)
                let stop = min(max(chapter.end, from), end) - start + before
                if last == index {
                    // Two parts of one chapter follow each other.
                    let whole = found[found.count - 1]
                    found[found.count - 1] = Chapter(start: whole.start, end: stop, title: whole.title)
                } else {
                    found.append(Chapter(start: from - start + before, end: stop, title: chapter.title))
                }
                last = index
            }
            guard end.isNumeric else { break }
            before += end - start
        }
        return (found, heard.count)
    }
}

extension Chapter {
    /// Where the chapter begins on a clock of so many ticks a second; `nil` if that is before zero or beyond 64 bits.
    func startTicks(_ perSecond: Int) -> Int64? {
        guard let ticks = start.frames(atRate: perSecond)?.frames, ticks >= 0 else { return nil }
        return ticks
    }

    /// The same of its end, which is not before its start.
    func endTicks(_ perSecond: Int) -> Int64? {
        guard let first = startTicks(perSecond), let ticks = end.frames(atRate: perSecond)?.frames else { return nil }
        return max(first, ticks)
    }

    /// The title in at most so many bytes of UTF-8; empty without one.
    func shortTitle(bytes: Int) -> [UInt8] {
        var short: [UInt8] = []
        for scalar in (title ?? "").unicodeScalars {
            let letter = Array(String(scalar).utf8)
            guard short.count + letter.count <= bytes else { break }
            short += letter
        }
        return short
    }
}
