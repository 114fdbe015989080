import Conversion

/// What of a source is wanted: the ranges of an output in the order of delivery, and the one that comes now.
struct RangeCursor {
    /// What the caller wants, on the time line of the track.
    private(set) var ranges: [Range<Int64>]
    /// What must be read for it.
    private var parts: [EditedTime.Part]
    private let edits: EditedTime?
    private var index = 0
    /// Frames of silence of this part that were handed out.
    private var silence: Int64 = 0
    /// The place of the block that the caller keeps; `nil` if it keeps none.
    private(set) var held: Range<Int64>?
    /// Whether ranges that are not yet known may follow.
    private var isOpenEnded = false

    /// `ranges` count frames of sound. The end `Int64.max` stands for the end of the source.
    init(_ ranges: [Range<Int64>], _ edits: EditedTime? = nil) {
        (self.ranges, self.edits) = (ranges, edits)
        parts = Self.parts(of: ranges, edits)
    }

    private static func parts(of ranges: [Range<Int64>], _ edits: EditedTime?) -> [EditedTime.Part] {
        ranges.flatMap { range in edits?.parts(of: range) ?? [EditedTime.Part(range: range)] }
    }

    /// The range of the source that comes now; `nil` once all are done.
    var current: Range<Int64>? { index < parts.count ? parts[index].range : nil }

    /// How much later what comes now lies on the time line of the track than in the source.
    var shift: Int64 { index < parts.count ? parts[index].shift : 0 }

    /// Nothing of the source yet; `turn` says what is wanted.
    static func undecided(_ edits: EditedTime? = nil) -> RangeCursor {
        var cursor = RangeCursor([], edits)
        cursor.isOpenEnded = true
        return cursor
    }

    /// Whether a range may begin before the end of the one before it.
    var mayTurnBack: Bool {
        let read = parts.filter { !$0.isSilent }.map(\.range)
        return isOpenEnded || zip(read, read.dropFirst()).contains { $0.upperBound > $1.lowerBound }
    }

    /// Whether the whole source is wanted, once.
    var isWhole: Bool { ranges == [0..<Int64.max] && edits == nil }

    /// Frames in all ranges of a source of `length` frames; `nil` if a range has no end and the length is unknown.
    func frames(of length: Int64?) -> Int64? {
        var sum: Int64 = 0
        for range in parts.map(\.range) {
            guard let end = range.upperBound == .max ? length : range.upperBound else { return nil }
            sum = sum.addingSaturated(max(0, end - range.lowerBound))
        }
        return sum
    }

    // MARK: Silence

    /// Frames of silence that come now, where the time line has no sound; `nil` for sound.
    var silenceLeft: Int64? {
        guard let current, parts[index].isSilent else { return nil }
        return current.upperBound - current.lowerBound - silence
    }

    /// Counts silence that is handed out, and returns its place on the time line.
    mutating func giveSilence(_ frames: Int64) -> Int64 {
        defer { silence += frames }
        return shift + silence
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
        let next = parts[(index + 1)...].first { !$0.isSilent }
        let isNeeded = next.map { block.contains($0.range.lowerBound) } ?? isOpenEnded
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
        silence = 0
        return step(from: place)
    }

    /// Turns to `range` instead of all others, when the source has been read up to `place`.
    mutating func turn(to range: Range<Int64>, at place: Int64) -> Step {
        (ranges, index, silence) = ([range], 0, 0)
        parts = Self.parts(of: ranges, edits)
        return step(from: place)
    }

    private func step(from place: Int64) -> Step {
        guard let range = current, !parts[index].isSilent, range.lowerBound < place else { return .onwards }
        // Reading on continues the kept block only if nothing was read after it.
        guard let held, held.contains(range.lowerBound), held.upperBound == place || range.upperBound <= held.upperBound
        else { return .restart }
        return .heldBlock
    }

    /// Notes that the kept block is of no more use.
    mutating func forgetHeld() { held = nil }
}
