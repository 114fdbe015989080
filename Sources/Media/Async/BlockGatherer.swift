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
            interleave(block, start..<start + count, incoming)
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

    private mutating func interleave(_ block: borrowing SampleBlock, _ frames: Range<Int>, _ shape: SampleShape) {
        let before = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: frames.count * shape.bytesPerFrame))
        bytes.withUnsafeMutableBytes { all in
            let target = UnsafeMutableRawBufferPointer(rebasing: all[before...])
            for channel in 0..<shape.channelCount {
                block.withPlane(channel) { plane in
                    switch shape.format.bytesPerSample {
                    case 1: Self.scatter(plane, UInt8.self, frames, into: target, channel, shape.channelCount)
                    case 2: Self.scatter(plane, UInt16.self, frames, into: target, channel, shape.channelCount)
                    case 4: Self.scatter(plane, UInt32.self, frames, into: target, channel, shape.channelCount)
                    default: Self.scatter(plane, UInt64.self, frames, into: target, channel, shape.channelCount)
                    }
                }
            }
        }
    }

    private static func scatter<Word: BitwiseCopyable>(
        _ plane: UnsafeRawBufferPointer,
        _: Word.Type,
        _ frames: Range<Int>,
        into target: UnsafeMutableRawBufferPointer,
        _ channel: Int,
        _ channels: Int
    ) {
        let width = MemoryLayout<Word>.size
        for (index, frame) in frames.enumerated() {
            let word = plane.load(fromByteOffset: frame * width, as: Word.self)
            target.storeBytes(of: word, toByteOffset: (index * channels + channel) * width, as: Word.self)
        }
    }
}
