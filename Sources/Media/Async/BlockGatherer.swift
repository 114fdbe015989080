/// Collects decoded blocks of any length into blocks of one length.
struct BlockGatherer {
    private(set) var shape: SampleShape?
    private(set) var frameCount = 0
    private var position: Int64 = 0
    private var bytes: [UInt8] = []
    private let wantedFrames: Int
    /// Whether a block may follow another one although frames between them are missing.
    private let joinsGaps: Bool
    /// The most frames for which memory is reserved before they come.
    private static let reservedFrames = 1 << 16

    init(frames: Int, joinsGaps: Bool = false) { (wantedFrames, self.joinsGaps) = (frames, joinsGaps) }

    var isFull: Bool { frameCount >= wantedFrames }

    /// Copies from `block`, starting at its frame `start`, and returns the number of frames taken.
    ///
    /// Zero if nothing fits: this block is full, the shapes differ, or `block` does not follow on the clock.
    mutating func take(_ block: borrowing SampleBlock, from start: Int, clockRate: Int) -> Int {
        guard var incoming = block.shape else { return 0 }
        let planar = incoming.format.isPlanar
        incoming.format = incoming.format.interleaved
        let place = block.position + Int64(start)
        if let shape {
            // At another sample rate, the clock does not count this block's frames: keep it separate.
            let follows = shape.sampleRateHz == clockRate && (joinsGaps || place == position + Int64(frameCount))
            guard incoming == shape, follows else { return 0 }
        } else {
            (shape, position) = (incoming, place)
            bytes.reserveCapacity(min(wantedFrames, Self.reservedFrames) * incoming.bytesPerFrame)
        }
        let count = min(block.frameCount - start, wantedFrames - frameCount)
        if planar {
            let before = bytes.count
            bytes.append(contentsOf: repeatElement(0, count: count * incoming.bytesPerFrame))
            bytes.withUnsafeMutableBytes {
                block.interleave(start..<start + count, into: .init(rebasing: $0[before...]))
            }
        } else {
            let stride = incoming.bytesPerFrame
            block.withPlane(0) { bytes.append(contentsOf: $0[start * stride..<(start + count) * stride]) }
        }
        frameCount += count
        return count
    }

    /// The collected block; `nil` if it is empty.
    func finished() -> PCMBlock? {
        guard let shape, frameCount > 0 else { return nil }
        return PCMBlock(unchecked: bytes, shape, at: position)
    }
}
