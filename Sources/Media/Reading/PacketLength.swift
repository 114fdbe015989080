/// How many frames packets hold, by what the codecs say themselves: containers round, or say nothing.
final class PacketLength {
    private let codecName: String
    private let stream: InputStream
    private let blockAlign: Int
    private let vorbis: VorbisPacketLength?

    init(of stream: InputStream) throws {
        self.stream = stream
        codecName = stream.codecName
        blockAlign = stream.isPCM ? stream.pcmBytesPerFrame : 0
        vorbis = codecName == "vorbis" ? try VorbisPacketLength.open(stream) : nil
    }

    /// `nil` where nobody says. Call once for each packet, in order: Vorbis depends on the packet before.
    func frames(in packet: borrowing Packet) -> Int? {
        if let vorbis { return vorbis.frames(in: packet) }
        if blockAlign > 0 { return packet.byteCount / blockAlign }
        let known = packet.withBytes { bytes -> Int? in
            switch codecName {
            case "opus": opus(bytes)
            case "flac": flac(bytes)
            case "alac": alac(bytes)
            case "wavpack": bytes.count >= 32 ? Int(little(bytes, at: 20, count: 4)) : nil
            case "aac", "mp3", "mp3float": stream.frameSize > 0 ? stream.frameSize : nil
            default: nil
            }
        }
        return known
            ?? (packet.duration > 0
                ? stream.exactFrames(packet.duration, rate: stream.sampleRateHz).map { Int($0) } : nil)
    }

    /// RFC 6716, 3.1: the first byte tells the length of a frame, and with the second how many there are.
    private func opus(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let first = bytes.first else { return nil }
        let configuration = Int(first >> 3)
        let frame =
            configuration < 12
            ? [480, 960, 1920, 2880][configuration & 3]
            : configuration < 16 ? [480, 960][configuration & 1] : 120 << (configuration & 3)
        switch first & 3 {
        case 0: return frame
        case 1, 2: return 2 * frame
        default: return bytes.count > 1 ? frame * Int(bytes[1] & 0x3F) : nil
        }
    }

    /// The block size in a frame's header, behind the frame's number, which is coded like a letter of UTF-8.
    private func flac(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count > 6, bytes[0] == 0xFF, bytes[1] & 0xFC == 0xF8 else { return nil }
        let code = Int(bytes[2] >> 4)
        let numberBytes = max(1, (~bytes[4]).leadingZeroBitCount)
        let place = 4 + numberBytes
        switch code {
        case 1: return 192
        case 2...5: return 576 << (code - 2)
        case 6: return place < bytes.count ? Int(bytes[place]) + 1 : nil
        case 7: return place + 1 < bytes.count ? (Int(bytes[place]) << 8 | Int(bytes[place + 1])) + 1 : nil
        case 8...15: return 256 << (code - 8)
        default: return nil
        }
    }

    /// The first element says how many, unless it is as many as the header of the stream says for all.
    private func alac(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 7 else { return nil }
        let head = bytes.prefix(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // Bits from the left: 3 for the kind, 4 for the number, 12 unused, 1 for "has a size", 2 and 1, 32 for the size.
        if head >> (56 - 20) & 1 == 1 { return Int(head >> (56 - 55) & 0xFFFF_FFFF) }
        let header = stream.extradata
        return header.count >= 16 ? Int(bigEndian(header[12..<16])) : nil
    }

    private func little(_ bytes: UnsafeRawBufferPointer, at place: Int, count: Int) -> UInt64 {
        (0..<count).reduce(0) { $0 | UInt64(bytes[place + $1]) << (8 * UInt64($1)) }
    }
}
