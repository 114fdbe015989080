/// Opus, which always counts at 48 kHz.
struct OpusCodec: CodecRules {
    let names = ["opus"]

    let packets = CodecTraits(
        // RFC 7845 requires 80 ms, after which no difference is heard. After three seconds there is none.
        preroll: 144_000,
        heldBackFrames: 960,
        exactTables: [.samples, .packets]
    )

    func length(of stream: InputStream) -> PacketLength.Rule { .stated(Self.frames) }

    func durations(of stream: InputStream) -> PacketDurations? { .multiples(of: 120) }

    func delay(of stream: InputStream) -> Int { stream.codecDelay ?? 0 }

    func preSkip(of stream: InputStream) -> Int? { OpusHeader.preSkip(of: stream) }

    func silentStart(of stream: InputStream, frames: Int64, isStated: Bool) -> Int {
        isStated ? 0 : OpusHeader.preSkip(of: stream)
    }

    func gain(of stream: InputStream) -> Int { OpusHeader.gain(of: stream) }

    // MARK: Outputs

    var clockHz: Int? { OpusHeader.rateHz }

    /// 80 ms.
    var rollPackets: Int? { 4 }

    /// libav 5.1 passes the five channels of 5.0 and the seven of 6.1 to libopus in a wrong order, and every
    /// decoder then plays the centre channel at the back. This order undoes that.
    func encoderOrder(ofChannels count: Int) -> [Int]? {
        switch count {
        case 5: [0, 1, 4, 2, 3]
        case 7: [0, 1, 4, 3, 5, 2, 6]
        default: nil
        }
    }

    /// RFC 6716, section 3.1.
    private static func frames(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let first = bytes.first else { return nil }
        let configuration = Int(first >> 3)
        let frame =
            switch configuration {
            case 0..<12: configuration & 3 == 3 ? 2880 : 480 << (configuration & 3)
            case 12..<16: 480 << (configuration & 1)
            default: 120 << (configuration & 3)
            }
        switch first & 3 {
        case 0: return frame
        case 1, 2: return 2 * frame
        default: return bytes.count >= 2 ? frame * Int(bytes[1] & 0x3F) : nil
        }
    }
}
