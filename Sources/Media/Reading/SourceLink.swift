import Conversion

/// The stream that an output reads, of several that follow one another in a source (a chained Ogg file).
struct SourceLink {
    let track: Track
    /// Whether it is not the first.
    let isLater: Bool
    /// Where it begins on the clock of the output, and on the count of all decoded frames.
    let start: Int64
    let decoded: Int64

    /// The first stream.
    init(_ track: Track) { (self.track, isLater, start, decoded) = (track, false, 0, 0) }

    /// A stream that begins where `clock` is.
    init(_ track: Track, at clock: TrackClock) {
        (self.track, isLater, start, decoded) = (track, true, clock.reached, clock.decoded)
    }

    /// The place of `frame` of the stream on the clock of the output, which counts at `rate`.
    func place(of frame: Int64, rate: Int) -> Int64 {
        guard rate != track.sampleRateHz else { return start.addingSaturated(frame) }
        return start.addingSaturated(frame.scaledSaturated(by: rate, over: track.sampleRateHz))
    }

    /// The frames of the stream before `place`. A fraction of a frame counts as one.
    func frames(upTo place: Int64, rate: Int) -> Int64 {
        guard rate != track.sampleRateHz else { return place - start }
        let whole = (place - start).scaledSaturated(by: track.sampleRateHz, over: rate)
        return place > start ? whole + 1 : whole
    }
}
