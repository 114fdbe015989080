import TestSupport

@testable import Media

extension PCM {
    /// These samples in blocks of `frames` frames, as a user of the library would make them.
    func blocks(of frames: Int) throws -> [PCMBlock] {
        try stride(from: 0, to: self.frames, by: frames).map { start in
            let part = try cut(start..<min(start + frames, self.frames))
            return try PCMBlock(position: Int64(start), shape: shape, bytes: part.bytes)
        }
    }

    /// Only for formats with the same layout in memory as in a file.
    private var shape: SampleShape {
        let formats: [PCM.SampleFormat: Media.SampleFormat] = [
            .u8: .u8, .s16: .s16, .s32: .s32, .f32: .f32, .f64: .f64,
        ]
        return SampleShape(format: formats[format]!, sampleRateHz: rate, channelCount: channels, channelMask: 0)
    }
}

extension AsyncSequence where Element == PCMBlock {
    /// All blocks, in order.
    func collected() async throws -> [PCMBlock] {
        var blocks: [PCMBlock] = []
        for try await block in self { blocks.append(block) }
        return blocks
    }
}

extension [PCMBlock] {
    /// The bytes of all blocks, concatenated.
    var bytes: [UInt8] { flatMap(\.bytes) }
}
