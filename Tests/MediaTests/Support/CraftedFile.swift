import TestSupport

/// Files built byte by byte, in formats that no available encoder writes.
enum CraftedFile {
    /// A DSF file with one bit per sample: a tone modulated by sigma-delta.
    static func dsf(_ signal: Signal, blockBytes: Int = 4096) -> [UInt8] {
        let channels = RareFile.modulated(signal)
        let blocks = (channels[0].count + blockBytes - 1) / blockBytes
        var data: [UInt8] = []
        for block in 0..<blocks {
            for channel in channels {
                let part = channel[(block * blockBytes)..<min((block + 1) * blockBytes, channel.count)]
                data += part + [UInt8](repeating: 0, count: blockBytes - part.count)
            }
        }
        var bytes = Array("DSD ".utf8)
        bytes.append(little: UInt64(28))
        bytes.append(little: UInt64(28 + 52 + 12 + data.count))
        bytes.append(little: UInt64(0))
        bytes += Array("fmt ".utf8)
        bytes.append(little: UInt64(52))
        for word in [1, 0, channels.count, channels.count, signal.rate, 1] { bytes.append(little: UInt32(word)) }
        bytes.append(little: UInt64(channels[0].count * 8))
        bytes.append(little: UInt32(blockBytes))
        bytes.append(little: UInt32(0))
        bytes += Array("data".utf8)
        bytes.append(little: UInt64(12 + data.count))
        return bytes + data
    }

    /// AMR speech frames with random bits. Each decodes to 20 ms of sound.
    static func amr(isWide: Bool, frames: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        // The highest modes: 12.2 kbit/s, and 23.85 kbit/s for wideband.
        let (mode, size) = isWide ? (8, 60) : (7, 31)
        var bytes = Array((isWide ? "#!AMR-WB\n" : "#!AMR\n").utf8)
        for _ in 0..<frames {
            bytes.append(UInt8(mode << 3 | 4))
            for _ in 0..<size { bytes.append(UInt8(truncatingIfNeeded: generator.next())) }
        }
        return bytes
    }

    /// A Monkey's Audio file with a single frame of arbitrary bits. `checksum` is that of the decoded samples.
    static func ape(rate: Int, frames: Int, payload: [UInt8], checksum: UInt32) -> [UInt8] {
        var bytes = Array("MAC ".utf8)
        bytes.append(little: UInt16(3990))
        bytes.append(little: UInt16(0))
        for word in [52, 24, 4, 0, payload.count + 4, 0, 0] { bytes.append(little: UInt32(word)) }
        bytes += [UInt8](repeating: 0, count: 16)
        bytes.append(little: UInt16(2000))
        bytes.append(little: UInt16(0x20))
        for word in [73_728 * 4, frames, 1] { bytes.append(little: UInt32(word)) }
        bytes.append(little: UInt16(16))
        bytes.append(little: UInt16(1))
        bytes.append(little: UInt32(rate))
        bytes.append(little: UInt32(52 + 24 + 4))
        bytes.append(little: checksum >> 1)
        return bytes + payload
    }

    /// CRC-32 as in Ethernet and zip.
    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        let table: [UInt32] = (0..<256).map { byte in
            (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 != 0 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return ~bytes.reduce(~UInt32(0)) { crc, byte in crc >> 8 ^ table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] }
    }

    /// A CAF file of 16-bit big-endian samples with this layout tag, or without a layout.
    static func caf(_ pcm: PCM, layoutTag: UInt32?) throws -> [UInt8] {
        guard pcm.format == .s16 else { throw SupportError("craft CAF", "\(pcm) is not s16") }
        var bytes = Array("caff".utf8)
        bytes.append(big: UInt16(1))
        bytes.append(big: UInt16(0))
        bytes += Array("desc".utf8)
        bytes.append(big: UInt64(32))
        bytes.append(big: Double(pcm.rate).bitPattern)
        bytes += Array("lpcm".utf8)
        for word in [0, 2 * pcm.channels, 1, pcm.channels, 16] { bytes.append(big: UInt32(word)) }
        if let layoutTag {
            bytes += Array("chan".utf8)
            bytes.append(big: UInt64(12))
            for word in [layoutTag, 0, 0] { bytes.append(big: word) }
        }
        bytes += Array("data".utf8)
        bytes.append(big: UInt64(4 + pcm.bytes.count))
        bytes.append(big: UInt32(0))
        return bytes + Bytes.swapped(pcm.bytes, width: 2)
    }

    /// A WAV file with the format "Ambisonic B format" instead of PCM.
    static func ambisonicWAV(_ pcm: PCM) throws -> [UInt8] {
        var bytes = try WAVFile.bytes(pcm, options: .init(isExtensible: true, leavesOutChannelMask: true))
        guard let tail = Bytes.find("\u{0}\u{0}\u{0}\u{0}\u{10}\u{0}", in: bytes) else {
            throw SupportError("craft WAV", "there is no kind to change")
        }
        let kind: [UInt8] = [0, 0, 0x21, 0x07, 0xD3, 0x11, 0x86, 0x44, 0xC8, 0xC1, 0xCA, 0, 0, 0]
        bytes.replaceSubrange(tail..<tail + 14, with: kind)
        return bytes
    }
}
