/// AC-3 and E-AC-3 without a container.
struct AC3: SourceRules {
    let frameSyntax: FrameSyntax? = .ac3
    let opening = OpeningTraits(statesTimes: false)
}

/// Frames of AC-3 and E-AC-3, ETSI TS 102 366.
extension FrameSyntax {
    private static let ac3SampleRates = [48_000, 44_100, 32_000, 0]
    private static let ac3Rates = [
        32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640,
    ]

    static func ac3Header(_ head: UInt64) -> FrameHeader? {
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
