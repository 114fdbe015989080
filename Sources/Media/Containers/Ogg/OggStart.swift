/// Where the sound of a codec begins in an Ogg file whose first page does not begin at zero, as in recordings of
/// broadcasts.
enum OggStart {
    /// At the first page. libav counts the length from zero.
    case counted
    /// At the first page, which libav subtracts from the length.
    case subtracted
    /// Below zero, by the look-ahead of the encoder. libav knows of no delay.
    case belowZero(CodecDelay)

    /// The delay of which libav does not know.
    var delay: CodecDelay? { if case .belowZero(let delay) = self { delay } else { nil } }
}

/// By how many frames a codec delays its sound, where packets do not state it.
struct CodecDelay: Hashable {
    /// The look-ahead of the encoder.
    var encoder = 0
    /// The delay of the decoder.
    var decoder = 0
    /// The frames of a packet.
    var packetFrames = 1
    /// The same according to the codec's header, in which pages may count.
    var statedPacketFrames = 1
}
