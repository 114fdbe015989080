/// AC-3.
struct AC3Codec: CodecRules {
    let names = ["ac3"]
    let packets = CodecTraits(preroll: 4 * 1536)

    func length(of stream: InputStream) -> PacketLength.Rule {
        let rate = stream.sampleRateHz
        return .stated { bytes in
            guard bytes.count >= 6, bytes[0] == 0x0B, bytes[1] == 0x77, bytes[5] >> 3 <= 10 else { return nil }
            return Self.rate(bytes[4] >> 6) >> max(0, Int(bytes[5] >> 3) - 8) == rate ? 1536 : nil
        }
    }

    func durations(of stream: InputStream) -> PacketDurations? { PacketDurations.equal(1536) }

    fileprivate static func rate(_ code: UInt8) -> Int { code == 0 ? 48_000 : code == 1 ? 44_100 : 32_000 }
}

/// E-AC-3.
struct EAC3Codec: CodecRules {
    let names = ["eac3"]
    let packets = CodecTraits(preroll: 4 * 1536)

    func length(of stream: InputStream) -> PacketLength.Rule {
        let rate = stream.sampleRateHz
        return .stated { Self.frames(in: $0, rate) }
    }

    func durations(of stream: InputStream) -> PacketDurations? { .multiples(of: 256) }

    /// A packet may hold several frames. Those of dependent substreams and of further programs
    /// cover the same time as the first.
    private static func frames(in bytes: UnsafeRawBufferPointer, _ rate: Int) -> Int? {
        var (place, frames) = (0, 0)
        while place + 6 <= bytes.count {
            guard bytes[place] == 0x0B, bytes[place + 1] == 0x77 else { return nil }
            let program = bytes[place + 2] & 0xF8
            let isHalfRate = bytes[place + 4] >> 6 == 3
            let code = Int(bytes[place + 4] >> 4 & 3)
            let blocks = isHalfRate || code == 3 ? 6 : code + 1
            // Plain AC-3 frames have another syntax.
            guard bytes[place + 5] >> 3 > 10, isHalfRate || AC3Codec.rate(bytes[place + 4] >> 6) == rate else {
                return nil
            }
            if program == 0 || program == 0x80 { frames += blocks * 256 }
            place += 2 * ((Int(bytes[place + 2] & 7) << 8 | Int(bytes[place + 3])) + 1)
        }
        return frames > 0 ? frames : nil
    }
}
