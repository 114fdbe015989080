import TestSupport
import Testing

@testable import Media

/// Samples that were stored come back forwards and backwards, in every format.
@Suite struct SampleStoreTests {
    private static let formats: [SampleFormat] = [
        .u8, .s16, .s32, .s64, .f32, .f64, .u8Planar, .s16Planar, .s32Planar, .s64Planar, .f32Planar, .f64Planar,
    ]

    /// A block of numbered samples.
    private func block(_ shape: SampleShape, frames: Int, from first: Int) throws -> SampleBlock {
        var block = try SampleBlock()
        try block.reserve(frames, shape)
        let (width, channels) = (shape.format.bytesPerSample, shape.channelCount)
        for plane in 0..<block.planeCount {
            block.withMutablePlane(plane) { bytes in
                let isPlanar = shape.format.isPlanar
                NumberedBytes.fill(
                    bytes,
                    first: first,
                    width: width,
                    channels: isPlanar ? 1 : channels,
                    from: isPlanar ? plane : 0
                )
            }
        }
        return block
    }

    /// The bytes of each frame of `block`, channel after channel.
    private func frames(_ block: borrowing SampleBlock) -> [[UInt8]] {
        var bytes: [UInt8] = []
        block.appendInterleaved(to: &bytes)
        return Bytes.pieces(bytes, of: block.shape!.bytesPerFrame)
    }

    @Test(arguments: formats, [1, 2, 11]) func reversedSamplesAreTheSameFrames(format: SampleFormat, channels: Int)
        throws
    {
        let shape = SampleShape(format: format, sampleRateHz: 48_000, channelCount: channels, channelMask: 0)
        var store = SampleStore()
        var wanted: [[UInt8]] = []
        // The second round uses the memory of the first.
        for round in 0..<2 {
            store.clear()
            wanted = []
            for (number, count) in [5_000, 1, 3_333].enumerated() {
                let block = try block(shape, frames: count, from: round + number * 5_000)
                wanted += frames(block)
                try store.append(block)
            }
            store.complete()
        }
        var out = try SampleBlock()
        var got: [[UInt8]] = []
        while try store.nextReversed(into: &out) { got += frames(out) }
        #expect(got == wanted.reversed())

        store.rewind(upTo: 6_000)
        got = []
        while try store.next(into: &out) { got += frames(out) }
        #expect(got == Array(wanted.prefix(6_000)))
    }

    @Test func stretchesOfOtherShapesKeepTheirOrder() throws {
        let shapes = [
            SampleShape(format: .s16, sampleRateHz: 44_100, channelCount: 2, channelMask: 0),
            SampleShape(format: .f32Planar, sampleRateHz: 48_000, channelCount: 3, channelMask: 0),
            SampleShape(format: .s16Planar, sampleRateHz: 44_100, channelCount: 1, channelMask: 0),
            SampleShape(format: .s16Planar, sampleRateHz: 44_100, channelCount: 2, channelMask: 0),
        ]
        var store = SampleStore()
        var wanted: [[UInt8]] = []
        for (number, shape) in shapes.enumerated() {
            let block = try block(shape, frames: 5_000 + number, from: number)
            wanted += frames(block)
            try store.append(block)
        }
        store.complete()
        var out = try SampleBlock()
        var (got, found): ([[UInt8]], [SampleShape]) = ([], [])
        while try store.nextReversed(into: &out) {
            got += frames(out)
            if found.last != out.shape! { found.append(out.shape!) }
        }
        #expect(got == wanted.reversed())
        #expect(found == shapes.reversed())
    }

    /// An odd number of bytes before wider samples: words are read and written only where they are aligned.
    @Test func everyStretchIsAlignedForItsSamples() throws {
        let shapes = [
            SampleShape(format: .u8, sampleRateHz: 8_000, channelCount: 1, channelMask: 0),
            SampleShape(format: .f64, sampleRateHz: 8_000, channelCount: 1, channelMask: 0),
            SampleShape(format: .s16Planar, sampleRateHz: 8_000, channelCount: 2, channelMask: 0),
            SampleShape(format: .f32, sampleRateHz: 8_000, channelCount: 3, channelMask: 0),
        ]
        var store = SampleStore()
        var wanted: [[UInt8]] = []
        for (number, shape) in shapes.enumerated() {
            let block = try block(shape, frames: 4_101, from: number)
            wanted += frames(block)
            try store.append(block)
        }
        for (shape, start) in zip(shapes, store.starts) { #expect(start.isMultiple(of: shape.format.bytesPerSample)) }
        store.complete()
        var out = try SampleBlock()
        var got: [[UInt8]] = []
        while try store.nextReversed(into: &out) { got += frames(out) }
        #expect(got == wanted.reversed())
        store.rewind(upTo: .max)
        got = []
        while try store.next(into: &out) { got += frames(out) }
        #expect(got == wanted)
    }

    @Test func fullStoreTakesNothingMore() throws {
        let shape = SampleShape(format: .s16, sampleRateHz: 8_000, channelCount: 1, channelMask: 0)
        let block = try block(shape, frames: 100, from: 0)
        var store = SampleStore()
        #expect(try store.append(block, atMost: 300) == true)
        #expect(try store.append(block, atMost: 300) == false)
        store.complete()
        var out = try SampleBlock()
        #expect(try store.nextReversed(into: &out) == true)
        #expect(out.frameCount == 100)
        #expect(try store.nextReversed(into: &out) == false)
    }
}
