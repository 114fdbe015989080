/// The header of an Opus stream as containers store it (RFC 7845).
enum OpusHeader {
    /// The clock of Opus in hertz, whatever the input rate.
    static let rateHz = 48_000

    /// The pre-skip: frames at 48 kHz that decoders drop at the start.
    static func preSkip(of stream: InputStream) -> Int {
        stream.withCodecHeader { $0.count >= 12 ? Int($0[10]) | Int($0[11]) << 8 : 0 }
    }

    /// The gain in 1/256 dB that decoders apply to `stream`; zero if it has none.
    static func gain(of stream: InputStream) -> Int {
        let header = stream.extradata
        guard header.count >= 18 else { return 0 }
        return Int(Int16(truncatingIfNeeded: littleEndian(header[16..<18])))
    }

    /// The header of `stream` with its pre-skip set to `preSkip` frames at 48 kHz. CAF
    /// stores no header, so one is made up.
    ///
    /// Throws for a stream without a header that has more than two channels.
    static func bytes(of stream: InputStream, preSkip: Int) throws -> [UInt8] {
        var header = stream.extradata
        if header.count < 19 {
            guard stream.channelCount <= 2 else { throw LibAVError.invalid("OpusHead") }
            header = Array("OpusHead".utf8) + [1, UInt8(stream.channelCount), 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0]
        }
        header[10] = UInt8(truncatingIfNeeded: preSkip)
        header[11] = UInt8(truncatingIfNeeded: preSkip >> 8)
        return header
    }
}
