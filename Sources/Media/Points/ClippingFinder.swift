import Conversion

/// Finds runs of samples at one end of the scale, in one channel. Runs that are close together are one point, which
/// reaches from the first of their samples to the last and counts them.
struct ClippingFinder {
    private let limit: Double
    private let fewest: Int64
    private let gap: Int64
    private let channel: Int
    /// The end of the scale at which the samples are: 1, -1, or 0 between them.
    private var side = 0
    private var start: Int64 = 0
    private var count: Int64 = 0
    private var group: (start: Int64, end: Int64, samples: Int64)?

    /// Samples of `limit` or more count, and of -`limit` or less. `gap` is the least number of frames between two points.
    init(limit: Double, fewest: Int, gap: Int64, channel: Int) {
        (self.limit, self.gap, self.channel) = (limit, gap, channel)
        self.fewest = Int64(max(1, fewest))
    }

    mutating func add(_ samples: [Double], _ clock: BlockClock, to points: inout StatedPoints) {
        for index in samples.indices {
            let sample = samples[index]
            let now = sample >= limit ? 1 : sample <= -limit ? -1 : 0
            if now == side {
                count &+= 1
                continue
            }
            endRun(at: clock.frame(index), &points)
            (side, start, count) = (now, clock.frame(index), 1)
        }
    }

    /// `end` is the frame after the last one.
    mutating func finish(at end: Int64, to points: inout StatedPoints) {
        endRun(at: end, &points)
        side = 0
        give(to: &points)
    }

    private mutating func endRun(at end: Int64, _ points: inout StatedPoints) {
        guard side != 0, count >= fewest else { return }
        if let group, start - group.end < gap {
            self.group = (group.start, end, group.samples + count)
        } else {
            give(to: &points)
            group = (start, end, count)
        }
    }

    private mutating func give(to points: inout StatedPoints) {
        guard let found = group else { return }
        group = nil
        points.add(
            SourcePoint(
                .clipping,
                at: found.start,
                frames: found.end - found.start,
                channels: [channel],
                value: Double(found.samples)
            )
        )
    }

    /// The largest sample of integers with so many bits, as a part of full scale; 1 for floats.
    static func limit(of shape: SampleShape, bitDepth: Int) -> Double {
        guard shape.format.kind == .integer else { return 1 }
        let width = shape.format.bytesPerSample * 8
        let bits = (2...width).contains(bitDepth) ? bitDepth : width
        return 1 - Double(sign: .plus, exponent: 1 - bits, significand: 1)
    }
}
