import TestSupport

/// Writes Musepack of stream version 7, for which there is no encoder: noise in the two lowest of the 32 bands.
enum MusepackFile {
    /// `lastSamples` are those of the last packet that are sound, or zero for all; `nil` as by encoders before 1.15, which
    /// state none. A packet with the end of the filters follows, if the decoder needs it.
    static func version7(packets: Int, lastSamples: Int?) -> [UInt8] {
        var bits = Bits()
        // No intensity stereo, no middle and side, bands up to number 1, a profile, 44.1 kHz, and no levels.
        let shape: [(Int, Int)] = [(0, 2), (1, 6), (10, 4), (0, 4), (0, 16), (0, 32), (0, 32)]
        for (value, width) in shape { bits.append(value, width) }
        bits.append(lastSamples == nil ? 0 : 1, 1)
        for (value, width) in [(lastSamples ?? 0, 11), (0, 20), (0x74, 8)] { bits.append(value, width) }
        var noise = UInt32(7)
        let needsMore = lastSamples.map { $0 == 0 || $0 > 1_152 - 481 } ?? false
        for number in 0..<(packets + (needsMore ? 1 : 0)) {
            var packet = Bits()
            // Nine bits for each sample of both channels, also of the second band.
            for (value, width) in [(10, 4), (10, 4), (1, 1), (1, 1)] { packet.append(value, width) }
            // One scale factor for all three parts, stated by six bits.
            for _ in 0..<4 { packet.append(0, 2) }
            for _ in 0..<4 {
                packet.append(0xC, 4)
                packet.append(10, 6)
            }
            for _ in 0..<(4 * 36) {
                noise = noise &* 1_664_525 &+ 1_013_904_223
                packet.append(Int(noise >> 16) % 511, 9)
            }
            bits.append(packet.values.count, 20)
            bits.values += packet.values
            if number == packets - 1 { bits.append(lastSamples ?? 0, 11) }
        }
        var file: [UInt8] = Array("MP+".utf8)
        file.append(7)
        file += little(UInt32(packets))
        return file + bits.words
    }

    private static func little(_ word: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) }
    }

    /// Bits, most significant first, in words of which the least significant byte comes first.
    private struct Bits {
        var values: [Bool] = []

        mutating func append(_ value: Int, _ width: Int) {
            for shift in (0..<width).reversed() { values.append(value >> shift & 1 == 1) }
        }

        var words: [UInt8] {
            stride(from: 0, to: values.count, by: 32).flatMap { start in
                var word: UInt32 = 0
                for place in start..<(start + 32) where place < values.count && values[place] {
                    word |= 1 << UInt32(31 - (place - start))
                }
                return MusepackFile.little(word)
            }
        }
    }
}
