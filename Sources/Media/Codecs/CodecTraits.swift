/// What reading asks for each packet of a codec.
struct CodecTraits: Hashable {
    /// Frames that a decoder needs before its output equals the output without the skip. `nil` if a skip cannot be
    /// exact, because packets depend on everything before them, or libav's decoder does.
    ///
    /// Measured on noise and sweeps. The noise that AC-3, E-AC-3 and AAC substitute for sound differs after a skip.
    var preroll: Int64?
    /// The same where SBR has doubled the packets; `nil` if it makes no difference.
    var prerollWithSBR: Int64?
    /// Whether the first packet only fills the decoder's window and gives no output.
    var firstFillsWindow = false
    /// Frames that the decoder may hold back until later packets.
    var heldBackFrames: Int64 = 0
    /// Whether the decoder infers frames to drop, which apply only if the packet was identified as the first.
    var decoderInfersSkip = false
    /// Whether only the container states the frames of a packet.
    var framesAreInContainer = false
    /// The containers whose times state exactly the frames between two packets.
    var exactTables: PacketTables = []
    /// Whether all samples have one size, so that bytes show frames.
    var isPCM = false
    /// Whether a byte of one channel is a frame to libav.
    var bytesAreFrames = false
    /// The byte that stands for a packet without bytes, which libav's decoder refuses.
    var emptyPacket: UInt8?

    /// The preroll in a stream whose packets have `frames` frames.
    func preroll(packetFrames frames: Int) -> Int64? {
        guard frames == Self.framesWithSBR else { return preroll }
        return prerollWithSBR ?? preroll
    }

    /// Frames of an AAC packet that SBR has doubled.
    static let framesWithSBR = 2048
}

/// Tables in which containers state the frames of packets.
struct PacketTables: OptionSet, Hashable {
    let rawValue: Int
    /// The sample table of MP4.
    static let samples = PacketTables(rawValue: 1)
    /// The packet table of CAF.
    static let packets = PacketTables(rawValue: 2)
}

/// What decoding asks for each packet of a codec: where libav's decoder is wrong.
struct DecodingTraits: Sendable {
    /// Whether a packet matches its own checksum, where libav computes it wrong and must not check it; `nil` for a
    /// packet without one.
    var isIntact: (@Sendable (UnsafeRawBufferPointer) -> Bool?)?
    /// Whether libav would take an intact packet of more than 24 bits per sample for damaged.
    var isMisjudged: (@Sendable (UnsafeRawBufferPointer) -> Bool)?
    /// The bytes of a packet that libav must see differently, and where.
    var mended: (@Sendable (UnsafeRawBufferPointer) -> (place: Int, bytes: [UInt8])?)?
    /// The bytes of the first frame of a packet, where libav decodes only that of several; `nil` for an unknown frame.
    var firstFrameBytes: (@Sendable (UnsafeRawBufferPointer) -> Int?)?
    /// Whether libav labels a block with the sample rate of the block before it.
    var labelsRateLate = false
    /// Whether libav 7.1 gives a block for a packet that only fills the decoder's window, and marks it to be dropped.
    var mayGiveDroppedBlock = false
    /// Whether libav invents positions of more than two channels. The format states only their number.
    var inventsPositions = false

    /// Whether the layout of `channelCount` channels that libav names is invented.
    func inventsLayout(_ channelCount: Int) -> Bool { inventsPositions && channelCount > 2 }
}
