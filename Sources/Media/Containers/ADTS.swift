import Conversion

/// AAC without a container: frames with ADTS headers.
struct ADTS: ContainerRules {
    let frameSyntax: FrameSyntax? = .adts
    let opening = OpeningTraits(statesTimes: false)
    let packets = PacketTraits(beginWithADTSHeaders: true)
}

/// As an output.
extension ADTS {
    private static let packetFrames: Int64 = 1024

    func muxerName(_ format: ResolvedFormat) -> String { "adts" }

    func keepsValues(of name: String) -> Bool { ID3Tag.keepsValues(of: name, version: 4) }

    func front(_ tags: [Tag], _ options: Writer.Options) -> [UInt8] {
        let tag = ID3Tag(tags, version: 4)
        return tag.isEmpty ? [] : tag.bytes
    }

    func prepared(_ tags: [Tag]) -> [Tag] { [] }

    func copying(_ codec: Codec) -> CopyTraits { CopyTraits(keepADTSHeaders: true) }

    /// Nothing states where the sound begins and ends: all packets are sound, and one is the encoder's delay.
    func decodedFrames(of frames: Int64) -> Int64 {
        (frames + Self.packetFrames + Self.packetFrames - 1) / Self.packetFrames * Self.packetFrames
    }
}

/// The ADTS header that precedes each frame of raw AAC. Other containers store the same facts once per file.
struct ADTSHeader {
    /// Length of the header in bytes.
    let byteCount: Int
    /// The codec configuration (AudioSpecificConfig) that MP4 and Matroska would store instead.
    let configuration: [UInt8]

    /// `nil` if `bytes` do not begin a frame, or if only the frame itself describes its channels.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 7, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 else { return nil }
        byteCount = bytes[1] & 1 == 1 ? 7 : 9
        let kind = bytes[2] >> 6 + 1
        let rate = bytes[2] >> 2 & 0x0F
        let channels = (bytes[2] & 1) << 2 | bytes[3] >> 6
        guard rate < 13, channels > 0, bytes.count > byteCount else { return nil }
        configuration = [kind << 3 | rate >> 1, (rate & 1) << 7 | channels << 3]
    }
}

/// Recognises raw AAC.
enum ADTSSync {
    /// Whether `source` holds only ADTS frames, apart from tags before and after them.
    static func isStream(_ source: ByteSource) -> Bool {
        var place = TagBlocks.end(in: source, before: source.size ?? .max)
        var frames = 0
        // More frames than libav itself needs to recognise the format.
        while frames < 16, let head = source.bytes(at: place, count: 7),
            let length = frameLength(head[...])
        {
            place += Int64(length)
            frames += 1
        }
        return frames == 16
            || frames > 0 && (source.ends(at: place) || source.bytes(at: place, count: 3) == Array("TAG".utf8))
    }

    /// Length in bytes of the frame whose header starts `bytes`.
    private static func frameLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 7 else { return nil }
        let first = bytes.startIndex
        guard bytes[first] == 0xFF, bytes[first + 1] & 0xF6 == 0xF0, bytes[first + 2] >> 2 & 0x0F < 13 else {
            return nil
        }
        let length = Int(bytes[first + 3] & 3) << 11 | Int(bytes[first + 4]) << 3 | Int(bytes[first + 5] >> 5)
        return length > 7 ? length : nil
    }
}

/// Frames of ADTS, ISO 13818-7.
extension FrameSyntax {
    private static let adtsRates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]

    static func adtsHeader(_ head: UInt64) -> FrameHeader? {
        guard head >> 52 == 0xFFF, head >> 49 & 3 == 0 else { return nil }
        let frequency = Int(head >> 42 & 15)
        let length = Int(head >> 21 & 0x1FFF)
        guard frequency < adtsRates.count, length > 7 else { return nil }
        let blocks = Int(head >> 8 & 3) + 1
        return FrameHeader(
            bytes: length,
            frames: 1024 * blocks,
            sampleRateHz: adtsRates[frequency],
            kind: UInt32(truncatingIfNeeded: head >> 32) & 0xFFFE_FC00
        )
    }
}
