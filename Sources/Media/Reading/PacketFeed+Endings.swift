import Conversion

/// Ends that look as if something were missing, and nothing is.
extension PacketFeed {
    /// Frames of sound in the whole source, of which `frames` were heard up to here: as many for each byte as before.
    func heardFrames(_ frames: Int64, isAtEnd: Bool) -> Int64 {
        guard !isAtEnd, let size = demuxer.source.size, let first = firstPlace, lastPlace > first, size > lastPlace
        else { return frames }
        return Int64(saturating: Double(frames) * (Double(size - first) / Double(lastPlace - first)))
    }

    /// Whether the header of an MP3 counts its own frame among those of sound.
    var headerCountsItself: Bool { demuxer.framed?.headerCountsItself == true }

    /// What a successful reading has to tell of the source; ask at its end.
    var remarks: [Remark] {
        var remarks: [Remark] = []
        if let bytes = partialFrameBytes {
            let detail = "the source ends with \(bytes) bytes of an incomplete frame, which was left out"
            remarks.append(Remark(.partialFrame, detail))
        }
        if demuxer.streamed != nil {
            let detail = "the header states no length, so the sound was read up to the end of the source"
            remarks.append(Remark(.headerLengthIgnored, detail))
        }
        return remarks
    }

    /// Bytes of a last frame that is not all there, where no sound that was promised is missing with it.
    var partialFrameBytes: Int64? { demuxer.framed?.partialFrameBytes ?? partialPacketBytes }

    /// Whether libav's parser alone walks the units of the stream, and leaves one out of which the end is missing.
    var isBareMLP: Bool { demuxer.name == "truehd" || demuxer.name == "mlp" }

    /// Whether `packet` is the beginning of a frame of a bare stream. Files never give one, since their frames are
    /// walked here; libav's parser on a pipe does, at the end.
    func isPartialFrame(_ packet: borrowing Packet) -> Bool {
        guard demuxer.framed == nil, let syntax = FrameSyntax(demuxer: demuxer.name) else { return false }
        return packet.withBytes { bytes in
            guard bytes.count >= 8 else { return false }
            let head = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return syntax.header(head).map { $0.bytes > bytes.count } ?? false
        }
    }
}
