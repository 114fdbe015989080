import Conversion

/// Decoded samples that are kept to be delivered again, forwards or backwards. Its memory is used again after `clear`.
struct SampleStore {
    /// Blocks of one shape without a break, joined.
    private struct Stretch {
        let shape: SampleShape
        var frames: Int
        /// Where the stretch begins in each plane.
        let start: Int
    }

    private var stretches: [Stretch] = []
    /// The samples of a plane, or of all channels if they are interleaved. Each plane has the bytes of all stretches.
    private var planes: [[UInt8]] = []
    /// Whether everything that belongs in was appended.
    private(set) var isComplete = false
    /// The stretch and the frame in it that come next.
    private var cursor = (stretch: 0, frame: 0)
    private var left = Int.max
    private var byteCount = 0

    /// The bytes of the widest samples.
    private static let alignment = 8

    /// The frames of a block that is delivered.
    private static let blockFrames = 4096

    /// Where each stretch begins in its planes.
    var starts: [Int] { stretches.map(\.start) }

    /// Empties the store and keeps its memory.
    mutating func clear() {
        stretches.removeAll(keepingCapacity: true)
        for plane in planes.indices { planes[plane].removeAll(keepingCapacity: true) }
        (isComplete, cursor, left, byteCount) = (false, (0, 0), .max, 0)
    }

    /// Notes that everything was appended. The next block is the first or, in reverse, the last.
    mutating func complete() {
        isComplete = true
        cursor = (stretches.count - 1, stretches.last?.frames ?? 0)
    }

    /// Delivers the first `frames` frames from now on.
    mutating func rewind(upTo frames: Int64) {
        cursor = (0, 0)
        left = Int(clamping: frames)
    }

    /// Copies the samples of `block`. Returns `false`, and copies nothing, if the store would exceed `limit` bytes.
    mutating func append(_ block: borrowing SampleBlock, atMost limit: Int = .max) throws -> Bool {
        guard let shape = block.shape else { return true }
        let bytes = block.frameCount * shape.bytesPerFrame
        guard byteCount + bytes <= limit else { return false }
        byteCount += bytes
        let count = block.planeCount
        while planes.count < count { planes.append([]) }
        if let last = stretches.last, last.shape == shape {
            stretches[stretches.count - 1].frames += block.frameCount
        } else {
            // A stretch of fewer planes leaves the other planes behind, and wider samples begin where they are aligned.
            let end = planes.reduce(0) { max($0, $1.count) }
            let start = (end + Self.alignment - 1) / Self.alignment * Self.alignment
            for plane in planes.indices where planes[plane].count < start {
                planes[plane].append(contentsOf: repeatElement(0, count: start - planes[plane].count))
            }
            stretches.append(Stretch(shape: shape, frames: block.frameCount, start: start))
        }
        for plane in 0..<count { block.withPlane(plane) { planes[plane].append(contentsOf: $0) } }
        return true
    }

    mutating func append(_ block: borrowing SampleBlock) throws { _ = try append(block, atMost: .max) }

    /// Fills `block` with the next frames; `false` at the end.
    mutating func next(into block: inout SampleBlock) throws -> Bool {
        guard cursor.stretch < stretches.count, left > 0 else { return false }
        let stretch = stretches[cursor.stretch]
        let count = min(Self.blockFrames, stretch.frames - cursor.frame, left)
        try fill(&block, count, stretch, from: cursor.frame, isReversed: false)
        left -= count
        cursor.frame += count
        if cursor.frame == stretch.frames { cursor = (cursor.stretch + 1, 0) }
        return true
    }

    /// Fills `block` with the frames before those of the previous call, the last one first; `false` at the start.
    mutating func nextReversed(into block: inout SampleBlock) throws -> Bool {
        guard isComplete, cursor.stretch >= 0, cursor.stretch < stretches.count else { return false }
        let stretch = stretches[cursor.stretch]
        let count = min(Self.blockFrames, cursor.frame)
        try fill(&block, count, stretch, from: cursor.frame - count, isReversed: true)
        cursor.frame -= count
        if cursor.frame == 0 {
            let before = cursor.stretch - 1
            cursor = (before, before >= 0 ? stretches[before].frames : 0)
        }
        return true
    }

    private func fill(
        _ block: inout SampleBlock,
        _ count: Int,
        _ stretch: Stretch,
        from frame: Int,
        isReversed: Bool
    ) throws {
        try block.reserveOrFail(count, stretch.shape)
        let channels = stretch.shape.format.isPlanar ? 1 : stretch.shape.channelCount
        let width = stretch.shape.format.bytesPerSample
        let start = stretch.start + frame * channels * width
        for plane in 0..<block.planeCount {
            block.withMutablePlane(plane) { target in
                planes[plane].withUnsafeBytes { all in
                    let source = UnsafeRawBufferPointer(rebasing: all[start..<start + count * channels * width])
                    guard isReversed else { return target.copyMemory(from: source) }
                    switch width {
                    case 1: Self.reverse(source, into: target, channels, UInt8.self)
                    case 2: Self.reverse(source, into: target, channels, UInt16.self)
                    case 4: Self.reverse(source, into: target, channels, UInt32.self)
                    default: Self.reverse(source, into: target, channels, UInt64.self)
                    }
                }
            }
        }
    }

    /// Copies frames in reverse order; the channels of a frame keep theirs.
    private static func reverse<Word: BitwiseCopyable>(
        _ source: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer,
        _ channels: Int,
        _: Word.Type
    ) {
        let words = source.bindMemory(to: Word.self)
        let out = target.bindMemory(to: Word.self)
        let frames = words.count / channels
        guard let from = words.baseAddress, let to = out.baseAddress else { return }
        if channels == 1 {
            for frame in 0..<frames { to[frame] = from[frames &- 1 &- frame] }
            return
        }
        for frame in 0..<frames {
            let (read, write) = ((frames &- 1 &- frame) &* channels, frame &* channels)
            for channel in 0..<channels { to[write &+ channel] = from[read &+ channel] }
        }
    }
}

extension SampleBlock {
    /// Resizes the block like `reserve`, and reports a failure as a lack of memory.
    mutating func reserveOrFail(_ frames: Int, _ shape: SampleShape) throws {
        do {
            try reserve(frames, shape)
        } catch let error as LibAVError {
            throw MediaError(error, .outOfMemory, at: .decode, "no memory for a block of samples")
        }
    }

    /// Gives the block room for `frames` frames of `shape`. The first `kept` frames stay.
    mutating func grow(to frames: Int, _ shape: SampleShape, keeping kept: Int) throws {
        if kept == 0 { return try reserveOrFail(frames, shape) }
        if frames <= frameCount { return }
        var larger = try SampleBlock()
        try larger.reserveOrFail(max(frames, 2 * kept), shape)
        larger.position = position
        shorten(to: kept)
        larger.copyFrames(of: self, to: 0)
        try share(larger)
    }

    /// Copies all frames of `other`, which has the same shape, over those from `frame` on.
    mutating func copyFrames(of other: borrowing SampleBlock, to frame: Int) {
        guard let shape else { return }
        let stride = shape.format.bytesPerSample * (shape.format.isPlanar ? 1 : shape.channelCount)
        for plane in 0..<planeCount {
            withMutablePlane(plane) { target in
                other.withPlane(plane) { source in
                    UnsafeMutableRawBufferPointer(rebasing: target[(frame * stride)...]).copyMemory(from: source)
                }
            }
        }
    }

    /// Drops the frames from `frames` on.
    mutating func shorten(to frames: Int) { trim(front: 0, back: max(0, frameCount - frames)) }
}
