/// The header of one frame in a stream without a container.
struct FrameHeader {
    /// Size of the frame in bytes, header included.
    let bytes: Int
    /// Frames of sound; zero for a dependent substream, which belongs to the frame before it.
    let frames: Int
    let sampleRateHz: Int
    /// The header fields that stay the same from frame to frame.
    let kind: UInt32
}

/// Formats that are a bare sequence of frames.
enum FrameSyntax {
    case mpegAudio, adts, ac3

    /// From libav's name of the demuxer; `nil` for containers, which know where their packets are.
    init?(demuxer name: String) {
        switch name {
        case "mp3": self = .mpegAudio
        case "aac": self = .adts
        case "ac3", "eac3": self = .ac3
        default: return nil
        }
    }

    /// Parses a header from the first eight bytes of a frame, most significant first; `nil` if it is not one.
    func header(_ head: UInt64) -> FrameHeader? {
        switch self {
        case .mpegAudio: FrameSyntax.mpegAudioHeader(UInt32(truncatingIfNeeded: head >> 32))
        case .adts: FrameSyntax.adtsHeader(head)
        case .ac3: FrameSyntax.ac3Header(head)
        }
    }

    // MARK: MPEG audio, ISO 11172-3 and 13818-3

    private static let mpegSampleRates = [44_100, 48_000, 32_000]
    private static let layer1Rates = [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
    private static let layer2Rates = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
    private static let layer3Rates = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    private static let lowLayer1Rates = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
    private static let lowRates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

    private static func mpegAudioHeader(_ word: UInt32) -> FrameHeader? {
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

    // MARK: ADTS, ISO 13818-7

    private static let adtsRates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]

    private static func adtsHeader(_ head: UInt64) -> FrameHeader? {
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

    // MARK: AC-3 and E-AC-3, ETSI TS 102 366

    private static let ac3SampleRates = [48_000, 44_100, 32_000, 0]
    private static let ac3Rates = [
        32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640,
    ]

    private static func ac3Header(_ head: UInt64) -> FrameHeader? {
        guard head >> 48 == 0x0B77 else { return nil }
        let version = head >> 19 & 31
        let frequency = Int(head >> 30 & 3)
        let sampleRate = ac3SampleRates[frequency]
        if version <= 10 {
            let code = Int(head >> 24 & 0x3F)
            guard frequency != 3, code < 2 * ac3Rates.count else { return nil }
            let rate = ac3Rates[code / 2]
            let words = frequency == 0 ? rate * 2 : frequency == 2 ? rate * 3 : rate * 320 / 147 + (code & 1)
            let shift = max(0, Int(version) - 8)
            let kind = 0x0B77_0000 | UInt32(frequency) << 8 | UInt32(version)
            return FrameHeader(bytes: words * 2, frames: 1536, sampleRateHz: sampleRate >> shift, kind: kind)
        }
        guard version <= 16 else { return nil }
        let bytes = (Int(head >> 32 & 0x7FF) + 1) * 2
        let code = Int(head >> 28 & 3)
        let isReduced = frequency == 3
        guard bytes > 7, !isReduced || code != 3 else { return nil }
        let blocks = isReduced || code == 3 ? 6 : code + 1
        let streamType = head >> 46 & 3
        let belongsToOther = streamType == 1 || head >> 43 & 7 != 0
        guard streamType != 3 else { return nil }
        return FrameHeader(
            bytes: bytes,
            frames: belongsToOther ? 0 : 256 * blocks,
            sampleRateHz: isReduced ? ac3SampleRates[code] / 2 : sampleRate,
            kind: 0x0B77_0000 | UInt32(isReduced ? 4 + code : frequency) << 8 | 16
        )
    }
}
