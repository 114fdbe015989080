/// What the numbers in the frames of a bare stream tell: where a packet begins, whether libav repeats it, and whether
/// another file follows.
struct FrameNumbers {
    private let stream: InputStream
    private var numbering: FLACNumbering
    private var chain: FLACChain
    /// The number of the first packet.
    private(set) var first: Int64?
    /// The packet handed out last, and the blocks and frames decoded from it.
    private var given: (header: FLACFrameHeader, blocks: Int64, frames: Int64)?

    init(_ stream: InputStream, _ track: Track) {
        self.stream = stream
        numbering = FLACNumbering(blockFrames: stream.flacBlockFrames)
        chain = FLACChain(promisedFrames: track.length.exactFrames, rate: track.sampleRateHz)
    }

    /// Whether libav's timestamps are meaningless.
    var misleadLibAV: Bool { numbering.misleadsLibAV }

    /// Whether another file follows the first in the source.
    var areJoined: Bool { chain.isJoined }

    /// The frames that the headers of joined files promise in all; `nil` for a single file, and if one does not say.
    var joinedFrames: Int64? { chain.isJoined ? chain.promisedFrames : nil }

    /// The first frame of a packet that was read; `nil` if its number is damaged.
    mutating func start(of packet: borrowing Packet, isFirst: Bool) -> Int64? {
        guard let header = packet.flacHeader else {
            if isFirst { first = nil }
            return nil
        }
        var start: Int64?
        if header.isIntact {
            start = numbering.start(of: header)
            if misleadLibAV { packet.eachFLACHeader(behind: header) { _ = numbering.start(of: $0) } }
        }
        if isFirst { first = stream.flacBlockFrames.flatMap { header.start(blockFrames: $0) } }
        return start
    }

    /// Whether libav repeats this packet, which comes next. Where rate or channels change, it puts several frames into
    /// one packet and gives some of them again.
    mutating func isRepeated(_ packet: borrowing Packet) -> Bool {
        guard let header = packet.flacHeader else { return false }
        if let given, !chain.startsAnew,
            numbering.isRepeated(header, behind: given.header, blocks: given.blocks, frames: given.frames)
        {
            return true
        }
        given = (header, 0, 0)
        return false
    }

    /// Records that the packet handed out last gave a block of `frames`.
    mutating func noteBlock(of frames: Int) {
        given?.blocks += 1
        given?.frames += Int64(frames)
    }

    /// Looks for another file in the packet handed out last, at whose end `frames` frames were given; `nil` if unknown.
    mutating func look(in packet: borrowing Packet, at frames: Int64?) { chain.look(in: packet, at: frames) }

    // MARK: Searching

    /// Frames in every packet but the last; `nil` if they differ.
    var packetFrames: Int? { stream.flacBlockFrames }

    /// The first frame of a packet to which a search led, behind the first packet; `nil` if its number does not tell.
    func place(of packet: borrowing Packet) -> Int64? {
        guard let first, let block = packetFrames else { return nil }
        return packet.flacHeader?.start(blockFrames: block).map { $0 - first }
    }

    /// Whether a packet can be searched by its number. `place` is where the first packet lies.
    func areInOrder(in source: ByteSource, from place: Int64?, _ track: Track) -> Bool {
        guard let place, let first, let block = packetFrames, let frames = track.length.exactFrames else {
            return false
        }
        return FLACOrder.isProven(
            source,
            from: place,
            start: first,
            frames: frames,
            rate: track.sampleRateHz,
            block: block
        )
    }
}
