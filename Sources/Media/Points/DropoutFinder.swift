import Conversion

/// Finds short runs of equal samples in the middle of sound, in one channel: what a player or a recorder leaves when it
/// is late.
struct DropoutFinder {
    private let level: Double
    private let limit: Double
    private let lengths: ClosedRange<Int64>
    private let edge: Int64
    private let channel: Int
    private var value = Double.nan
    private var start: Int64 = 0
    /// The last frame with sound before the run, and in all.
    private var soundBefore: Int64?
    private var lastSound: Int64?
    /// A run behind which no sound has come yet.
    private var candidate: (start: Int64, end: Int64)?

    /// A sample above `level` is sound. At most `edge` frames may lie between it and both ends of a run. Samples of `limit`
    /// or more, and of -`limit` or less, are clipped and no dropout.
    init(level: Double, limit: Double, lengths: ClosedRange<Int64>, edge: Int64, channel: Int) {
        (self.level, self.limit, self.lengths) = (level, limit, lengths)
        (self.edge, self.channel) = (edge, channel)
    }

    /// Forgets the samples so far: those that come next do not follow them.
    mutating func startOver() {
        value = .nan
        (soundBefore, lastSound, candidate) = (nil, nil, nil)
    }

    mutating func add(_ samples: [Double], _ clock: BlockClock, to points: inout StatedPoints) {
        for index in samples.indices {
            let sample = samples[index]
            let isSound = !(abs(sample) <= level)
            if sample == value {
                if isSound { lastSound = clock.frame(index) }
                continue
            }
            let frame = clock.frame(index)
            if lengths.contains(frame - start), abs(value) < limit, let soundBefore, start - soundBefore - 1 <= edge {
                candidate = (start, frame)
            }
            (value, start, soundBefore) = (sample, frame, lastSound)
            guard isSound else { continue }
            lastSound = frame
            guard let found = candidate else { continue }
            candidate = nil
            guard frame - found.end <= edge else { continue }
            let frames = found.end - found.start
            points.add(SourcePoint(.dropout, at: found.start, frames: frames, channels: [channel]))
        }
    }
}
