import Conversion

/// What of a source is wanted: the ranges of an output in the order of delivery, and the one that comes now.
struct RangeCursor {
    private(set) var ranges: [Range<Int64>]
    private var index = 0
    /// The place of the block that the caller keeps; `nil` if it keeps none.
    private(set) var held: Range<Int64>?
    /// Whether ranges that are not yet known may follow.
    private var isOpenEnded = false

    /// `ranges` count frames of sound. The end `Int64.max` stands for the end of the source.
    init(_ ranges: [Range<Int64>]) { self.ranges = ranges }

    /// The range that comes now; `nil` once all are done.
    var current: Range<Int64>? { index < ranges.count ? ranges[index] : nil }

    /// Nothing of the source yet; `turn` says what is wanted.
    static var undecided: RangeCursor {
        var cursor = RangeCursor([])
        cursor.isOpenEnded = true
        return cursor
    }

    /// Whether a range may begin before the end of the one before it.
    var mayTurnBack: Bool {
        isOpenEnded || zip(ranges, ranges.dropFirst()).contains { $0.upperBound > $1.lowerBound }
    }

    /// Whether the whole source is wanted, once.
    var isWhole: Bool { ranges == [0..<Int64.max] }

    /// Frames in all ranges of a source of `length` frames; `nil` if a range has no end and the length is unknown.
    func frames(of length: Int64?) -> Int64? {
        var sum: Int64 = 0
        for range in ranges {
            guard let end = range.upperBound == .max ? length : range.upperBound else { return nil }
            sum = sum.addingSaturated(max(0, end - range.lowerBound))
        }
        return sum
    }

    // MARK: The range that comes now

    /// How much of `block` lies before the range, and behind the range or the end of the sound.
    func excess(of block: Range<Int64>, soundEnd: Int64) -> (front: Int64, back: Int64) {
        guard let range = current else { return (0, 0) }
        let end = min(range.upperBound, soundEnd)
        return (max(0, range.lowerBound - block.lowerBound), max(0, block.upperBound - end))
    }

    /// Whether a loss of `frames` at `place` touches the range. Decoders start cold after a seek, and errors before the
    /// range are not part of it.
    func isTouched(at place: Int64, by frames: Int64) -> Bool {
        guard let range = current else { return false }
        return place < range.upperBound && place + max(1, frames) > range.lowerBound
    }

    /// The part of `frames` lost frames at `place` that the range lacks. It has no frames or fewer if the loss lies
    /// outside.
    func part(at place: Int64, of frames: Int64) -> (start: Int64, frames: Int64) {
        guard let range = current else { return (place, 0) }
        let start = max(place, range.lowerBound)
        return (start, min(place + frames, range.upperBound) - start)
    }

    /// Says what the range wants of a source that ends at frame `end`; `nil` if the source has it.
    func wantBeyond(_ end: Int64) -> String? {
        guard let range = current else { return nil }
        if range.upperBound == .max { return range.lowerBound > end ? "begins at frame \(range.lowerBound)" : nil }
        return range.upperBound > end ? "ends at frame \(range.upperBound)" : nil
    }

    // MARK: The next range

    /// Whether the next range begins in `block`, the one in which this range ends. The caller must then keep the block:
    /// a pipe delivers it only once.
    mutating func keeps(_ block: Range<Int64>) -> Bool {
        guard let range = current, range.upperBound <= block.upperBound else { return false }
        let isNeeded = index + 1 < ranges.count ? block.contains(ranges[index + 1].lowerBound) : isOpenEnded
        held = isNeeded ? block : nil
        return isNeeded
    }

    /// How to reach the next range.
    enum Step {
        /// By reading on, or not at all if there is none.
        case onwards
        /// In the block that was kept.
        case heldBlock
        /// From the start of the source.
        case restart
    }

    /// Turns to the next range, when the source has been read up to `place`.
    mutating func advance(at place: Int64) -> Step {
        index += 1
        return step(from: place)
    }

    /// Turns to `range` instead of all others, when the source has been read up to `place`.
    mutating func turn(to range: Range<Int64>, at place: Int64) -> Step {
        (ranges, index) = ([range], 0)
        return step(from: place)
    }

    private func step(from place: Int64) -> Step {
        guard let range = current, range.lowerBound < place else { return .onwards }
        // Reading on continues the kept block only if nothing was read after it.
        guard let held, held.contains(range.lowerBound), held.upperBound == place || range.upperBound <= held.upperBound
        else { return .restart }
        return .heldBlock
    }

    /// Notes that the kept block is of no more use.
    mutating func forgetHeld() { held = nil }
}
