/// Files in formats for which we have no encoder, built byte by byte. Speech and music codecs get random bits,
/// which they decode to noise.
public enum RareFile {
    /// One short file of each kind, with its name.
    public static var short: [(name: String, bytes: [UInt8])] {
        [
            ("a.dff", dsdiff(.tone(1_000, rate: 352_800, frames: 16_000, channels: 2))),
            ("mace3.aifc", aifc(coding: "MAC3", channels: 1, packets: 1_000, packetBytes: 2)),
            ("mace6.aifc", aifc(coding: "MAC6", channels: 2, packets: 1_000, packetBytes: 1)),
            ("at3.wav", atrac3(frames: 8)), ("a.qcp", qcp(frames: 50, hasBlanks: true)),
            ("g729.wav", g729(frames: 50)), ("a.bit", g729Bits(frames: 20)),
        ] + RealMediaFile.Codec.allCases.map { ("\($0).rm", RealMediaFile.bytes($0, groups: 2)) }
    }

    // MARK: One bit for each sample

    /// Sigma-delta modulated sound: one array per channel, eight samples per byte, the first in the lowest bit.
    public static func modulated(_ signal: Signal) -> [[UInt8]] {
        signal.channels.map { samples in
            var (error, bytes) = (0.0, [UInt8](repeating: 0, count: samples.count / 8))
            for (number, sample) in samples.prefix(bytes.count * 8).enumerated() {
                let wanted = sample + error
                let bit = wanted >= 0
                error = wanted - (bit ? 1 : -1)
                if bit { bytes[number / 8] |= 1 << UInt8(number % 8) }
            }
            return bytes
        }
    }

    /// A DSDIFF file of sigma-delta modulated mono or stereo sound, not compressed.
    public static func dsdiff(_ signal: Signal) -> [UInt8] {
        let channels = modulated(signal)
        var rate: [UInt8] = []
        rate.append(big: UInt32(signal.rate))
        var names: [UInt8] = []
        names.append(big: UInt16(channels.count))
        for name in ["SLFT", "SRGT"].prefix(channels.count) { names += Array(name.utf8) }
        let coding = Array("DSD ".utf8) + [14] + Array("not compressed".utf8)
        let properties = wide("FS  ", rate) + wide("CHNL", names) + wide("CMPR", coding)
        // DSDIFF stores the first of eight samples in the highest bit.
        let data = channels[0].indices.flatMap { place in channels.map { turned($0[place]) } }
        let content = wide("FVER", [1, 5, 0, 0]) + wide("PROP", Array("SND ".utf8) + properties) + wide("DSD ", data)
        return wide("FRM8", Array("DSD ".utf8) + content)
    }

    private static func turned(_ byte: UInt8) -> UInt8 {
        var reversed: UInt8 = 0
        for place: UInt8 in 0..<8 { reversed |= (byte >> place & 1) << (7 - place) }
        return reversed
    }

    // MARK: Music

    /// An AIFF-C file of random bytes that claims the given coding, with `packets` packets of `packetBytes` per
    /// channel.
    public static func aifc(coding: String, channels: Int, packets: Int, packetBytes: Int) -> [UInt8] {
        var common: [UInt8] = []
        common.append(big: UInt16(channels))
        common.append(big: UInt32(packets))
        common.append(big: UInt16(8))
        // 22,050 Hz as an 80-bit float.
        common += [0x40, 0x0D, 0xAC, 0x44, 0, 0, 0, 0, 0, 0]
        common += Array(coding.utf8) + [0, 0]
        let sound = [UInt8](repeating: 0, count: 8) + random(packets * packetBytes * channels, seed: 6)
        let content = short("FVER", [0xA2, 0x80, 0x51, 0x40], .big) + short("COMM", common, .big)
        return short("FORM", Array("AIFC".utf8) + content + short("SSND", sound, .big), .big)
    }

    /// A WAV file of stereo ATRAC3 at 132 kbit/s: frames with a random spectrum, without gain control and tonal
    /// components.
    public static func atrac3(frames: Int) -> [UInt8] {
        var format = words([0x270, 2]) + long(44_100) + long(44_100 * 384 / 1_024)
        // Each channel is coded separately.
        format += words([384, 0, 14, 1]) + long(0x1000) + words([0, 0, 1, 0])
        var sound: [UInt8] = []
        for unit in 0..<2 * frames {
            // Ten bands whose codes have one length each, so that they always fit: otherwise libav reads on into
            // the next frame.
            var spectrum = random(190, seed: UInt64(unit))
            spectrum[0] = 0x4C | spectrum[0] & 3
            sound += [0xA0, 0] + spectrum
        }
        let content = short("fmt ", format, .little) + short("fact", long(frames * 1_024) + long(1_024), .little)
        return short("RIFF", Array("WAVE".utf8) + content + short("data", sound, .little), .little)
    }

    // MARK: Speech

    /// A QCP file of QCELP 13K: frames of all rates in turn, with blank frames among them if `hasBlanks`.
    public static func qcp(frames: Int, hasBlanks: Bool) -> [UInt8] {
        let sizes = hasBlanks ? [34, 16, 7, 3, 0] : [34, 16, 7, 3]
        let identifier: [UInt8] = [
            0x41, 0x6D, 0x7F, 0x5E, 0x15, 0xB1, 0xD0, 0x11, 0xBA, 0x91, 0, 0x80, 0x5F, 0xB4, 0xB9, 0x7E,
        ]
        var format = [1, 0] + identifier + words([2]) + Array("Qcelp 13K".utf8)
        format += [UInt8](repeating: 0, count: 71) + words([13_000, 35, 160, 8_000, 16])
        // The table from the first byte of a frame to its size.
        format += long(5) + [34, 4, 16, 3, 7, 2, 3, 1, 0, 0] + [UInt8](repeating: 0, count: 6 + 20)
        var sound: [UInt8] = []
        for number in 0..<frames {
            let place = number % sizes.count
            sound += [UInt8(4 - place)] + random(sizes[place], seed: UInt64(number))
        }
        let content =
            short("fmt ", format, .little) + short("vrat", long(1) + long(frames), .little)
            + short("data", sound, .little)
        return short("RIFF", Array("QLCM".utf8) + content, .little)
    }

    /// G.729 in a WAV file, as telephone systems record it.
    public static func g729(frames: Int) -> [UInt8] {
        let format = words([0x83, 1]) + long(8_000) + long(1_000) + words([10, 0, 0])
        let content = short("fmt ", format, .little) + short("data", random(10 * frames, seed: 9), .little)
        return short("RIFF", Array("WAVE".utf8) + content, .little)
    }

    /// The same frames in the format of the ITU's tools: two bytes per bit.
    public static func g729Bits(frames: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for (place, byte) in random(10 * frames, seed: 9).enumerated() {
            if place % 10 == 0 { bytes += words([0x6B21, 80]) }
            bytes += words((0..<8).map { byte >> UInt8(7 - $0) & 1 == 1 ? 0x81 : 0x7F })
        }
        return bytes
    }

    // MARK: Parts

    enum ByteOrder { case little, big }

    static func random(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }

    static func words(_ numbers: [Int]) -> [UInt8] {
        numbers.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    static func long(_ number: Int) -> [UInt8] { words([number, number >> 16]) }

    /// A chunk of IFF or RIFF.
    static func short(_ name: String, _ content: [UInt8], _ order: ByteOrder) -> [UInt8] {
        var bytes = Array(name.utf8)
        bytes += order == .little ? long(content.count) : long(content.count).reversed()
        return bytes + content + (content.count.isMultiple(of: 2) ? [] : [0])
    }

    /// A chunk of DSDIFF, whose size field has eight bytes.
    private static func wide(_ name: String, _ content: [UInt8]) -> [UInt8] {
        var bytes = Array(name.utf8)
        bytes.append(big: UInt64(content.count))
        return bytes + content + (content.count.isMultiple(of: 2) ? [] : [0])
    }
}
