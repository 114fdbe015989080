import Conversion

/// Endings that look like a loss but lose nothing.
extension PacketFeed {
    /// Estimates the frames of sound in the whole source from the `frames` heard so far, at the same frames per byte.
    func heardFrames(_ frames: Int64, isAtEnd: Bool) -> Int64 {
        guard !isAtEnd, let size = demuxer.source.size, let first = firstPlace, lastPlace > first, size > lastPlace
        else { return frames }
        return Int64(saturating: Double(frames) * (Double(size - first) / Double(lastPlace - first)))
    }

    /// Whether the header of an MP3 counts its own frame as sound.
    var headerCountsItself: Bool { demuxer.framed?.headerCountsItself == true }

    /// Remarks about the source after a successful read. Complete only at its end.
    var remarks: [Remark] {
        var remarks: [Remark] = []
        if let bytes = partialFrameBytes {
            let detail =
                "the source ends with \(Plural.count(bytes, "byte")) of an incomplete frame, which was left out"
            remarks.append(Remark(.partialFrame, detail))
        }
        if demuxer.streamed != nil {
            let detail = "the header states no length, so the sound was read up to the end of the source"
            remarks.append(Remark(.headerLengthIgnored, detail))
        }
        return remarks
    }

    /// Bytes of an incomplete last frame, if no promised sound is missing with it.
    var partialFrameBytes: Int64? { demuxer.framed?.partialFrameBytes ?? partialPacketBytes }

    /// Whether `packet` is the beginning of an incomplete frame of a bare stream. Only a pipe gives such a packet,
    /// from libav's parser at the end: in files, `FrameWalk` finds the frames.
    func isPartialFrame(_ packet: borrowing Packet) -> Bool {
        guard demuxer.framed == nil, let syntax else { return false }
        return packet.withBytes { bytes in
            guard bytes.count >= 8 else { return false }
            let head = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return syntax.header(head).map { $0.bytes > bytes.count } ?? false
        }
    }
}
