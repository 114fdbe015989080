/// FLAC.
struct FLACCodec: CodecRules {
    let names = ["flac"]
    let packets = CodecTraits(preroll: 0, exactTables: [.samples, .packets])

    /// The most bits that libav decodes.
    private static let mostBits = 24

    func length(of stream: InputStream) -> PacketLength.Rule { .numbered(stream.sampleRateHz) }

    func durations(of stream: InputStream) -> PacketDurations? {
        PacketDurations.equal(stream.flacBlockFrames.map(Int64.init)) ?? .multiples(of: 1)
    }

    func totalFrames(of stream: InputStream) -> Int64? {
        let header = stream.extradata
        guard header.count >= 34 else { return nil }
        let total = bigEndian([header[13] & 0x0F] + header[14..<18])
        return total > 0 ? total : nil
    }

    func digest(of stream: InputStream) -> FLACDigest? { FLACDigest(stream) }

    func refusal(of bitDepth: Int) -> String? {
        bitDepth > Self.mostBits
            ? "FLAC of \(bitDepth) bits is not supported: libav 5.1 decodes at most \(Self.mostBits)" : nil
    }
}

extension InputStream {
    /// Frames in every block of a FLAC stream but the last; `nil` if block sizes vary.
    var flacBlockFrames: Int? {
        withCodecHeader { header in
            guard header.count >= 34, header[0] == header[2], header[1] == header[3] else { return nil }
            return Int(header[0]) << 8 | Int(header[1])
        }
    }
}
