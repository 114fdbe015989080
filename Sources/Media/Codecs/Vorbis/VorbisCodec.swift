/// Vorbis, whose packets overlap: the first one gives no output.
struct VorbisCodec: CodecRules {
    let names = ["vorbis"]
    let packets = CodecTraits(preroll: 2 * 8192, firstFillsWindow: true)
    let decoding = DecodingTraits(mayGiveDroppedBlock: true)

    func length(of stream: InputStream) -> PacketLength.Rule {
        // `try?`: damaged headers leave `nil`, which `isUnreadable` reports. Callers that need lengths then refuse,
        // and callers that decode get the decoder's error.
        .overlapping(try? VorbisPacketLength.open(stream)) { try? VorbisPacketLength.open(stream) }
    }

    /// The shortest blocks have 64 frames and overlap by half.
    func durations(of stream: InputStream) -> PacketDurations? { .multiples(of: 32) }

    /// The first packet has no packet before it to overlap with.
    func silentStart(of stream: InputStream, frames: Int64, isStated: Bool) -> Int { Int(frames) }

    func startInOgg(of stream: InputStream) -> OggStart { .subtracted }
}
