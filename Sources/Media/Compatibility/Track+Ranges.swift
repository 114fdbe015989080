import Conversion

extension Track {
    /// The track's shape, with its length cut to `ranges`; the whole track if there are none.
    func shape(in ranges: [MediaTimeRange]) -> AudioShape {
        var shape = shape
        if !ranges.isEmpty { shape.frames = frames(in: ranges) }
        return shape
    }

    /// The total length of `ranges`; `nil` if a range is open-ended and the source does not state its end.
    private func frames(in ranges: [MediaTimeRange]) -> Int64? {
        var sum: Int64 = 0
        for range in ranges {
            let end = range.isOpenEnded ? length.frames : range.end.frames(atRate: sampleRateHz)?.frames
            guard let end, let start = range.start.frames(atRate: sampleRateHz)?.frames else { return nil }
            sum = sum.addingSaturated(max(0, end.addingSaturated(-start)))
        }
        return sum
    }
}
