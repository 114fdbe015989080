import CLibAV

/// Buffers samples for an encoder that needs blocks of a fixed length.
struct SampleQueue: ~Copyable {
    private let fifo: OpaquePointer
    let shape: SampleShape

    private init(adopting fifo: OpaquePointer, _ shape: SampleShape) {
        self.fifo = fifo
        self.shape = shape
    }

    deinit { av_audio_fifo_free(fifo) }

    static func open(_ shape: SampleShape, capacity: Int) throws -> SampleQueue {
        guard let fifo = av_audio_fifo_alloc(shape.format.code, Int32(shape.channelCount), Int32(capacity)) else {
            throw LibAVError("av_audio_fifo_alloc", -12)
        }
        return SampleQueue(adopting: fifo, shape)
    }

    var count: Int { Int(av_audio_fifo_size(fifo)) }

    func append(_ block: borrowing SampleBlock) throws {
        let planes = UnsafeMutableRawPointer(block.pointer.pointee.extended_data)?
            .assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        let written = try check(
            av_audio_fifo_write(fifo, planes, block.pointer.pointee.nb_samples),
            "av_audio_fifo_write"
        )
        if written != block.pointer.pointee.nb_samples { throw LibAVError("av_audio_fifo_write", SLUICE_AVERROR_BUG) }
    }

    /// Moves the oldest `frames` frames into `block`.
    func remove(_ frames: Int, into block: inout SampleBlock) throws {
        try block.reserve(frames, shape)
        let planes = UnsafeMutableRawPointer(block.pointer.pointee.extended_data)?
            .assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        let read = try check(av_audio_fifo_read(fifo, planes, Int32(frames)), "av_audio_fifo_read")
        if read != Int32(frames) { throw LibAVError("av_audio_fifo_read", SLUICE_AVERROR_BUG) }
    }
}
