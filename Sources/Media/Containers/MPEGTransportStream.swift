import Conversion

/// MPEG-TS, which stamps packets in ticks of 90 kHz.
struct MPEGTransportStream: SourceRules {
    let packets = PacketTraits(clock: .rounded, jump: .never, timesAreRounded: true)

    /// The program's table need not say what a private stream holds.
    let opening = OpeningTraits(mayCallSoundData: true)

    /// After few packets, libav takes DTS for MP3.
    func packetsThatTellTheCodec(in source: ByteSource) -> Int { 32 }

    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool {
        MPEGTransportEnd.isCut(source, programID: Int64(stream.containerID))
    }
}

/// The end of an MPEG-TS. Each packet of sound (PES) states its size and is spread over packets of the transport.
private enum MPEGTransportEnd {
    private static let packetBytes = 188
    /// Packets with time codes or checksums are longer.
    private static let strides = [188, 192, 204]
    /// Between two packets of sound may lie a tenth of a second of pictures.
    private static let tailBytes: Int64 = 1 << 20

    /// Whether the source ends inside the last packet of the stream that the transport calls `programID`. `false` if
    /// the end holds anything else than packets of the transport, or the start of no packet.
    static func isCut(_ source: ByteSource, programID: Int64) -> Bool {
        guard let size = source.endSize, size > 0 else { return false }
        let start = max(0, size - tailBytes)
        guard let tail = source.bytes(at: start, count: Int(size - start)), Int64(tail.count) == size - start,
            let (first, stride) = grid(of: tail)
        else { return false }
        var missing: Int64 = 0
        for place in Swift.stride(from: first, to: tail.count, by: stride) {
            let packet = tail[place..<min(place + packetBytes, tail.count)]
            guard packet.count > 5, bigEndian(packet[(place + 1)..<(place + 3)]) & 0x1FFF == programID else { continue }
            let control = packet[place + 3]
            guard control & 0x10 != 0 else { continue }
            let payload = packet.dropFirst(control & 0x20 != 0 ? 5 + Int(packet[place + 4]) : 4)
            let isStart = packet[place + 1] & 0x40 != 0
            if isStart { missing = sizeOfPacket(payload) }
            missing -= Int64(payload.count)
        }
        return missing > 0
    }

    /// The size that a packet of sound states; zero if it states none.
    private static func sizeOfPacket(_ payload: ArraySlice<UInt8>) -> Int64 {
        let head = Array(payload.prefix(6))
        guard head.count == 6, head.starts(with: [0, 0, 1]) else { return 0 }
        let stated = bigEndian(head[4...])
        return stated == 0 ? 0 : 6 + stated
    }

    /// Where the first packet of the transport begins, and the distance from each to the next.
    private static func grid(of tail: [UInt8]) -> (first: Int, stride: Int)? {
        for stride in strides {
            for first in 0..<min(stride, tail.count)
            where Swift.stride(from: first, to: tail.count, by: stride).allSatisfy({ tail[$0] == 0x47 }) {
                return (first, stride)
            }
        }
        return nil
    }
}
