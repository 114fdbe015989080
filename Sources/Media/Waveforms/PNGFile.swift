/// Writes a picture as PNG, row by row: 8 bits each for red, green, blue and opacity.
final class PNGFile {
    private let sink: ByteSink
    private var deflate = RunDeflate()
    private var above: [UInt8]
    private var filtered: [UInt8]

    /// Compressed bytes in a chunk of the file, about.
    private static let chunkBytes = 32 * 1_024

    init(width: Int, height: Int, to sink: ByteSink) throws {
        self.sink = sink
        above = [UInt8](repeating: 0, count: 4 * width)
        filtered = [UInt8](repeating: 0, count: 1 + 4 * width)
        // Each row is written as the difference to the row above.
        filtered[0] = 2
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        try sink.append(signature)
        // Bits of a value, colours with opacity, and the only methods that there are.
        let kind: [UInt8] = [8, 6, 0, 0, 0]
        try write("IHDR", word(width) + word(height) + kind)
    }

    /// Adds a row of four bytes for each pixel.
    func add(_ row: [UInt8]) throws {
        for index in row.indices {
            filtered[index + 1] = row[index] &- above[index]
            above[index] = row[index]
        }
        deflate.add(filtered)
        if deflate.count >= Self.chunkBytes { try write("IDAT", deflate.take()) }
    }

    func finish() throws {
        deflate.finish()
        try write("IDAT", deflate.take())
        try write("IEND", [])
    }

    private func write(_ name: String, _ content: [UInt8]) throws {
        let named = Array(name.utf8) + content
        try sink.append(word(content.count) + named + word(Int(Checksum.reflectedCRC32(named))))
    }

    /// As four bytes, the highest first.
    private func word(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
