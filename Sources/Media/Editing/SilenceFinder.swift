package import Conversion

/// Finds the silences between the sounds of a track, block by block, in constant memory.
///
/// Silence before the first sound and after the last one does not count.
package struct SilenceFinder {
    /// The frame in the middle of each silence, in order, on the clock of the track. At most one more than `most`.
    package private(set) var middles: [Int64] = []

    private let level: LoudLevel
    private let shortest: Int64
    private let rate: Int
    private let most: Int
    /// The frame after the last loud one; `nil` before the first.
    private var soundEnd: Int64?
    private var marks = LoudMarks()

    /// Finds silence that is as long as `silence` says, or longer. `rate` is that of the track's clock.
    package init(_ silence: SilenceTrim, rate: Int, most: Int) {
        level = LoudLevel(above: silence.threshold)
        shortest = max(silence.shortest.frames(atRate: rate)?.frames ?? .max, 1)
        (self.rate, self.most) = (rate, most)
    }

    /// Examines the next samples of the track, in any format and at any rate.
    package mutating func add(_ block: borrowing SampleBlock) {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        marks.clear(block.frameCount)
        level.examine(block, by: &marks)
        let clock = BlockClock(position: block.position, blockRate: shape.sampleRateHz, rate: rate)
        for loud in marks.stretches {
            let start = clock.frame(loud.start)
            if let soundEnd, start - soundEnd >= shortest, middles.count <= most {
                middles.append(soundEnd + (start - soundEnd) / 2)
            }
            soundEnd = max(soundEnd ?? 0, clock.frame(loud.end))
        }
    }
}

/// Which frames of a block are loud in any channel.
private struct LoudMarks: LoudSearch {
    private var isLoud: [Bool] = []

    mutating func clear(_ frames: Int) {
        isLoud.removeAll(keepingCapacity: true)
        isLoud.append(contentsOf: repeatElement(false, count: frames))
    }

    mutating func look<Sample>(
        at samples: UnsafeBufferPointer<Sample>,
        channels: Int,
        isLoud: (Sample) -> Bool
    ) {
        for frame in self.isLoud.indices where !self.isLoud[frame] {
            for channel in 0..<channels where isLoud(samples[frame &* channels &+ channel]) {
                self.isLoud[frame] = true
                break
            }
        }
    }

    /// The loud frames that follow one another, from the first to the one after the last.
    var stretches: [(start: Int, end: Int)] {
        var found: [(start: Int, end: Int)] = []
        for (frame, isLoud) in isLoud.enumerated() where isLoud {
            if let last = found.last, last.end == frame {
                found[found.count - 1].end = frame + 1
            } else {
                found.append((frame, frame + 1))
            }
        }
        return found
    }
}
