import CLibAV
import Glibc

/// What libav's MP4 muxer writes, kept in memory: it is shown the first and the last packet only, and its moov is then
/// the pattern for the real one. See `MP4Assembler`.
final class MP4Template {
    private(set) var output: UnsafeMutablePointer<AVIOContext>?
    private var last: Packet
    private var count: Int64 = 0
    /// Where the last packet that libav was shown begins.
    private var shownUpTo: Int64 = 0

    /// libav refuses steps between packets that do not fit 31 bits.
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

    /// The file type box that libav has written.
    func fileType() throws -> [UInt8] {
        try box("ftyp")
    }

    /// Takes the packet's content; shows libav the first one.
    func take(_ packet: inout Packet, _ context: UnsafeMutablePointer<AVFormatContext>?) throws {
        if count == 0 {
            shownUpTo = packet.pointer.pointee.dts
            try check(av_write_frame(context, packet.pointer), "av_write_frame")
        }
        count += 1
        last.take(&packet)
    }

    /// Shows libav the last packet, lets it finish, and returns its moov.
    func moov(_ context: UnsafeMutablePointer<AVFormatContext>?) throws -> [UInt8] {
        if count > 1 {
            while last.pointer.pointee.dts - shownUpTo > Self.longestStep { try showNothing(context) }
            try check(av_write_frame(context, last.pointer), "av_write_frame")
        }
        try check(av_write_trailer(context), "av_write_trailer")
        return try box("moov")
    }

    /// A packet of one byte on the way to the last one.
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

    /// A whole box, its header included, out of what libav has written so far.
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
