/// The two telephone companding laws of ITU-T G.711, which store a 16-bit sample in one byte.
public enum G711: String, Sendable, CaseIterable {
    case ulaw, alaw

    /// The code of one 16-bit sample.
    public func encode(_ sample: Int16) -> UInt8 {
        switch self {
        case .ulaw: Self.encodeULaw(Int(sample))
        case .alaw: Self.encodeALaw(Int(sample))
        }
    }

    /// The codes of all samples of `pcm`, which must be 16-bit.
    func encoded(_ pcm: PCM) throws -> [UInt8] {
        guard pcm.format == .s16 else {
            throw SupportError("encode \(rawValue)", "\(pcm) is not 16-bit")
        }
        // A table of all codes: a long fixture then costs one look-up per sample.
        let table = (0...0xFFFF).map { encode(Int16(bitPattern: UInt16($0))) }
        let count = pcm.bytes.count / 2
        return [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
            pcm.bytes.withUnsafeBytes { raw in
                table.withUnsafeBufferPointer { table in
                    guard let samples = raw.baseAddress?.assumingMemoryBound(to: UInt16.self) else { return }
                    var index = 0
                    while index < count {
                        out[index] = table[Int(samples[index])]
                        index &+= 1
                    }
                }
            }
            initialized = count
        }
    }

    private static func encodeULaw(_ sample: Int) -> UInt8 {
        let magnitude = min(abs(sample), 32_635) + 132
        var exponent = 7
        while exponent > 0, magnitude & (0x80 << exponent) == 0 { exponent -= 1 }
        let mantissa = (magnitude >> (exponent + 3)) & 0x0F
        return ~UInt8((sample < 0 ? 0x80 : 0) | exponent << 4 | mantissa)
    }

    private static func encodeALaw(_ sample: Int) -> UInt8 {
        let magnitude = (sample < 0 ? -sample - 1 : sample) >> 3
        var exponent = 7
        while exponent > 0, magnitude < 0x10 << exponent { exponent -= 1 }
        let mantissa = exponent == 0 ? magnitude >> 1 : magnitude >> exponent
        return UInt8((sample < 0 ? 0 : 0x80) | exponent << 4 | mantissa & 0x0F) ^ 0x55
    }
}
