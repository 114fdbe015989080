/// Frames of MPEG audio, ISO 11172-3 and 13818-3.
extension FrameSyntax {
    private static let mpegSampleRates = [44_100, 48_000, 32_000]
    private static let layer1Rates = [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
    private static let layer2Rates = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
    private static let layer3Rates = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    private static let lowLayer1Rates = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
    private static let lowRates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

    static func mpegAudioHeader(_ word: UInt32) -> FrameHeader? {
        let version = Int(word >> 19 & 3)
        let layer = 4 - Int(word >> 17 & 3)
        let rateIndex = Int(word >> 12 & 15)
        let frequency = Int(word >> 10 & 3)
        // None of libav's decoders reads free format (rate 0) either.
        guard word >> 21 == 0x7FF, version != 1, layer != 4, (1..<15).contains(rateIndex), frequency != 3 else {
            return nil
        }
        let isMPEG1 = version == 3
        let sampleRate = mpegSampleRates[frequency] >> (isMPEG1 ? 0 : version == 2 ? 1 : 2)
        let rates =
            switch (isMPEG1, layer) {
            case (true, 1): layer1Rates
            case (true, 2): layer2Rates
            case (true, _): layer3Rates
            case (false, 1): lowLayer1Rates
            case (false, _): lowRates
            }
        let padding = Int(word >> 9 & 1)
        let frames = layer == 1 ? 384 : layer == 3 && !isMPEG1 ? 576 : 1152
        let bytes =
            layer == 1
            ? (12_000 * rates[rateIndex] / sampleRate + padding) * 4
            : frames / 8 * 1000 * rates[rateIndex] / sampleRate + padding
        return FrameHeader(bytes: bytes, frames: frames, sampleRateHz: sampleRate, kind: word & 0xFFFE_0C00)
    }
}
