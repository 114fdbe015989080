/// Apple Lossless.
struct ALACCodec: CodecRules {
    let names = ["alac"]
    let packets = CodecTraits(preroll: 0, exactTables: [.samples, .packets])

    func length(of stream: InputStream) -> PacketLength.Rule {
        .stated { bytes in
            stream.withCodecHeader { header in
                guard header.count >= 16, bytes.count >= 7 else { return nil }
                guard bytes[2] >> 4 & 1 == 1 else { return Self.word(header, 12) }
                // Only a shorter block states its length, in 32 bits from the 23rd on.
                return (Self.word(bytes, 2) << 8 | Int(bytes[6])) >> 1 & 0xFFFF_FFFF
            }
        }
    }

    /// The codec's header states the frames in every block but the last.
    func durations(of stream: InputStream) -> PacketDurations? {
        PacketDurations.equal(stream.withCodecHeader { $0.count >= 16 ? Int64(Self.word($0, 12)) : nil })
    }

    /// libav's encoder sizes its output buffer for one element: with more channels, the headers of a few frames overrun
    /// the buffer, and libav aborts the process.
    func shortestLastBlock(channels: Int) -> Int { channels > 2 ? 8 : 1 }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Int {
        (0..<4).reduce(0) { $0 << 8 | Int(bytes[place + $1]) }
    }
}
