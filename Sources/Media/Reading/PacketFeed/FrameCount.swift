/// Counts packets and the frames in them without decoding.
struct FrameCount {
    /// For the pages of the container, which count the same frames.
    private(set) var lengths: PacketLength
    private var durations: PacketDurations?
    private let firstFillsWindow: Bool
    /// Whether the container counts the frames: the codec's packets do not, and this container does not round.
    let isByContainer: Bool

    /// Packets read, and their bytes.
    private(set) var packets: Int64 = 0
    private(set) var bytes: Int64 = 0
    /// Frames in the packet read last; `nil` if it does not state them.
    private(set) var frames: Int64?
    /// Total frames of the packets handed out or skipped; `nil` once a packet did not state its frames.
    private(set) var place: Int64? = 0
    /// Where the packet read last lies in the source.
    private(set) var lastPlace: Int64 = 0
    /// The first packet.
    private(set) var first = First()
    /// The place of the packet handed out last.
    private var givenPlace: Int64?

    struct First {
        var place: Int64?
        var time: Int64?
        var duration: Int64 = 0
    }

    init(_ lengths: PacketLength, _ durations: PacketDurations?, _ codec: CodecTraits, timesAreRounded: Bool) {
        (self.lengths, self.durations) = (lengths, durations)
        firstFillsWindow = codec.firstFillsWindow
        isByContainer = codec.framesAreInContainer && !timesAreRounded
    }

    /// Whether the packet read last is the first.
    var isAtFirst: Bool { packets == 1 }

    /// Whether packets no longer follow one another, so that their frames cannot be counted.
    var isBroken: Bool { lengths.isBroken }

    // MARK: Reading

    /// Counts a packet that was read. `stated` are its frames according to the container.
    mutating func read(_ packet: borrowing Packet, stated: Int64?) {
        packets += 1
        bytes += Int64(packet.byteCount)
        frames = isByContainer ? stated : lengths.frames(in: packet)
        if isAtFirst, firstFillsWindow { frames = 0 }
        if let place = packet.place { lastPlace = place }
        if isAtFirst { first = First(place: packet.place, time: packet.timestamp, duration: packet.duration) }
    }

    /// Notes that reading goes on at a place behind damage.
    mutating func resume(at place: Int64) { lastPlace = place }

    /// Counts the packet read last as handed out, behind `lost` frames.
    mutating func give(from packetPlace: Int64?, lost: Int64) {
        givenPlace = packetPlace
        if let before = place { place = frames.map { before + $0 + lost } }
    }

    /// Goes on at `frame`.
    mutating func move(to frame: Int64?) { place = frame }

    /// Call it after a seek: the next packet does not follow the last one.
    mutating func forgetOrder() { lengths.forgetOrder() }

    /// Takes the frames of the packet read last, which has another size than when it was read before.
    mutating func correct(by other: FrameCount) { frames = other.frames }

    // MARK: What a packet should hold

    /// Frames that the container's times show for a packet; `nil` if they are exact, and the duration states them.
    var wholeFrames: Int64? { durations.flatMap { $0.isSteady ? nil : $0.whole } }

    /// Whether the usual frames of the codec's packets are known.
    var knowsDurations: Bool { durations != nil }

    /// The frames that the current packet must give: see `PacketDurations`.
    mutating func frames(exact: Int64?, near: Int64, own: Int64?) -> Int64? {
        durations?.frames(exact: exact, near: near, own: own)
    }

    /// The frames of the first packet, if it only fills the decoder's window, but its container takes them for sound
    /// and drops as many at the end of the only page, which has the packet handed out last.
    var framesOfWindow: Int64 {
        firstFillsWindow && first.time == 0 && givenPlace == first.place ? first.duration : 0
    }
}
