import TestSupport

/// Files whose headers state a channel layout as Apple's containers do, written without the help of libav.
enum LayoutFile: String, CaseIterable, Sendable {
    case caf, aiff, mov

    /// The content of the chunk `chan`: a tag, the bits of speakers, and labels.
    static func layout(tag: UInt32, bits: UInt32 = 0, labels: [UInt32] = []) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in [tag, bits, UInt32(labels.count)] { bytes.append(big: number) }
        for label in labels {
            bytes.append(big: label)
            // Flags and coordinates.
            bytes += [UInt8](repeating: 0, count: 16)
        }
        return bytes
    }

    /// Writes 16-bit samples to `path`.
    func write(_ pcm: PCM, _ layout: [UInt8], to path: String) throws {
        switch self {
        case .caf: try Bytes.write(Self.caf(pcm, layout), to: path)
        case .aiff: try Bytes.write(Self.aiff(pcm, layout), to: path)
        case .mov: try Self.writeMOV(pcm, layout, to: path)
        }
    }

    private static func caf(_ pcm: PCM, _ layout: [UInt8]) -> [UInt8] {
        var shape: [UInt8] = []
        shape.append(big: Double(pcm.rate).bitPattern)
        shape += Array("lpcm".utf8)
        // Flags, bytes and frames of a packet, channels, bits.
        for number in [0, pcm.bytesPerFrame, 1, pcm.channels, pcm.bits] { shape.append(big: UInt32(number)) }
        let sound: [UInt8] = [0, 0, 0, 0] + Bytes.swapped(pcm.bytes, width: pcm.format.bytes)
        var bytes = Array("caff".utf8) + [0, 1, 0, 0]
        for (name, content) in [("desc", shape), ("chan", layout), ("data", sound)] {
            bytes += Array(name.utf8)
            bytes.append(big: Int64(content.count))
            bytes += content
        }
        return bytes
    }

    private static func aiff(_ pcm: PCM, _ layout: [UInt8]) throws -> [UInt8] {
        var bytes = try AIFFFile.bytes(pcm)
        var chunk = Array("CHAN".utf8)
        chunk.append(big: UInt32(layout.count))
        bytes.insert(contentsOf: chunk + layout, at: 12)
        var size: [UInt8] = []
        size.append(big: UInt32(bytes.count - 8))
        bytes.replaceSubrange(4..<8, with: size)
        return bytes
    }

    /// libav writes the file, with a layout of no labels, which is then replaced by one as long.
    private static func writeMOV(_ pcm: PCM, _ layout: [UInt8], to path: String) throws {
        try FFmpeg.encode(pcm, to: path, ["-c:a", "pcm_s16be"])
        var bytes = try Bytes.read(path)
        guard let box = Bytes.find("chan", in: bytes), layout.count == 12 else {
            throw SupportError("write \(path)", "there is no room for the layout")
        }
        bytes.replaceSubrange(box + 8..<box + 20, with: layout)
        try Bytes.write(bytes, to: path)
    }
}
