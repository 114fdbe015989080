import CLibAV

/// Some decoded samples of all channels, on their source's clock; freed when the value is dropped.
///
/// A block is made once and filled again and again: nothing is allocated per block once a pump runs.
public struct SampleBlock: ~Copyable {
    let pointer: UnsafeMutablePointer<AVFrame>
    /// The first frame's number, as counted by the code that filled the block.
    public var position: Int64 = 0

    /// An empty block.
    public init() throws {
        guard let frame = av_frame_alloc() else {
            throw MediaError(.outOfMemory, at: .open, "no memory for a block of samples")
        }
        self.init(adopting: frame)
    }

    /// Takes `pointer` over; no other code may free it.
    init(adopting pointer: UnsafeMutablePointer<AVFrame>) { self.pointer = pointer }

    deinit {
        var doomed: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&doomed)
    }

    public var frameCount: Int { Int(pointer.pointee.nb_samples) }

    /// `nil` while the block is empty, or where libav hands out a sample format that is not known here.
    public var shape: SampleShape? {
        guard let format = SampleFormat(code: AVSampleFormat(pointer.pointee.format)) else { return nil }
        return SampleShape(
            format: format,
            sampleRateHz: Int(pointer.pointee.sample_rate),
            channelCount: Int(pointer.pointee.ch_layout.nb_channels),
            channelMask: pointer.pointee.ch_layout.waveMask
        )
    }

    /// Lends the planes as bytes: one per channel when planar, one in all when interleaved.
    ///
    /// The memory does not leave the closure.
    public borrowing func withPlane<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
        -> Result
    {
        guard let shape, let data = pointer.pointee.extended_data[index] else {
            return try body(.init(start: nil, count: 0))
        }
        let channels = shape.format.isPlanar ? 1 : shape.channelCount
        return try body(.init(start: data, count: frameCount * channels * shape.format.bytesPerSample))
    }

    /// Lends one plane for writing; the closure must not keep the memory.
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

    /// Empties the block and gives its samples back.
    mutating func clear() { av_frame_unref(pointer) }

    var channelCount: Int { Int(pointer.pointee.ch_layout.nb_channels) }

    /// Leaves of the layout only the count of channels.
    mutating func forgetPositions() {
        let count = pointer.pointee.ch_layout.nb_channels
        av_channel_layout_uninit(&pointer.pointee.ch_layout)
        pointer.pointee.ch_layout.nb_channels = count
    }

    /// Puts channel `order[n]` at the place of channel `n`. For interleaved samples that this block alone owns.
    mutating func reorder(_ order: [Int]) {
        guard let width = shape?.format.bytesPerSample, order.count == channelCount else { return }
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

    /// Whether the samples lie outside what the container wants to be heard.
    var isMarkedDiscard: Bool { pointer.pointee.flags & AV_FRAME_FLAG_DISCARD != 0 }

    /// Holds the samples of `other` as well, which stay its own.
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
                    // For up to eight planes the two lists are one and the same memory.
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

    /// Gives the block room for `frames` frames of `shape`, keeping memory that already fits and is not shared.
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

    /// Frames that the first plane has room for behind its present start.
    private var capacity: Int {
        guard let shape, let buffer = pointer.pointee.buf.0, let start = pointer.pointee.data.0 else { return 0 }
        let used = start - buffer.pointee.data
        let stride = shape.format.bytesPerSample * (shape.format.isPlanar ? 1 : shape.channelCount)
        return max(0, (Int(buffer.pointee.size) - used) / stride)
    }
}
