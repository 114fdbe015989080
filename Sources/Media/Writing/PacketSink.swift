import Conversion

/// Counts packets on their way into the container and marks, where the container needs it, what players must drop.
final class PacketSink {
    /// Frames of sound and delay in all packets so far, by the encoder's count.
    private(set) var durations: Int64 = 0

    private let muxer: Muxer
    private let marking: Marking
    private var isFirst = true

    /// Who says how much of a packet is padding.
    enum Marking {
        /// The encoder itself, or the container's own tables.
        case none
        /// We do, packet by packet: libav marks only Opus for Matroska.
        case packets(frameSize: Int, delay: Int)
        /// The same for Vorbis, whose packets differ in length and whose first gives no sound.
        case vorbisPackets(VorbisPacketLength)
    }

    init(_ muxer: Muxer, marking: Marking) {
        self.muxer = muxer
        self.marking = marking
    }

    func take(_ packet: inout Packet) throws {
        let sound = packet.duration
        durations += sound
        if packet.byteCount > 0 { try mark(&packet, sound: Int(sound)) }
        isFirst = false
        try muxer.write(&packet)
    }

    private func mark(_ packet: inout Packet, sound: Int) throws {
        let padding: Int
        switch marking {
        case .none: return
        case .packets(let frameSize, let delay):
            // Matroska's muxer knows no trim at a packet's start. Its size is noted as one at the end, and
            // `MatroskaPatch` turns the sign around where the packet is not dropped whole.
            padding = isFirst ? min(delay, frameSize) : frameSize - sound
        case .vorbisPackets(let length):
            let frames = length.frames(in: packet)
            padding = isFirst ? 0 : max(0, frames - sound)
        }
        if padding > 0 || packet.hasSkip { try packet.setSkip(start: 0, end: padding) }
    }
}
