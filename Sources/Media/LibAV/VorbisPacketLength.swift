import CLibAV
import Glibc

/// Reads how many frames a Vorbis packet holds, which the packet before it decides as well.
final class VorbisPacketLength {
    private let context: OpaquePointer

    private init(adopting context: OpaquePointer) { self.context = context }

    deinit {
        var doomed: OpaquePointer? = context
        av_vorbis_parse_free(&doomed)
    }

    /// For the stream that `encoder` makes.
    static func open(_ encoder: borrowing Encoder) throws -> VorbisPacketLength {
        let made = encoder.context.pointee
        guard let context = av_vorbis_parse_init(made.extradata, made.extradata_size) else {
            throw LibAVError("av_vorbis_parse_init", -EINVAL)
        }
        return VorbisPacketLength(adopting: context)
    }

    /// Call once for each packet, in order.
    func frames(in packet: borrowing Packet) -> Int {
        Int(av_vorbis_parse_frame(context, packet.pointer.pointee.data, packet.pointer.pointee.size))
    }
}
