import TestSupport

@testable import Media

/// Hands out a computed signal as floats in blocks of any length, like a decoder.
final class SignalOutput: SampleOutput {
    private let samples: [UInt8]
    private let shape: SampleShape
    private let frames: Int
    private let blockFrames: (Int) -> Int
    private var blocks = 0
    private(set) var deliveredFrames: Int64 = 0

    /// `blockFrames` gives the length of each block by its number.
    init(_ signal: Signal, as format: PCM.SampleFormat = .f32, blockFrames: @escaping (Int) -> Int = { _ in 1_000 }) {
        samples = signal.pcm(format).bytes
        frames = signal.frames
        shape = SampleShape(
            format: format == .f64 ? .f64 : .f32,
            sampleRateHz: signal.rate,
            channelCount: signal.channels.count,
            channelMask: 0
        )
        self.blockFrames = blockFrames
    }

    var clockRateHz: Int { shape.sampleRateHz }
    var promisedFrames: Int64? { Int64(frames) }

    func next(into block: inout SampleBlock) throws -> Bool {
        let place = Int(deliveredFrames)
        guard place < frames else { return false }
        let count = min(max(1, blockFrames(blocks)), frames - place)
        blocks += 1
        try block.reserve(count, shape)
        block.position = deliveredFrames
        let width = shape.bytesPerFrame
        block.withMutablePlane(0) { target in
            samples.withUnsafeBytes {
                target.copyMemory(from: .init(rebasing: $0[place * width..<(place + count) * width]))
            }
        }
        deliveredFrames += Int64(count)
        return true
    }
}

extension SampleOutput {
    /// All samples of interleaved floats that remain.
    func collected(rate: Int, channels: Int, as format: PCM.SampleFormat = .f32) throws -> PCM {
        var bytes: [UInt8] = []
        var block = try SampleBlock()
        while try next(into: &block) { block.withPlane(0) { Bytes.append($0, to: &bytes) } }
        return PCM(rate: rate, channels: channels, format: format, bytes: bytes)
    }
}
