/// MPEG audio, layers I to III: MP1, MP2 and MP3.
struct MPEGAudioCodec: CodecRules {
    let layer: Int

    var names: [String] { ["mp\(layer)"] }

    // The bit reservoir reaches 511 bytes back: at most ten frames, plus one for the overlap.
    let packets = CodecTraits(preroll: 12 * 1152)

    var decoding: DecodingTraits {
        DecodingTraits(isIntact: layer == 1 ? LayerIChecksum.isRight : nil, labelsRateLate: true)
    }

    func length(of stream: InputStream) -> PacketLength.Rule {
        let rate = stream.sampleRateHz
        return .stated { Self.frames(in: $0, rate) }
    }

    func durations(of stream: InputStream) -> PacketDurations? {
        switch layer {
        case 1: PacketDurations.equal(384)
        case 2: PacketDurations.equal(1152)
        default: PacketDurations.equal(stream.sampleRateHz < 32_000 ? 576 : 1152)
        }
    }

    private static func frames(in bytes: UnsafeRawBufferPointer, _ rate: Int) -> Int? {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return nil }
        let (isMPEG1, isMPEG2) = (bytes[1] & 0x18 == 0x18, bytes[1] & 0x18 == 0x10)
        let full = bytes[2] >> 2 & 3 == 0 ? 44_100 : bytes[2] >> 2 & 3 == 1 ? 48_000 : 32_000
        guard full >> (isMPEG1 ? 0 : isMPEG2 ? 1 : 2) == rate else { return nil }
        switch bytes[1] >> 1 & 3 {
        case 3: return 384
        case 2: return 1152
        case 1: return isMPEG1 ? 1152 : 576
        default: return nil
        }
    }

    func bitRate(of packet: UnsafeRawBufferPointer) -> Int? {
        guard layer == 3, packet.count >= 4, packet[0] == 0xFF, packet[1] & 0xE6 == 0xE2 else { return nil }
        let rates = packet[1] & 0x18 == 0x18 ? Self.ratesOfMPEG1 : Self.ratesOfMPEG2
        let index = Int(packet[2] >> 4)
        // The first is free format, whose rate no header states.
        return rates.indices.contains(index) && index > 0 ? rates[index] * 1_000 : nil
    }

    /// Of layer III, in kilobits per second, by the four bits of a frame's header; MPEG-2.5 has those of MPEG-2.
    private static let ratesOfMPEG1: [Int] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    private static let ratesOfMPEG2: [Int] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
}
