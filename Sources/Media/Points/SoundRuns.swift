import Conversion

/// Finds the silences of a track, and where its sound begins and ends.
struct SilenceRuns {
    private var run: MarkedRun
    private(set) var sound: Range<Int64>?

    init(shortest: Int64) { run = MarkedRun(shortest: shortest) }

    /// `loud` has the number of loud channels of each frame.
    mutating func add(_ loud: [Int], _ clock: BlockClock, to points: inout StatedPoints) {
        for index in loud.indices {
            let frame = clock.frame(index)
            guard loud[index] > 0 else {
                run.mark(frame, upTo: clock.frame(index + 1))
                continue
            }
            finish(&points)
            let first = min(sound?.lowerBound ?? frame, frame)
            sound = first..<max(clock.frame(index + 1), frame, sound?.upperBound ?? frame)
        }
    }

    /// Adds frames that are silent.
    mutating func mark(_ start: Int64, upTo end: Int64) { run.mark(start, upTo: end) }

    mutating func finish(_ points: inout StatedPoints) {
        guard let found = run.finish() else { return }
        points.add(SourcePoint(.silence, at: found.lowerBound, frames: Int64(found.count)))
    }
}

/// Finds where one channel is silent while others are not.
struct SilentChannelFinder {
    private var run: MarkedRun
    private let level: Double
    private let channel: Int

    init(level: Double, shortest: Int64, channel: Int) {
        (self.level, self.channel) = (level, channel)
        run = MarkedRun(shortest: shortest)
    }

    mutating func add(_ samples: [Double], _ loud: [Int], _ clock: BlockClock, to points: inout StatedPoints) {
        for index in samples.indices where loud[index] > 0 {
            if !(abs(samples[index]) <= level) {
                finish(&points)
            } else {
                run.mark(clock.frame(index), upTo: clock.frame(index + 1))
            }
        }
    }

    mutating func finish(_ points: inout StatedPoints) {
        guard let found = run.finish() else { return }
        let frames = Int64(found.count)
        points.add(SourcePoint(.silentChannel, at: found.lowerBound, frames: frames, channels: [channel]))
    }
}

/// Finds where two channels have the same samples. Silence at the ends of such a run does not count.
struct EqualChannelsFinder {
    private var run: MarkedRun
    private let level: Double
    private let channels: [Int]

    init(level: Double, shortest: Int64, channels: [Int]) {
        (self.level, self.channels) = (level, channels)
        run = MarkedRun(shortest: shortest)
    }

    mutating func add(
        _ first: [Double],
        _ second: [Double],
        _ clock: BlockClock,
        to points: inout StatedPoints
    ) {
        for index in first.indices {
            let sample = first[index]
            if sample != second[index] {
                finish(&points)
            } else if !(abs(sample) <= level) {
                run.mark(clock.frame(index), upTo: clock.frame(index + 1))
            }
        }
    }

    mutating func finish(_ points: inout StatedPoints) {
        guard let found = run.finish() else { return }
        let frames = Int64(found.count)
        points.add(SourcePoint(.equalChannels, at: found.lowerBound, frames: frames, channels: channels))
    }
}
