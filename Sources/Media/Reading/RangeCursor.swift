import Conversion

/// What of a source is wanted: the ranges of an output in the order of delivery, and the one that comes now.
struct RangeCursor {
    let ranges: [Range<Int64>]
    private var index = 0
    /// The start of the block that the caller keeps; greater than any frame if it keeps none.
    private var heldStart = Int64.max

    /// `ranges` count frames of sound. The end `Int64.max` stands for the end of the source.
    init(_ ranges: [Range<Int64>]) { self.ranges = ranges }

    /// The range that comes now; `nil` once all are done.
    var current: Range<Int64>? { index < ranges.count ? ranges[index] : nil }

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
        guard index + 1 < ranges.count, ranges[index].upperBound <= block.upperBound else { return false }
        let isNeeded = block.contains(ranges[index + 1].lowerBound)
        heldStart = isNeeded ? block.lowerBound : .max
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
        guard let range = current, range.lowerBound < place else { return .onwards }
        return range.lowerBound >= heldStart ? .heldBlock : .restart
    }

    /// Notes that the kept block is of no more use.
    mutating func forgetHeld() { heldStart = .max }
}
