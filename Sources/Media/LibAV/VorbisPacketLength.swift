import CLibAV
import Glibc

/// Computes the length of a Vorbis packet, which also depends on the packet before it.
final class VorbisPacketLength {
    private let context: OpaquePointer

    private init(adopting context: OpaquePointer) { self.context = context }

    deinit {
        var doomed: OpaquePointer? = context
        av_vorbis_parse_free(&doomed)
    }

    /// For the stream that `encoder` produces.
    static func open(_ encoder: borrowing Encoder) throws -> VorbisPacketLength {
        try open(encoder.context.pointee.extradata, encoder.context.pointee.extradata_size)
    }

    /// For a stream in a container.
    static func open(_ stream: InputStream) throws -> VorbisPacketLength {
        let parameters = stream.pointer.pointee.codecpar.pointee
        return try open(parameters.extradata, parameters.extradata_size)
    }

    private static func open(_ header: UnsafePointer<UInt8>?, _ size: Int32) throws -> VorbisPacketLength {
        guard let context = av_vorbis_parse_init(header, size) else {
            throw LibAVError("av_vorbis_parse_init", -EINVAL)
        }
        return VorbisPacketLength(adopting: context)
    }

    func frames(in bytes: UnsafeRawBufferPointer) -> Int {
        Int(av_vorbis_parse_frame(context, bytes.bindMemory(to: UInt8.self).baseAddress, Int32(bytes.count)))
    }

    /// Call it once per packet, in order.
    func frames(in packet: borrowing Packet) -> Int {
        Int(av_vorbis_parse_frame(context, packet.pointer.pointee.data, packet.pointer.pointee.size))
    }
}
