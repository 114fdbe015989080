/// Writes MPEG-1 audio layer I, for which hardly any encoder is left: seeded subband samples, no psychoacoustics.
public struct LayerIFile: Sendable {
    /// The mode as the header of a frame states it.
    public enum Mode: UInt8, CaseIterable, Sendable { case stereo = 0, joint = 1, dual = 2, mono = 3 }

    private let mode: Mode
    /// Joint stereo shares the subbands from `4 * (modeExtension + 1)` on.
    private let modeExtension: UInt8
    private let isProtected: Bool
    /// Whether to write wrong checksums.
    private let isWrong: Bool

    /// Joint stereo shares the subbands from `4 * (modeExtension + 1)` on; `isWrong` writes wrong checksums.
    public init(mode: Mode = .stereo, modeExtension: UInt8 = 0, isProtected: Bool = false, isWrong: Bool = false) {
        self.mode = mode
        self.modeExtension = modeExtension
        self.isProtected = isProtected
        self.isWrong = isWrong
    }

    private static let bytesPerFrame = 384 * 384_000 / 8 / 48_000

    /// The whole file: `frames` frames of 384 samples for each channel.
    public func bytes(frames: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return (0..<frames).flatMap { _ in frame(&generator) }
    }

    /// ISO 11172-3, 2.4.1.5: header, checksum, bit allocation, scale factors, twelve samples of each subband.
    private func frame(_ generator: inout SeededGenerator) -> [UInt8] {
        let channels = mode == .mono ? 1 : 2
        let bound = mode == .joint ? 4 * (Int(modeExtension) + 1) : 32
        // 384 kbit/s at 48 kHz.
        let header: [UInt8] = [0xFF, isProtected ? 0xFE : 0xFF, 0xC4, mode.rawValue << 6 | modeExtension << 4]
        // The lowest eight subbands have four-bit samples.
        let used = 8
        var allocation = Bits()
        for subband in 0..<32 {
            for _ in 0..<(subband < bound ? channels : 1) { allocation.append(subband < used ? 3 : 0, width: 4) }
        }
        var body = Bits()
        for _ in 0..<used { for _ in 0..<channels { body.append(Int(generator.next() % 20) + 15, width: 6) } }
        for _ in 0..<12 {
            for subband in 0..<used {
                // 15, all bits set, would look like a frame header.
                for _ in 0..<(subband < bound ? channels : 1) { body.append(Int(generator.next() % 15), width: 4) }
            }
        }
        var checksum: [UInt8] = []
        if isProtected {
            let sum = Self.checksum(Array(header[2...]) + allocation.bytes) ^ (isWrong ? 1 : 0)
            checksum = [UInt8(sum >> 8), UInt8(sum & 0xFF)]
        }
        let frame = header + checksum + allocation.bytes + body.bytes
        return frame + [UInt8](repeating: 0, count: Self.bytesPerFrame - frame.count)
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt16 {
        bytes.reduce(0xFFFF) { sum, byte in
            (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in sum & 0x8000 != 0 ? sum << 1 ^ 0x8005 : sum << 1 }
        }
    }

    private struct Bits {
        private(set) var bytes: [UInt8] = []
        private var free = 0

        mutating func append(_ value: Int, width: Int) {
            for bit in (0..<width).reversed() {
                if free == 0 {
                    bytes.append(0)
                    free = 8
                }
                free -= 1
                bytes[bytes.count - 1] |= UInt8(value >> bit & 1) << UInt8(free)
            }
        }
    }
}
