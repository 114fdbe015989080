/// Writes AIFF files without the help of libav; float samples make it AIFF-C.
public enum AIFFFile {
    /// Writes `pcm` as an AIFF file to `path`, replacing any file there.
    public static func write(_ pcm: PCM, to path: String) throws {
        try Bytes.write(bytes(pcm), to: path)
    }

    /// The bytes of a whole AIFF file.
    public static func bytes(_ pcm: PCM) throws -> [UInt8] {
        guard pcm.bytes.count < 0xFFFF_0000 else { throw SupportError("write AIFF", "\(pcm) is over 4 GB") }
        var common: [UInt8] = []
        common.append(big: UInt16(pcm.channels))
        common.append(big: UInt32(pcm.frames))
        common.append(big: UInt16(pcm.bits))
        common += extended(pcm.rate)
        if pcm.isFloat {
            // The four-letter coding is followed by its name, a counted string padded to even length: here a 0 and
            // a pad byte.
            common += Array((pcm.format == .f32 ? "fl32" : "fl64").utf8) + [0, 0]
        }

        var content = Array((pcm.isFloat ? "AIFC" : "AIFF").utf8)
        if pcm.isFloat { content += chunk("FVER", [0xA2, 0x80, 0x51, 0x40]) }
        content += chunk("COMM", common)
        // Offset and block size are 0. AIFF stores 8-bit samples as signed numbers.
        let samples =
            pcm.format == .u8 ? pcm.bytes.map { $0 ^ 0x80 } : Bytes.swapped(pcm.bytes, width: pcm.format.bytes)
        content += chunk("SSND", [UInt8](repeating: 0, count: 8) + samples)
        return chunk("FORM", content)
    }

    /// The 80-bit extended float in which AIFF stores the sample rate.
    private static func extended(_ rate: Int) -> [UInt8] {
        precondition(rate > 0, "a rate is positive")
        let exponent = Int.bitWidth - 1 - rate.leadingZeroBitCount
        var bytes: [UInt8] = []
        bytes.append(big: UInt16(16_383 + exponent))
        bytes.append(big: UInt64(rate) << UInt64(63 - exponent))
        return bytes
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        var bytes = Array(name.utf8)
        bytes.append(big: UInt32(content.count))
        bytes += content
        if !content.count.isMultiple(of: 2) { bytes.append(0) }
        return bytes
    }
}
