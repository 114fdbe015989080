import Conversion

/// Passes packets to the muxer, counts them, and marks the frames that players must drop, if the container needs marks.
final class PacketSink {
    /// Frames of sound and encoder delay in all packets so far, as the encoder counts them.
    private(set) var durations: Int64 = 0

    private let muxer: Muxer
    private let marking: Marking
    private var packetCount = 0
    private var trailingPadding = 0

    /// How the padding of packets is marked.
    enum Marking {
        /// By the encoder, or in the container's own tables.
        case none
        /// By this class, packet by packet, for Matroska: libav marks only Opus. libav's muxer cannot trim a
        /// packet's start, so the delay fills `delayPackets` whole packets, which are dropped.
        case packets(frameSize: Int, delayPackets: Int)
        /// As `packets`, for Vorbis, whose packets differ in length and whose first packet yields no sound.
        case vorbisPackets(VorbisPacketLength)
        /// Opus counts at 48 kHz whatever the input rate, but libav marks at the input rate.
        case opusPackets(ticksPerFrame: Int)
        /// libav writes the padding found at the last packet into the LAME tag, but the
        /// padding can start before that packet.
        case lameTag
        /// libav reads a short Ogg Vorbis file correctly only if the sound does not begin on the last page.
        case oggVorbisPages
    }

    init(_ muxer: Muxer, marking: Marking) {
        self.muxer = muxer
        self.marking = marking
    }

    /// Writes `packet`, whose last `padding` frames are not sound although the encoder counts them.
    func take(_ packet: inout Packet, padding: Int) throws {
        if padding > 0 { packet.duration -= Int64(padding) }
        let sound = packet.duration
        durations += sound
        if packet.byteCount > 0 {
            try mark(&packet, sound: Int(sound), padding: padding)
            packetCount += 1
        }
        try muxer.write(&packet)
    }

    private func mark(_ packet: inout Packet, sound: Int, padding: Int) throws {
        switch marking {
        case .none:
            if padding > 0 { try packet.setSkip(start: 0, end: padding) }
        case .packets(let frameSize, let delayPackets):
            try setEnd(packetCount < delayPackets ? frameSize : frameSize - sound, of: &packet)
        case .vorbisPackets(let length):
            let frames = length.frames(in: packet)
            try setEnd(packetCount == 0 ? 0 : max(0, frames - sound), of: &packet)
        case .opusPackets(let ticksPerFrame):
            try setEnd(packet.skip.end * ticksPerFrame, of: &packet)
        case .lameTag:
            let end = packet.skip.end
            trailingPadding = end > 0 ? trailingPadding + end : 0
            if end > 0 { try packet.setSkip(start: packet.skip.start, end: trailingPadding) }
        case .oggVorbisPages:
            if packetCount == 2 { try muxer.flush() }
        }
    }

    private func setEnd(_ end: Int, of packet: inout Packet) throws {
        if end > 0 || packet.hasSkip { try packet.setSkip(start: 0, end: end) }
    }
}
