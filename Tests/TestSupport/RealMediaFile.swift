/// RealMedia files with one track of random bits, which the codecs decode to noise.
public enum RealMediaFile {
    public enum Codec: String, Sendable, CaseIterable { case cook, sipr, lpc = "28_8" }

    /// A file of `groups` groups of blocks. Each codec interleaves its frames within a group in its own order.
    public static func bytes(_ codec: Codec, groups: Int) -> [UInt8] {
        let shape = shape(codec)
        var generator = SeededGenerator(seed: 3)
        let sound = (0..<groups * shape.rows * shape.blockBytes).map { place -> UInt8 in
            let byte = UInt8(truncatingIfNeeded: generator.next())
            guard codec == .cook else { return byte }
            // Frames without gain control that begin softly: other frames exceed the range of the quantiser.
            let isFirst = place % shape.frameBytes == 0
            return (isFirst ? byte & 0x3F : byte) ^ [0x37, 0xC5, 0x11, 0xF2][place % shape.frameBytes % 4]
        }
        let packets = groups * shape.rows
        let milliseconds = packets * shape.blockBytes / shape.frameBytes * shape.frames * 1_000 / shape.rate
        let description = header(codec, shape)
        let stream =
            big([0], 2) + big([20_000, 20_000, shape.blockBytes, shape.blockBytes, 0, 0, milliseconds], 4)
            + text("Audio Stream") + text("audio/x-pn-realaudio") + big([description.count], 4) + description
        func head(_ dataPlace: Int) -> [UInt8] {
            let sizes = [20_000, 20_000, shape.blockBytes, shape.blockBytes, packets, milliseconds, 0, 0, dataPlace]
            return object(".RMF", big([0, 4], 4)) + object("PROP", big(sizes, 4) + big([1, 0], 2))
                + object("MDPR", stream)
        }
        let data = (0..<packets).flatMap { number -> [UInt8] in
            let time = number / shape.rows * shape.rows * milliseconds / packets
            return big([0, shape.blockBytes + 12, 0], 2) + big([time], 4) + [0, number % shape.rows == 0 ? 2 : 0]
                + sound[number * shape.blockBytes..<(number + 1) * shape.blockBytes]
        }
        return head(head(0).count) + object("DATA", big([packets, 0], 4) + data)
    }

    private struct Shape {
        let interleaver: String
        let rows, blockBytes, frameBytes, frames, rate: Int
        let extra: [UInt8]?
    }

    private static func shape(_ codec: Codec) -> Shape {
        switch codec {
        case .cook:
            // One channel in 20 bands.
            let extra = big([0x100_0001], 4) + big([512, 20], 2)
            return Shape(
                interleaver: "genr",
                rows: 16,
                blockBytes: 640,
                frameBytes: 64,
                frames: 512,
                rate: 22_050,
                extra: extra
            )
        case .sipr:
            return Shape(
                interleaver: "sipr",
                rows: 6,
                blockBytes: 232,
                frameBytes: 29,
                frames: 288,
                rate: 8_000,
                extra: []
            )
        case .lpc:
            return Shape(
                interleaver: "Int4",
                rows: 12,
                blockBytes: 228,
                frameBytes: 38,
                frames: 160,
                rate: 8_000,
                extra: nil
            )
        }
    }

    private static func header(_ codec: Codec, _ shape: Shape) -> [UInt8] {
        var bytes = Array(".ra".utf8) + [0xFD] + big([5, 0], 2) + Array(".ra5".utf8) + big([0], 4) + big([5], 2)
        bytes += big([0], 4) + big([0], 2) + big([shape.frameBytes, 0, 0, 0], 4)
        bytes += big([shape.rows, shape.blockBytes, shape.frameBytes, 0, 0, 0, 0, shape.rate], 2)
        bytes += big([16], 4) + big([1], 2) + Array(shape.interleaver.utf8) + Array(codec.rawValue.utf8)
        if let extra = shape.extra { bytes += [0, 0, 0, 0] + big([extra.count], 4) + extra }
        return bytes
    }

    private static func object(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array(name.utf8) + big([content.count + 10], 4) + big([0], 2) + content
    }

    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    private static func big(_ numbers: [Int], _ width: Int) -> [UInt8] {
        numbers.flatMap { number in
            (0..<width).map { UInt8(truncatingIfNeeded: number >> (8 * (width - 1 - $0))) }
        }
    }
}
