import CLibAV
import Conversion

/// Decoded samples of all channels, with their position on the source's clock; freed when the value is dropped.
///
/// A block is allocated once and refilled: a running pump allocates nothing per block.
public struct SampleBlock: ~Copyable {
    let pointer: UnsafeMutablePointer<AVFrame>
    /// The position of the first frame, as counted by the code that filled the block.
    public var position: Int64 = 0

    /// An empty block.
    public init() throws {
        guard let frame = av_frame_alloc() else {
            throw MediaError(.outOfMemory, at: .open, "no memory for a block of samples")
        }
        self.init(adopting: frame)
    }

    /// Takes ownership of `pointer`; no other code may free it.
    init(adopting pointer: UnsafeMutablePointer<AVFrame>) { self.pointer = pointer }

    deinit {
        var doomed: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&doomed)
    }

    public var frameCount: Int { Int(pointer.pointee.nb_samples) }

    /// `nil` while the block is empty, and for a libav sample format that is not supported here.
    public var shape: SampleShape? {
        guard let format = SampleFormat(code: AVSampleFormat(pointer.pointee.format)) else { return nil }
        return SampleShape(
            format: format,
            sampleRateHz: Int(pointer.pointee.sample_rate),
            channelCount: Int(pointer.pointee.ch_layout.nb_channels),
            channelMask: pointer.pointee.ch_layout.waveMask
        )
    }

    /// Lends one plane as bytes. Planar samples have a plane per channel, interleaved samples have one in all.
    ///
    /// The memory must not leave the closure.
    public borrowing func withPlane<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
        -> Result
    {
        guard let shape, let data = pointer.pointee.extended_data[index] else {
            return try body(.init(start: nil, count: 0))
        }
        let channels = shape.format.isPlanar ? 1 : shape.channelCount
        return try body(.init(start: data, count: frameCount * channels * shape.format.bytesPerSample))
    }

    /// Lends one plane for writing; the memory must not leave the closure.
    mutating func withMutablePlane<Result>(
        _ index: Int,
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        guard let shape, let data = pointer.pointee.extended_data[index] else {
            return try body(.init(start: nil, count: 0))
        }
        let channels = shape.format.isPlanar ? 1 : shape.channelCount
        return try body(.init(start: data, count: frameCount * channels * shape.format.bytesPerSample))
    }

    var planeCount: Int { shape.map { $0.format.isPlanar ? $0.channelCount : 1 } ?? 0 }

    /// Empties the block and releases its samples.
    mutating func clear() { av_frame_unref(pointer) }

    var channelCount: Int { Int(pointer.pointee.ch_layout.nb_channels) }

    /// Reduces the channel layout to a plain channel count.
    mutating func forgetPositions() {
        let count = pointer.pointee.ch_layout.nb_channels
        av_channel_layout_uninit(&pointer.pointee.ch_layout)
        pointer.pointee.ch_layout.nb_channels = count
    }

    /// Moves channel `order[n]` to index `n`. Only for samples that no other block shares.
    mutating func reorder(_ order: [Int]) {
        guard let format = shape?.format, order.count == channelCount else { return }
        let width = format.bytesPerSample
        if format.isPlanar {
            let planes = order.map { channel in withPlane(channel) { Array($0) } }
            for (place, plane) in planes.enumerated() { withMutablePlane(place) { $0.copyBytes(from: plane) } }
            return
        }
        withMutablePlane(0) { bytes in
            withUnsafeTemporaryAllocation(byteCount: order.count * width, alignment: 8) { frame in
                for start in stride(from: 0, to: bytes.count, by: frame.count) {
                    frame.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + frame.count]))
                    for (place, channel) in order.enumerated() {
                        for byte in 0..<width { bytes[start + place * width + byte] = frame[channel * width + byte] }
                    }
                }
            }
        }
    }

    /// Whether the container excludes the samples from playback.
    var isMarkedDiscard: Bool { pointer.pointee.flags & AV_FRAME_FLAG_DISCARD != 0 }

    /// References the samples of `other` without copying them; `other` keeps them too.
    mutating func share(_ other: borrowing SampleBlock) throws {
        av_frame_unref(pointer)
        let result = av_frame_ref(pointer, other.pointer)
        if result < 0 { throw MediaError(LibAVError("av_frame_ref", result), .outOfMemory, at: .decode, "no memory") }
        position = other.position
    }

    /// Drops frames at both ends without moving the rest.
    mutating func trim(front: Int, back: Int) {
        guard let shape, front > 0 || back > 0 else { return }
        let kept = max(0, frameCount - front - back)
        if front > 0, kept > 0 {
            let step = front * shape.format.bytesPerSample * (shape.format.isPlanar ? 1 : shape.channelCount)
            let planes = planeCount
            let extended = pointer.pointee.extended_data!
            withUnsafeMutablePointer(to: &pointer.pointee.data) { tuple in
                tuple.withMemoryRebound(to: UnsafeMutablePointer<UInt8>?.self, capacity: 8) { data in
                    // For up to eight planes, both lists are the same memory.
                    if extended != data {
                        for plane in 0..<min(planes, 8) { data[plane] = data[plane].map { $0 + step } }
                    }
                }
            }
            for plane in 0..<planes { extended[plane] = extended[plane].map { $0 + step } }
        }
        pointer.pointee.nb_samples = Int32(kept)
        position += Int64(front)
    }

    /// Resizes the block to `frames` frames of `shape`. It reuses memory that fits and is not shared.
    mutating func reserve(_ frames: Int, _ shape: SampleShape) throws {
        if self.shape == shape, capacity >= frames, av_frame_is_writable(pointer) == 1 {
            pointer.pointee.nb_samples = Int32(frames)
            return
        }
        av_frame_unref(pointer)
        pointer.pointee.format = shape.format.code.rawValue
        pointer.pointee.sample_rate = Int32(shape.sampleRateHz)
        pointer.pointee.nb_samples = Int32(frames)
        try withChannelLayout(mask: shape.channelMask, count: shape.channelCount) { layout in
            _ = try check(av_channel_layout_copy(&pointer.pointee.ch_layout, &layout), "av_channel_layout_copy")
        }
        try check(av_frame_get_buffer(pointer, 0), "av_frame_get_buffer")
    }

    /// Sets all samples to silence.
    mutating func silence() {
        guard let shape else { return }
        av_samples_set_silence(
            pointer.pointee.extended_data,
            0,
            pointer.pointee.nb_samples,
            Int32(shape.channelCount),
            shape.format.code
        )
    }

    /// The number of frames that fit the first plane from its present start.
    private var capacity: Int {
        guard let shape, let buffer = pointer.pointee.buf.0, let start = pointer.pointee.data.0 else { return 0 }
        let used = start - buffer.pointee.data
        let stride = shape.format.bytesPerSample * (shape.format.isPlanar ? 1 : shape.channelCount)
        return max(0, (Int(buffer.pointee.size) - used) / stride)
    }
}
