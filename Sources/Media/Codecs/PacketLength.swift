/// Computes how many frames a packet holds from its codec data.
///
/// Containers round: Matroska counts milliseconds, MPEG-TS ticks of 90 kHz. To find a frame without decoding
/// everything before it, only the packets themselves are exact enough.
struct PacketLength {
    /// How the packets of a codec show their frames. `nil` is the answer for a packet that does not, or that has another
    /// sample rate than the stream had at first.
    enum Rule {
        /// They do not.
        case unknown
        /// Each packet states its frames, or the codec's header states them for all.
        case stated((UnsafeRawBufferPointer) -> Int?)
        /// They follow from the size of the packet, or are known from the first packet.
        case implied((UnsafeRawBufferPointer) -> Int?)
        /// Packets overlap with the one before. Without a parser, the headers needed to read them are damaged. `another`
        /// makes a parser for packets out of order.
        case overlapping(VorbisPacketLength?, another: () -> VorbisPacketLength?)
        /// Each frame is numbered, and says which frame it follows. The number is the stream's sample rate.
        case numbered(Int)
    }

    private let rule: Rule
    private var flac: FLACFrameHeader?
    /// Whether a numbered packet did not follow the one before it: libav merged several frames
    /// into one packet, or lost some.
    private(set) var isBroken = false

    init(_ rule: Rule) { self.rule = rule }

    init(_ stream: InputStream) { self.init(stream.codec.length(of: stream)) }

    /// Whether the headers needed to read packets are damaged.
    var isUnreadable: Bool { if case .overlapping(nil, _) = rule { true } else { false } }

    /// The frames in `packet`; `nil` if it does not say, or has another sample rate than the stream had at first.
    ///
    /// Call it once per packet, in order: Vorbis packets overlap with the one before.
    mutating func frames(in packet: borrowing Packet) -> Int64? {
        switch rule {
        case .unknown, .overlapping(nil, _): return nil
        case .stated(let frames), .implied(let frames): return packet.withBytes(frames).map(Int64.init)
        case .overlapping(let parser?, _):
            let frames = parser.frames(in: packet)
            return frames < 0 ? nil : Int64(frames)
        case .numbered(let rate):
            let header = packet.withBytes { FLACFrameHeader($0) }
            if let flac, let header, !header.follows(flac) { isBroken = true }
            flac = header
            return header.flatMap { $0.rate == nil || $0.rate == rate ? Int64($0.frames) : nil }
        }
    }

    /// Call it after a seek: the next packet does not follow the last one.
    mutating func forgetOrder() { flac = nil }

    /// The frames in all of `packets` but the first; `nil` if any of them does not say. `packets` are
    /// consecutive ranges of `bytes`.
    func frames(in bytes: UnsafeRawBufferPointer, _ packets: [Range<Int>]) -> Int64? {
        let count: (UnsafeRawBufferPointer) -> Int?
        switch rule {
        case .unknown, .implied, .overlapping(nil, _): count = { _ in nil }
        case .stated(let frames): count = frames
        case .overlapping(_, let another):
            let own = another()
            count = { own?.frames(in: $0) }
        case .numbered: count = { FLACFrameHeader($0)?.frames }
        }
        var sum: Int64 = 0
        // libav ends FLAC in Ogg with an empty packet.
        for (number, packet) in packets.enumerated() where !packet.isEmpty {
            guard let frames = count(UnsafeRawBufferPointer(rebasing: bytes[packet])), frames >= 0 else { return nil }
            if number > 0 { sum += Int64(frames) }
        }
        return sum
    }
}
