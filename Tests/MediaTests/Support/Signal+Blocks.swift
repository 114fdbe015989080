import Conversion
import TestSupport

@testable import Media

extension Signal {
    /// Calls `body` with these samples in blocks of `frames` frames of the given format and speakers.
    func inBlocks(
        of frames: Int,
        as format: Media.SampleFormat = .f32,
        mask: UInt64 = 0,
        _ body: (inout SampleBlock) throws -> Void
    ) throws {
        let shape = SampleShape(
            format: format,
            sampleRateHz: rate,
            channelCount: channels.count,
            channelMask: mask
        )
        let stored = format.stored ?? .f64
        let planes =
            format.isPlanar
            ? channels.map { Signal(rate: rate, channels: [$0]).pcm(stored).bytes } : [pcm(stored).bytes]
        let width = stored.bytes * (format.isPlanar ? 1 : channels.count)
        var block = try SampleBlock()
        for start in stride(from: 0, to: self.frames, by: frames) {
            let count = min(frames, self.frames - start)
            try block.reserve(count, shape)
            block.position = Int64(start)
            for (plane, bytes) in planes.enumerated() {
                block.withMutablePlane(plane) { target in
                    bytes.withUnsafeBytes {
                        target.copyMemory(from: .init(rebasing: $0[start * width..<(start + count) * width]))
                    }
                }
            }
            try body(&block)
        }
    }
}
