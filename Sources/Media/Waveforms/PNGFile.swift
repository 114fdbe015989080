/// Writes a picture as PNG, row by row: in colours with opacity, or with a palette.
final class PNGFile {
    private let sink: ByteSink
    private var deflate = RunDeflate()
    private let bytesPerPixel: Int
    private let isFiltered: Bool
    private var above: [UInt8]
    private var filtered: [UInt8]

    /// Compressed bytes in a chunk of the file, about.
    private static let chunkBytes = 32 * 1_024

    /// Pixels have 8 bits each for red, green, blue and opacity.
    convenience init(width: Int, height: Int, to sink: ByteSink) throws {
        try self.init(width, height, nil, to: sink)
    }

    /// Pixels are places in `palette`, which has at most 256 colours.
    convenience init(width: Int, height: Int, palette: [PNGColour], to sink: ByteSink) throws {
        try self.init(width, height, palette, to: sink)
    }

    private init(_ width: Int, _ height: Int, _ palette: [PNGColour]?, to sink: ByteSink) throws {
        self.sink = sink
        bytesPerPixel = palette == nil ? 4 : 1
        // Rows of a waveform are written as the difference to the row above. That of two places in a palette means nothing.
        isFiltered = palette == nil
        above = [UInt8](repeating: 0, count: bytesPerPixel * width)
        filtered = [UInt8](repeating: 0, count: 1 + bytesPerPixel * width)
        filtered[0] = isFiltered ? 2 : 0
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        try sink.append(signature)
        // Bits of a value, colours with opacity or a palette, and the only methods that there are.
        let kind: [UInt8] = [8, palette == nil ? 6 : 3, 0, 0, 0]
        try write("IHDR", word(width) + word(height) + kind)
        guard let palette else { return }
        try write("PLTE", palette.flatMap { [$0.red, $0.green, $0.blue].map { UInt8($0.rounded()) } })
        let opacities = palette.map { UInt8(($0.opacity * 255).rounded()) }
        if opacities.contains(where: { $0 < 255 }) { try write("tRNS", opacities) }
    }

    /// Adds a row of pixels.
    func add(_ row: [UInt8]) throws {
        if isFiltered {
            for index in row.indices {
                filtered[index + 1] = row[index] &- above[index]
                above[index] = row[index]
            }
        } else {
            filtered.replaceSubrange(1..., with: row)
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
