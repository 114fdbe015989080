/// Frames of compressed sound in a file whose header says PCM, as on discs with DTS music.
///
/// For 16-bit PCM, libav asks all of its demuxers about the first packets, which takes a third of the processor time of
/// a short clip. It is left to ask them only if they could find something.
enum HiddenFrames {
    /// As many bytes as show that libav would find nothing.
    static let searched = 16 << 10

    /// As many packets as libav asks about by itself, or a single one, which it always does. `place` is where the sound
    /// begins, if that is known.
    static func packetsThatTellTheCodec(of place: Int64?, in source: ByteSource) -> Int {
        // A pipe may be slow, and must not be waited for.
        guard source.isSeekable, let place, let start = source.bytes(at: place, count: searched), !mayBegin(in: start)
        else { return 32 }
        return 1
    }

    /// Whether libav could find frames in `start`, the first bytes of the sound.
    ///
    /// Its demuxers want either a frame at the very start, before or behind zeros, or words that mark DTS and TrueHD.
    /// Discs may begin with a stretch of zeros, behind which libav looks further than `searched`.
    static func mayBegin(in start: [UInt8]) -> Bool {
        let sound = start.drop { $0 == 0 }
        if sound.isEmpty || isFrame(sound) || isFrame(start[...]) { return true }
        // Their frames have an even number of bytes.
        return start.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count - 3, by: 2).contains { place in
                isMark(bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self).bigEndian)
            }
        }
    }

    private static func isMark(_ word: UInt32) -> Bool {
        switch word {
        // DTS of 16 and 14 bits, in both byte orders, and its extensions.
        case 0x7FFE_8001, 0xFE7F_0180, 0x1FFF_E800, 0xFF1F_00E8, 0x6458_2025: true
        // TrueHD and MLP.
        case 0xF872_6FBA, 0xF872_6FBB: true
        default: false
        }
    }

    private static func isFrame(_ bytes: ArraySlice<UInt8>) -> Bool {
        let head = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard bytes.count >= 8 else { return false }
        switch head >> 48 {
        case 0x0B77, 0x770B: return true
        // AAC in LATM.
        case 0x56E0...0x56FF: return true
        default: return FrameSyntax.allCases.contains { $0.header(head) != nil }
        }
    }
}
