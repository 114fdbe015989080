/// Writes AU (Sun, NeXT) files without the help of libav.
public enum AUFile {
    /// Writes `pcm` as an AU file to `path`, replacing any file there.
    ///
    /// `claimedDataSize` writes a false size; 0xFFFFFFFF means that the size is unknown.
    public static func write(
        _ pcm: PCM,
        to path: String,
        law: G711? = nil,
        claimedDataSize: UInt32? = nil
    ) throws {
        try Bytes.write(bytes(pcm, law: law, claimedDataSize: claimedDataSize), to: path)
    }

    /// The bytes of a whole AU file.
    public static func bytes(_ pcm: PCM, law: G711? = nil, claimedDataSize: UInt32? = nil) throws -> [UInt8] {
        let encoding: UInt32 =
            switch (law, pcm.format) {
            case (.ulaw, _): 1
            case (.alaw, _): 27
            case (nil, .u8): 2
            case (nil, .s16): 3
            case (nil, .s24): 4
            case (nil, .s32): 5
            case (nil, .f32): 6
            case (nil, .f64): 7
            }
        let data: [UInt8] =
            if let law {
                try law.encoded(pcm)
            } else if pcm.format == .u8 {
                pcm.bytes.map { $0 ^ 0x80 }  // 8-bit samples are signed here
            } else {
                Bytes.swapped(pcm.bytes, width: pcm.format.bytes)
            }
        guard data.count < 0xFFFF_FFFF else { throw SupportError("write AU", "\(pcm) is over 4 GB") }
        var bytes = Array(".snd".utf8)
        // The annotation has at least four bytes. With eight the samples start at offset 32, as in most AU files.
        let size = claimedDataSize ?? UInt32(data.count)
        for field in [32, size, encoding, UInt32(pcm.rate), UInt32(pcm.channels)] { bytes.append(big: field) }
        return bytes + [UInt8](repeating: 0, count: 8) + data
    }
}
