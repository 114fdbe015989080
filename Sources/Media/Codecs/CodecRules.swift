import Conversion

/// What is special about one codec, or a family of codecs, as a source: how its packets begin, join and end. The
/// defaults describe an ordinary codec, which libav decodes right and of which only the container knows lengths.
///
/// All other code asks the rules and compares no names of codecs. `CodecRegistry` finds them once for a stream. What is
/// needed for each packet is in `packets`, in `decoding` and in `PacketLength`, which are plain values.
protocol CodecRules: Sendable {
    /// libav's names of the codecs.
    var names: [String] { get }

    // MARK: Packets

    /// What reading asks for each packet.
    var packets: CodecTraits { get }

    /// What decoding asks for each packet.
    var decoding: DecodingTraits { get }

    /// How the packets of `stream` show their frames.
    func length(of stream: InputStream) -> PacketLength.Rule

    /// The usual frames of a packet, against which times of a container are held; `nil` if they are not known.
    func durations(of stream: InputStream) -> PacketDurations?

    /// How many frames of the sound one frame of a tag may stand for, the most likely number first.
    func framesPerCountedFrame(of stream: InputStream) -> [Int64]

    /// The bit rate that a packet states, in bits per second; `nil` if it states none.
    func bitRate(of packet: UnsafeRawBufferPointer) -> Int?

    // MARK: Starts

    /// Frames that decoders always drop at the start, whatever the container states.
    func delay(of stream: InputStream) -> Int

    /// The frames to drop at the start that the codec's header states; `nil` if such headers state none.
    func preSkip(of stream: InputStream) -> Int?

    /// Frames without sound at the start of the first packet, which has `frames`. `isStated` if packets or container
    /// state some already.
    func silentStart(of stream: InputStream, frames: Int64, isStated: Bool) -> Int

    /// Priming that only a mark in the first packet shows; `nil` without the mark.
    func markedPriming(of first: borrowing Packet) -> Int?

    /// The same for the first packet in the index of the container.
    func markedPriming(of stream: InputStream, in source: ByteSource) -> Int?

    /// Where the sound begins in an Ogg file whose first page does not begin at zero.
    func startInOgg(of stream: InputStream) -> OggStart

    // MARK: Headers

    /// The frames of the whole stream according to the codec's header; `nil` if it does not state them.
    func totalFrames(of stream: InputStream) -> Int64?

    /// The gain in 1/256 dB that decoders apply; zero if there is none.
    func gain(of stream: InputStream) -> Int

    /// The digest of the samples that the codec's header states; `nil` without one.
    func digest(of stream: InputStream) -> FLACDigest?

    // MARK: Samples

    /// Whether the samples are floating point.
    func isFloat(_ stream: InputStream) -> Bool

    /// Whether the samples have one bit at a rate of megahertz. Decoding makes floats at an eighth of the rate.
    var isOneBit: Bool { get }

    /// Whether the samples are companded, so that decoding is exact but encoding was not.
    var isCompanded: Bool { get }

    /// Why libav cannot decode samples of `bitDepth` bits; `nil` if it can.
    func refusal(of bitDepth: Int) -> String?

    /// Whether the container may know better which speakers the channels have.
    var leavesSpeakersToContainer: Bool { get }

    // MARK: Outputs

    /// The rate in hertz at which containers count the codec whatever the rate of its samples; `nil` for that rate.
    var clockHz: Int? { get }

    /// Packets that a decoder needs before its output is right, if containers state them.
    var rollPackets: Int? { get }

    /// The order in which libav's encoder expects `count` channels; `nil` for the layout's own order.
    func encoderOrder(ofChannels count: Int) -> [Int]?

    /// The fewest frames that the last block for libav's encoder may have.
    func shortestLastBlock(channels: Int) -> Int

    /// Whether packets of another stream may follow those of `stream` in one track, so that a decoder gives the sound of
    /// both.
    func joining(of stream: InputStream) -> PacketJoining

    /// `format` for a copy of packets of the codec `name`; `nil` if no output can hold them.
    func native(_ format: ResolvedFormat, to name: String) -> ResolvedFormat?
}

extension CodecRules {
    var packets: CodecTraits { CodecTraits() }
    var decoding: DecodingTraits { DecodingTraits() }
    func length(of stream: InputStream) -> PacketLength.Rule { .unknown }
    func durations(of stream: InputStream) -> PacketDurations? { nil }
    func framesPerCountedFrame(of stream: InputStream) -> [Int64] { [1] }
    func bitRate(of packet: UnsafeRawBufferPointer) -> Int? { nil }

    func delay(of stream: InputStream) -> Int { 0 }
    func preSkip(of stream: InputStream) -> Int? { nil }
    func silentStart(of stream: InputStream, frames: Int64, isStated: Bool) -> Int { 0 }
    func markedPriming(of first: borrowing Packet) -> Int? { nil }
    func markedPriming(of stream: InputStream, in source: ByteSource) -> Int? { nil }
    func startInOgg(of stream: InputStream) -> OggStart { .counted }

    func totalFrames(of stream: InputStream) -> Int64? { nil }
    func gain(of stream: InputStream) -> Int { 0 }
    func digest(of stream: InputStream) -> FLACDigest? { nil }

    func isFloat(_ stream: InputStream) -> Bool { false }
    var isOneBit: Bool { false }
    var isCompanded: Bool { false }
    func refusal(of bitDepth: Int) -> String? { nil }
    var leavesSpeakersToContainer: Bool { false }

    var clockHz: Int? { nil }
    var rollPackets: Int? { nil }
    func encoderOrder(ofChannels count: Int) -> [Int]? { nil }
    func shortestLastBlock(channels: Int) -> Int { 1 }
    func joining(of stream: InputStream) -> PacketJoining { .refused("only packets of AAC are joined") }
    func native(_ format: ResolvedFormat, to name: String) -> ResolvedFormat? {
        Codec(rawValue: name).map { codec in
            var native = format
            native.codec = codec
            return native
        }
    }
}

/// Whether packets of several streams may follow one another in one track.
enum PacketJoining: Hashable {
    /// If the configurations of all streams are the same. The first packet of each stream behind the first must be priming:
    /// what it decodes to depends on the packet before it, and nothing behind it does.
    case behindPriming(configuration: [UInt8])
    /// They may not, for this reason.
    case refused(String)
}

/// An ordinary codec.
struct OrdinaryCodec: CodecRules {
    let names: [String] = []
}
