/// The optional checksum of a frame of MPEG audio layer I: ISO 11172-3, 2.4.3.1 and annex B.
///
/// libav 5.1 computes it as if the frame did not use joint stereo, and rejects every frame that does.
enum LayerIChecksum {
    /// Whether the frame's checksum matches its header and its bit allocation; `nil` for frames without a checksum.
    static func isRight(_ frame: UnsafeRawBufferPointer) -> Bool? {
        guard frame.count >= 6, frame[0] == 0xFF, frame[1] & 0xE7 == 0xE6 else { return nil }
        let (mode, extension_) = (frame[3] >> 6, Int(frame[3] >> 4 & 3))
        // Four bits per subband and channel; above the joint stereo bound, both channels share them.
        let allocationBytes =
            switch mode {
            case 3: 16
            case 1: 16 + 2 * (extension_ + 1)
            default: 32
            }
        guard frame.count >= 6 + allocationBytes else { return false }
        // The checksum itself lies between the header and the allocation.
        let sum = continued(continued(0xFFFF, frame[2..<4]), frame[6..<(6 + allocationBytes)])
        return sum == UInt16(frame[4]) << 8 | UInt16(frame[5])
    }

    private static func continued(_ sum: UInt16, _ bytes: Slice<UnsafeRawBufferPointer>) -> UInt16 {
        var sum = sum
        for byte in bytes {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 != 0 ? sum << 1 ^ 0x8005 : sum << 1 }
        }
        return sum
    }
}
