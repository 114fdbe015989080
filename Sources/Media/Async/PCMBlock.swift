import Conversion

/// Samples of all channels as a value: interleaved, in the machine's byte order, in memory that it owns.
///
/// This is how samples reach other tasks. libav's memory, a `SampleBlock`, stays with its reader.
public struct PCMBlock: Sendable, Hashable {
    /// The position of the first frame on the track's clock. A writer ignores it and counts frames itself.
    public let position: Int64
    /// Always interleaved.
    public let shape: SampleShape
    /// Whole frames, in order.
    public let bytes: [UInt8]

    public var frameCount: Int { bytes.count / shape.bytesPerFrame }

    /// Takes `bytes` unchanged. Throws `format_refused` for a planar or impossible shape, and if `bytes` are not a
    /// whole number of frames.
    public init(position: Int64 = 0, shape: SampleShape, bytes: [UInt8]) throws {
        guard !shape.format.isPlanar else { throw PCMBlock.refusal("the samples are planar, not interleaved") }
        guard (1...Int(Int32.max)).contains(shape.sampleRateHz), (1...64).contains(shape.channelCount) else {
            throw PCMBlock.refusal(
                "\(shape.sampleRateHz) Hz with \(Plural.count(shape.channelCount, "channel")) is not valid audio"
            )
        }
        guard bytes.count.isMultiple(of: shape.bytesPerFrame) else {
            throw PCMBlock.refusal(
                "the length \(bytes.count) is not a multiple of the frame size, \(Plural.count(shape.bytesPerFrame, "byte"))"
            )
        }
        self.init(unchecked: bytes, shape, at: position)
    }

    /// Copies interleaved samples. One channel means mono and two mean stereo; more have no speaker positions.
    public init<Sample: PCMSample>(
        _ samples: [Sample],
        sampleRateHz: Int,
        channelCount: Int,
        position: Int64 = 0
    ) throws {
        try self.init(
            position: position,
            shape: SampleShape(
                format: Sample.sampleFormat,
                sampleRateHz: sampleRateHz,
                channelCount: channelCount,
                channelMask: 0
            ),
            bytes: samples.withUnsafeBytes { Array($0) }
        )
    }

    /// For bytes that are known to match the shape.
    init(unchecked bytes: [UInt8], _ shape: SampleShape, at position: Int64) {
        self.position = position
        self.shape = shape
        self.bytes = bytes
    }

    private static func refusal(_ detail: String) -> MediaError { MediaError(.formatRefused, at: .encode, detail) }

    /// The samples as numbers, in frame order; `nil` if the block holds another sample type.
    public func samples<Sample: PCMSample>(as _: Sample.Type) -> [Sample]? {
        guard Sample.sampleFormat == shape.format else { return nil }
        let count = bytes.count / MemoryLayout<Sample>.stride
        return [Sample](unsafeUninitializedCapacity: count) { target, initialized in
            UnsafeMutableRawBufferPointer(target).copyBytes(from: bytes)
            initialized = count
        }
    }
}

extension SampleBlock {
    /// Replaces the contents with the samples of `block`.
    mutating func fill(from block: PCMBlock) throws {
        do {
            try reserve(block.frameCount, block.shape)
        } catch let error as LibAVError {
            throw MediaError(error, .outOfMemory, at: .encode, "no memory for a block of samples")
        }
        withMutablePlane(0) { $0.copyBytes(from: block.bytes) }
        position = block.position
    }
}
