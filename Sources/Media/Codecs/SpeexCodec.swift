/// Speex.
struct SpeexCodec: CodecRules {
    let names = ["speex"]
    // Its predictors' past fades.
    let packets = CodecTraits(preroll: 4 * 16_000)
    let startInOgg = OggStart.belowZero

    /// All packets have the same length: the header states the frames per packet and their size.
    func length(of stream: InputStream) -> PacketLength.Rule {
        .stated { _ in
            stream.withCodecHeader { header in
                guard header.count >= 68, header.starts(with: "Speex   ".utf8) else { return nil }
                let (size, count) = (Self.word(header, at: 56), max(1, Self.word(header, at: 64)))
                return (1...640).contains(size) && count <= 64 ? size * count : nil
            }
        }
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, at place: Int) -> Int {
        Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
    }
}
