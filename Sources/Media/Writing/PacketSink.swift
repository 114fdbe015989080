import Conversion

/// Counts packets on their way into the container and marks, where the container needs it, what players must drop.
final class PacketSink {
    /// Frames of sound and delay in all packets so far, by the encoder's count.
    private(set) var durations: Int64 = 0

    private let muxer: Muxer
    private let marking: Marking
    private var packetCount = 0
    private var trailingPadding = 0

    /// Who says how much of a packet is padding.
    enum Marking {
        /// The encoder itself, or the container's own tables.
        case none
        /// We do, packet by packet, for Matroska: libav marks only Opus. It knows no trim at a packet's start, so the
        /// delay has to fill `delayPackets` whole packets, which are dropped.
        case packets(frameSize: Int, delayPackets: Int)
        /// The same for Vorbis, whose packets differ in length and whose first gives no sound.
        case vorbisPackets(VorbisPacketLength)
        /// Opus counts at 48 kHz whatever went in; libav marks at the rate that went in.
        case opusPackets(ticksPerFrame: Int)
        /// libav writes what it finds at the last packet into the LAME tag, where the padding can reach further back.
        case lameTag
        /// libav reads short Ogg Vorbis right only if the sound begins on another page than the last.
        case oggVorbisPages
    }

    init(_ muxer: Muxer, marking: Marking) {
        self.muxer = muxer
        self.marking = marking
    }

    /// Writes `packet`, whose last `padding` frames are no sound although the encoder counts them.
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
