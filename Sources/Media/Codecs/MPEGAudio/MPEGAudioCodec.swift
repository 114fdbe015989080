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
}
