import Conversion
import TestSupport

@testable import Media

/// Silent outputs, for measuring their size.
enum SilentOutput {
    /// The size of the writer's output for `frames` frames in `format`, in bytes.
    static func bytes(_ format: ResolvedFormat, frames: Int, in file: borrowing OpenFile) throws -> Int64 {
        let writer = try Writer(descriptor: file.descriptor, format: format)
        let input = try writer.samples()
        if frames > 0 {
            let shape = SampleShape(
                format: .s16,
                sampleRateHz: format.sampleRateHz,
                channelCount: format.channelCount,
                channelMask: format.layout.mask
            )
            var block = try SampleBlock()
            try block.reserve(frames, shape)
            block.silence()
            try input.append(&block)
        }
        return try writer.finish().bytes
    }
}
