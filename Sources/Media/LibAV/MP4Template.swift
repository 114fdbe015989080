import CLibAV
import Glibc

/// Keeps the output of libav's MP4 muxer in memory. It passes libav only the first and the last packet, and libav's
/// `moov` box is then the template for the real one. See `MP4Assembler`.
final class MP4Template {
    private(set) var output: UnsafeMutablePointer<AVIOContext>?
    private var last: Packet
    private var count: Int64 = 0
    /// The decoding time of the last packet passed to libav.
    private var shownUpTo: Int64 = 0

    /// libav rejects steps between packets that do not fit 31 bits.
    private static let longestStep: Int64 = 1 << 30

    init() throws {
        last = try Packet()
        try check(avio_open_dyn_buf(&output), "avio_open_dyn_buf")
    }

    deinit {
        var bytes: UnsafeMutablePointer<UInt8>?
        if let output { avio_close_dyn_buf(output, &bytes) }
        av_free(bytes)
    }

    /// The `ftyp` box that libav has written.
    func fileType() throws -> [UInt8] {
        try box("ftyp")
    }

    /// Takes the packet's content, and passes the first packet on to libav.
    func take(_ packet: inout Packet, _ context: UnsafeMutablePointer<AVFormatContext>?) throws {
        if count == 0 {
            shownUpTo = packet.pointer.pointee.dts
            try check(av_write_frame(context, packet.pointer), "av_write_frame")
        }
        count += 1
        last.take(&packet)
    }

    /// Passes the last packet to libav, has it write the trailer, and returns its `moov` box.
    func moov(_ context: UnsafeMutablePointer<AVFormatContext>?) throws -> [UInt8] {
        if count > 1 {
            while last.pointer.pointee.dts - shownUpTo > Self.longestStep { try showNothing(context) }
            try check(av_write_frame(context, last.pointer), "av_write_frame")
        }
        try check(av_write_trailer(context), "av_write_trailer")
        return try box("moov")
    }

    /// Passes libav a packet of one byte, `longestStep` after the one before, to bridge
    /// the distance to the last packet.
    private func showNothing(_ context: UnsafeMutablePointer<AVFormatContext>?) throws {
        let packet = try Packet()
        try check(av_new_packet(packet.pointer, 1), "av_new_packet")
        shownUpTo += Self.longestStep
        packet.pointer.pointee.stream_index = last.pointer.pointee.stream_index
        packet.pointer.pointee.pts = shownUpTo
        packet.pointer.pointee.dts = shownUpTo
        packet.pointer.pointee.duration = 1
        packet.pointer.pointee.data[0] = 0
        try check(av_write_frame(context, packet.pointer), "av_write_frame")
    }

    /// A whole box, header included, from libav's output so far.
    private func box(_ name: String) throws -> [UInt8] {
        var start: UnsafeMutablePointer<UInt8>?
        let count = Int(avio_get_dyn_buf(output, &start))
        let bytes = UnsafeBufferPointer(start: start, count: count)
        var place = 0
        while place + 8 <= count {
            let size = Int(bigEndian(bytes[place..<(place + 4)]))
            if bytes[(place + 4)..<(place + 8)].elementsEqual(Array(name.utf8)), place + size <= count {
                return Array(bytes[place..<(place + size)])
            }
            guard size >= 8 else { break }
            place += size
        }
        throw LibAVError("MP4 template", -EINVAL)
    }
}
