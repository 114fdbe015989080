import CLibAV
import Glibc

/// Reads packets at any places of a source, in the way of libav's demuxers.
struct PlacedPackets {
    private let context: UnsafeMutablePointer<AVIOContext>

    init(_ context: UnsafeMutablePointer<AVIOContext>) { self.context = context }

    enum Answer {
        case filled
        /// The source ends before the packet.
        case ended
        case failed(LibAVError)
    }

    /// Fills `packet` with `count` bytes at `place`. `isPassed` if the packet is not tried again: one beyond the end is
    /// skipped, and one that cannot be read is tried again.
    func read(_ packet: inout Packet, at place: Int64, _ count: Int32) -> (answer: Answer, isPassed: Bool) {
        let reached = avio_seek(context, place, SEEK_SET)
        if reached != place {
            let isEnd = reached == Int64(SLUICE_AVERROR_EOF)
            guard isEnd || avio_feof(context) != 0 else { return (.failed(.invalidData("av_read_frame")), false) }
            if isEnd { return (.ended, true) }
            let result = reached < 0 ? Int32(truncatingIfNeeded: reached) : SLUICE_AVERROR_INVALIDDATA
            return (.failed(LibAVError("av_read_frame", result)), true)
        }
        let result = av_get_packet(context, packet.pointer, count)
        if result == SLUICE_AVERROR_EOF { return (.ended, true) }
        let isPassed = result >= 0 || avio_feof(context) != 0
        if result < 0 { return (.failed(.ofSource("av_read_frame", result)), isPassed) }
        LibAVLog.forget()
        return (.filled, isPassed)
    }
}
