import Conversion

/// Copies packets into an output without decoding them. It puts them on one clock, and states priming and padding
/// in the form that the container uses.
final class PacketCopy {
    /// Frames of sound in the packets written so far.
    private(set) var soundFrames: Int64 = 0
    /// Priming frames before the sound, all in the first packets; known once the header is written.
    private(set) var priming: Int64 = 0
    /// The packet that is only partly priming, which Matroska's muxer cannot express.
    private(set) var trimmedPacket: Int?

    /// Frames in the first packet.
    private(set) var packetFrames: Int64 = 0
    /// The parts of the packets that are sound, in frames of all packets; empty unless the source has several.
    private(set) var parts: [Range<Int64>] = []
    /// The digest of the packets' bytes; `nil` unless it was asked for.
    let digest: MessageDigest?
    /// The codec configuration for the container's header, if the source repeats it in each packet.
    private(set) var configuration: [UInt8]?

    private let muxer: Muxer
    /// Whether each packet of the source begins with an ADTS header, which the output does not hold.
    private let dropsADTSHeaders: Bool
    private let format: ResolvedFormat
    /// How the output's container marks the packets, and what it can state about them.
    private let traits: CopyTraits
    private let source: any PacketSource
    private let track: Track
    private let begin: (PacketCopy) throws -> Void
    /// Leading packets that hold only priming. They wait because the header needs the total priming.
    private var held: [HeldPacket] = []
    private var hasBegun = false
    private var rawFrames: Int64 = 0
    private var trailingPadding = 0
    private var writtenPackets = 0
    /// In 1/256 dB.
    private let opusGain: Int
    /// Whether the source has its channels in another order than outputs state.
    private let isReordered: Bool

    private final class HeldPacket {
        var packet: Packet

        init(_ packet: consuming Packet) { self.packet = packet }
    }

    /// More packets than any encoder's delay; a source with more has no sound.
    private static let heldLimit = 64

    /// `begin` writes the header, once everything that it needs is known.
    init(
        of packets: any PacketSource,
        as format: ResolvedFormat,
        into muxer: Muxer,
        digests: Bool,
        begin: @escaping (PacketCopy) throws -> Void
    ) {
        let source = packets.described
        self.source = packets
        digest = digests ? MessageDigest(.md5) : nil
        track = source.track
        self.format = format
        let traits = format.rules.copying(format.codec)
        self.traits = traits
        dropsADTSHeaders = source.demuxer.rules.packets.beginWithADTSHeaders && !traits.keepADTSHeaders
        opusGain = track.codec.gain(of: source.demuxer.streams[source.track.index])
        isReordered = source.demuxer.speakers[source.track.index]?.channels != nil
        self.muxer = muxer
        self.begin = begin
    }

    func append(_ packet: inout Packet) throws {
        if !hasBegun {
            let (start, _) = packet.skip
            if packetFrames == 0 { packetFrames = packet.duration }
            priming += Int64(start)
            if start > 0, start == Int(packet.duration), held.count < Self.heldLimit {
                var kept = try Packet()
                kept.take(&packet)
                held.append(HeldPacket(kept))
                return
            }
            try beginOutput(with: packet)
        }
        try write(&packet)
    }

    /// Throws if there was no sound at all.
    func finish() throws {
        guard hasBegun else {
            throw MediaError(.emptyOutput, at: .finish, "the source contains no audio packets", stream: track.index)
        }
    }

    private func beginOutput(with packet: borrowing Packet) throws {
        try checkCarried(packet.skip)
        if traits.loseOpusGain, opusGain != 0 { throw refusal("its header states a gain, which would be lost") }
        if isReordered { throw refusal("its channels are in another order than the output would state") }
        if packet.skip.start > 0, traits.marks == .eitherEnd { trimmedPacket = held.count }
        hasBegun = true
        if dropsADTSHeaders { configuration = try adtsHeader(of: packet).configuration }
        try begin(self)
        for one in held { try write(&one.packet) }
        held.removeAll()
    }

    private func write(_ packet: inout Packet) throws {
        let frames = packet.duration
        let (start, end) = packet.skip
        let sound = frames - Int64(start) - Int64(end)
        try checkCarried(packet.skip)
        try checkLength(frames, isShort: end > 0)
        packet.setTime(rawFrames - priming)
        if source.hasParts, sound > 0 { notePart(rawFrames + Int64(start), lasting: sound) }
        rawFrames += frames
        soundFrames += sound
        try mark(&packet, start, end)
        writtenPackets += 1
        if let configuration {
            let header = try adtsHeader(of: packet)
            guard header.configuration == configuration else {
                throw refusal("its rate or its channels change in the middle, and the output states them once")
            }
            packet.dropFirst(header.byteCount)
        }
        if let digest { packet.withBytes { digest.update($0) } }
        try muxer.write(&packet)
    }

    private func notePart(_ start: Int64, lasting frames: Int64) {
        if let last = parts.last, last.upperBound == start {
            parts[parts.count - 1] = last.lowerBound..<(start + frames)
        } else {
            parts.append(start..<(start + frames))
        }
    }

    private func adtsHeader(of packet: borrowing Packet) throws -> ADTSHeader {
        if let header = packet.withBytes({ ADTSHeader($0) }) { return header }
        throw refusal("its frames define their own channel layout")
    }

    // MARK: Side data

    private func mark(_ packet: inout Packet, _ start: Int, _ end: Int) throws {
        switch traits.marks {
        case .eitherEnd: try setEnd(max(start, end), of: &packet)
        case .end: try setEnd(end, of: &packet)
        case .endBehindFirst: try setEnd(writtenPackets == 0 ? 0 : end, of: &packet)
        case .lameTag:
            trailingPadding = end > 0 ? trailingPadding + end : 0
            try packet.setSkip(start: Int(priming), end: trailingPadding)
        case .duration, .durationOnPages:
            // Within the output, padding is between two parts that are played.
            if source.isInLastSource { packet.duration -= Int64(end) }
            if traits.marks == .durationOnPages, writtenPackets == 2 { try muxer.flush() }
        }
    }

    private func setEnd(_ end: Int, of packet: inout Packet) throws {
        if end > 0 || packet.hasSkip { try packet.setSkip(start: 0, end: end) }
    }

    // MARK: What a container cannot store

    private func checkCarried(_ skip: (start: Int, end: Int)) throws {
        guard skip.start > 0 || skip.end > 0 || (!hasBegun && priming > 0) else { return }
        switch traits.trims {
        case .sixteenBits:
            if priming > 0xFFFF { throw refusal("it has \(Plural.count(priming, "priming frame"))") }
        case .oneEnd:
            if skip.start > 0, skip.end > 0 {
                throw refusal("one packet has both priming and padding")
            }
        case .lameTag:
            if priming < Int64(MP3.decoderDelay) || priming > Int64(MP3.decoderDelay + 4095) {
                throw refusal("the LAME tag cannot store \(Plural.count(priming, "priming frame"))")
            }
        case .none:
            throw refusal("it has priming or padding")
        }
    }

    private func checkLength(_ frames: Int64, isShort: Bool) throws {
        guard traits.needEqualPackets else { return }
        if frames > packetFrames || (rawFrames % packetFrames != 0) {
            throw refusal("its packets differ in length")
        }
    }

    private func refusal(_ reason: String) -> MediaError {
        MediaError(
            .passthroughRefused,
            at: .write,
            "\(format.container.title) cannot hold these packets unchanged: \(reason)",
            stream: track.index
        )
    }
}

extension ResolvedFormat {
    /// The format of a copy of `track`, with its actual codec; `nil` for codecs that are not supported for writing.
    func native(to track: Track) -> ResolvedFormat? {
        track.codec.native(self, to: track.codecName)
    }
}
