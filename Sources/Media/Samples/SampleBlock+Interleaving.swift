extension SampleBlock {
    /// Writes these frames of planar samples to `target`, all channels of a frame side by side. Its address must fit the samples.
    borrowing func interleave(_ frames: Range<Int>, into target: UnsafeMutableRawBufferPointer) {
        guard let shape, let base = target.baseAddress else { return }
        let (width, channels) = (shape.format.bytesPerSample, shape.channelCount)
        // Beyond either of them lies memory of others.
        precondition(frames.upperBound <= frameCount, "the frames are those of the block")
        precondition(target.count >= frames.count * width * channels, "the target holds all channels of the frames")
        for channel in 0..<channels {
            withPlane(channel) { plane in
                guard let start = plane.baseAddress else { return }
                let (from, to) = (start + frames.lowerBound * width, base + channel * width)
                switch width {
                case 1: spread(from, UInt8.self, frames.count, to, channels)
                case 2: spread(from, UInt16.self, frames.count, to, channels)
                case 4: spread(from, UInt32.self, frames.count, to, channels)
                default: spread(from, UInt64.self, frames.count, to, channels)
                }
            }
        }
    }

    /// Writes each of `count` words to every `stride`-th place.
    @inline(__always)
    private borrowing func spread<Word: BitwiseCopyable>(
        _ from: UnsafeRawPointer,
        _: Word.Type,
        _ count: Int,
        _ to: UnsafeMutableRawPointer,
        _ stride: Int
    ) {
        let (from, to) = (from.assumingMemoryBound(to: Word.self), to.assumingMemoryBound(to: Word.self))
        // Builds without optimisation, which the tests run, need ten times as long for a range.
        var frame = 0
        while frame < count {
            to[frame &* stride] = from[frame]
            frame &+= 1
        }
    }
}
