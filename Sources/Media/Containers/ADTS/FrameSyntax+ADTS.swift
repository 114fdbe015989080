/// Frames of ADTS, ISO 13818-7.
extension FrameSyntax {
    private static let adtsRates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]

    static func adtsHeader(_ head: UInt64) -> FrameHeader? {
        guard head >> 52 == 0xFFF, head >> 49 & 3 == 0 else { return nil }
        let frequency = Int(head >> 42 & 15)
        let length = Int(head >> 21 & 0x1FFF)
        guard frequency < adtsRates.count, length > 7 else { return nil }
        let blocks = Int(head >> 8 & 3) + 1
        return FrameHeader(
            bytes: length,
            frames: 1024 * blocks,
            sampleRateHz: adtsRates[frequency],
            kind: UInt32(truncatingIfNeeded: head >> 32) & 0xFFFE_FC00
        )
    }
}
