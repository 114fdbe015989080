/// Speex.
struct SpeexCodec: CodecRules {
    let names = ["speex"]
    // Its predictors' past fades.
    let packets = CodecTraits(preroll: 4 * 16_000)

    /// All packets have the same length: the header states the frames per packet and their size.
    func length(of stream: InputStream) -> PacketLength.Rule {
        let frames = SpeexHeader(stream)?.packetFrames
        return .stated { _ in frames }
    }

    func startInOgg(of stream: InputStream) -> OggStart {
        guard let header = SpeexHeader(stream) else { return .belowZero(CodecDelay()) }
        return .belowZero(
            CodecDelay(
                encoder: header.encoderDelay,
                decoder: header.decoderDelay,
                packetFrames: header.packetFrames,
                statedPacketFrames: header.statedPacketFrames
            )
        )
    }
}

/// The header of a Speex stream.
struct SpeexHeader {
    /// Narrow, wide or ultra-wide band: 0, 1 or 2.
    private let mode: Int
    private let framesPerPacket: Int
    private let statedFrameSize: Int

    private static let mostFramesPerPacket = 64

    init?(_ stream: InputStream) {
        let numbers: (mode: Int, size: Int, count: Int)? = stream.withCodecHeader { header in
            guard header.count >= 68, header.starts(with: "Speex   ".utf8) else { return nil }
            return (Self.word(header, at: 40), Self.word(header, at: 56), Self.word(header, at: 64))
        }
        guard let numbers, (0...2).contains(numbers.mode), numbers.count <= Self.mostFramesPerPacket else { return nil }
        mode = numbers.mode
        framesPerPacket = max(1, numbers.count)
        statedFrameSize = numbers.size
    }

    /// The frames of a packet. The band fixes the size of a frame; some headers state that of a narrower band.
    var packetFrames: Int { framesPerPacket * 160 << mode }

    /// The frames of a packet according to the header.
    var statedPacketFrames: Int {
        (1...640).contains(statedFrameSize) ? framesPerPacket * statedFrameSize : packetFrames
    }

    /// The look-ahead of the reference encoder. Each wider band adds that of its filter.
    var encoderDelay: Int { [40, 143, 349][mode] }

    /// A decoder gives each frame 5 ms late. The reference decoder drops them.
    var decoderDelay: Int { 40 << mode }

    private static func word(_ bytes: UnsafeRawBufferPointer, at place: Int) -> Int {
        Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
    }
}
