import TestSupport

/// Files of formats for which there is no encoder at hand, made byte by byte.
enum CraftedFile {
    /// A DSF of one bit per sample: a sigma-delta modulated tone.
    static func dsf(_ signal: Signal, blockBytes: Int = 4096) -> [UInt8] {
        let channels = signal.channels.map { samples -> [UInt8] in
            var (error, bytes) = (0.0, [UInt8](repeating: 0, count: samples.count / 8))
            for (number, sample) in samples.prefix(bytes.count * 8).enumerated() {
                let wanted = sample + error
                let bit = wanted >= 0
                error = wanted - (bit ? 1 : -1)
                if bit { bytes[number / 8] |= 1 << UInt8(number % 8) }
            }
            return bytes
        }
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

    /// AMR speech frames with any bits in them: every one decodes to 20 ms of something.
    static func amr(isWide: Bool, frames: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        // The highest modes: 12.2 kbit/s, and 23.85.
        let (mode, size) = isWide ? (8, 60) : (7, 31)
        var bytes = Array((isWide ? "#!AMR-WB\n" : "#!AMR\n").utf8)
        for _ in 0..<frames {
            bytes.append(UInt8(mode << 3 | 4))
            for _ in 0..<size { bytes.append(UInt8(truncatingIfNeeded: generator.next())) }
        }
        return bytes
    }

    /// A Monkey's Audio file of one frame with any bits in it. `checksum` is that of the samples it decodes to.
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
}
