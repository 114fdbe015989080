import Conversion

/// How the source ends: where it should, and what only looks like a loss.
extension PacketFeed {
    /// Whether another stream follows the first in this source.
    private var isChainedOrJoined: Bool { pages?.isChained == true || isJoined }

    /// Whether another file follows the first in this source.
    var isJoined: Bool { numbers?.areJoined == true }

    /// The frames that the headers of joined files promise in all; `nil` for a single file, and if one does not say.
    var joinedFrames: Int64? { numbers?.joinedFrames }

    /// Whether data after the promised length is not sound.
    var endsWhereItPromised: Bool { ends.endsWhereItPromised(isJoined: isChainedOrJoined) }

    /// Whether what follows the stated length can only be an encoder's padding.
    var isCutWherePaddingBegins: Bool { demuxer.rules.movie != nil && soundEnd != nil }

    /// Where the padding of trusted packets begins, `ahead` of which the container's clock has run; `nil` if it would be more
    /// than a second, which no encoder pads by.
    ///
    /// The stated end may count the gaps of that clock: it does if the packets do not reach it.
    func paddingStart(_ ahead: Int64) -> Int64? {
        guard isCutWherePaddingBegins, let soundEnd, let held = indexedFrames, held > 0 else {
            return soundEnd.map { $0 - ahead }
        }
        let last = counts.frames ?? Int64(stream.frameSize)
        let whole = held + last - Int64(track.primingFrames ?? 0) - ahead
        let start = soundEnd <= whole ? soundEnd : soundEnd - ahead
        return whole - start > max(Int64(track.sampleRateHz), Int64(track.paddingFrames ?? 0)) ? nil : start
    }

    /// Frames from the first packet to the last one by libav's index; `nil` without one.
    private var indexedFrames: Int64? {
        guard let first = stream.indexEntry(0), let last = stream.lastIndexEntry else { return nil }
        let (ticks, overflows) = last.timestamp.subtractingReportingOverflow(first.timestamp)
        return overflows ? nil : stream.nearestFrames(ticks, rate: track.sampleRateHz)
    }

    /// Whether nothing that was promised is missing after `frames`, and no sound can follow.
    func isComplete(after frames: Int64) -> Bool {
        ends.isComplete(after: frames, isJoined: isChainedOrJoined, joinedFrames: joinedFrames)
    }

    /// Whether the source was read to its end, so that the missing sound is missing from the source itself.
    var isAtEndOfSource: Bool {
        mutating get { demuxer.rules.isReadToEnd(demuxer.source) || endsBeforeItsHeaderSays }
    }

    /// Whether the source stops without the end that its container requires.
    var endsUnmarked: Bool {
        mutating get { demuxer.rules.lacksEnd(demuxer.source) || endsBeforeItsHeaderSays }
    }

    /// Whether the container's own size or count extends past the end of the source. `false` for PCM in WAV and
    /// AIFF, whose length is known to the frame and is checked elsewhere.
    var endsBeforeItsHeaderSays: Bool {
        mutating get {
            let (demuxer, stream) = (demuxer, stream)
            return ends.isCut {
                // The size of a pipe is not known before its end.
                demuxer.source.endSize == nil ? nil : demuxer.rules.isCut(demuxer.source, stream)
            }
        }
    }

    /// Whether the source shows that its end is missing: by the size or the mark of its container, or by an incomplete
    /// frame. The length of PCM in a header is one of bytes.
    var isCut: Bool {
        mutating get {
            codec.isPCM || partialFrameBytes != nil || endsUnmarked || endsBeforeItsHeaderSays || isIndexCut
        }
    }

    /// Whether the last packet of libav's index lies behind the end of the source.
    private var isIndexCut: Bool {
        guard let last = stream.lastIndexEntry, let end = demuxer.source.endSize else { return false }
        return last.place > end - Int64(last.byteCount)
    }

    /// Whether the undecodable rest of a packet is only the byte that pads odd chunks to an even size. SoX counts it as
    /// sound of GSM.
    func isPadding(_ packet: borrowing Packet) -> Bool {
        guard stream.blockAlign > 1 else { return false }
        return codec.isPCM ? packet.byteCount % stream.blockAlign == 1 : packet.byteCount == 1
    }

    /// Estimates the frames of sound in the whole source from the `frames` heard so far, at the same frames per byte.
    func heardFrames(_ frames: Int64, isAtEnd: Bool) -> Int64 {
        let last = counts.lastPlace
        guard !isAtEnd, let size = demuxer.source.size, let first = counts.first.place, last > first, size > last else {
            return frames
        }
        return Int64(saturating: Double(frames) * (Double(size - first) / Double(last - first)))
    }

    /// Whether the header of an MP3 counts its own frame as sound.
    var headerCountsItself: Bool { demuxer.framed?.headerCountsItself == true }

    // MARK: Sound that the header does not count

    /// Throws if a pipe has let pass sound or silence that libav leaves out. Call it at the end of the source.
    func refuseHiddenSound() throws {
        guard track.edits == nil, demuxer.rules.hasHiddenSound(demuxer.source) else { return }
        throw MediaError(
            .sourceNotSeekable,
            at: .decode,
            "silence, repetitions or other sample rates follow far from the start of the pipe, and were not played",
            stream: track.index,
            hint: "read it from a file"
        )
    }

    /// The loss of what the header does not count, if that may be more than a second of sound, as far as it is known
    /// before the sound was read.
    var knownUncountedSound: Loss? {
        guard let extent = demuxer.extent, let bytes = extent.knownUncountedBytes else { return nil }
        return extent.loss(of: bytes, stream, rate: track.sampleRateHz)
    }

    /// The same once the sound was read. Reads the rest of a pipe.
    var uncountedSound: Loss? {
        guard let extent = demuxer.extent else { return nil }
        return extent.loss(of: extent.uncountedBytes(), stream, rate: track.sampleRateHz)
    }

    // MARK: Remarks

    /// Remarks about the source after a successful read. Complete only at its end.
    var remarks: [Remark] {
        var remarks: [Remark] = track.lengthRemark.map { [$0] } ?? []
        if let bytes = partialFrameBytes {
            let detail =
                "the source ends with \(Plural.count(bytes, "byte")) of an incomplete frame, which was left out"
            remarks.append(Remark(.partialFrame, detail))
        }
        switch demuxer.extent?.meaning {
        case .unknown:
            let detail = "the header states no length, so the sound was read up to the end of the source"
            remarks.append(Remark(.headerLengthIgnored, detail))
        case .ignored:
            let detail = "the header counts less than the source holds, so the sound was read up to the end"
            remarks.append(Remark(.headerLengthIgnored, detail))
        case .wrapped:
            let detail = "the sound is longer than the header can count, so its length is that of the file"
            remarks.append(Remark(.headerLengthIgnored, detail))
        case .counted:
            guard let bytes = demuxer.extent?.uncountedBytes(), bytes > 0 else { break }
            let detail =
                "\(Plural.count(bytes, "byte")) behind the sound that the header counts \(Plural.be(bytes)) no chunk and "
                + "no tag, and \(Plural.past(bytes)) left out"
            remarks.append(Remark(.uncountedBytes, detail, count: bytes))
        case nil: break
        }
        return remarks
    }

    /// Bytes of an incomplete last frame, if no promised sound is missing with it.
    var partialFrameBytes: Int64? { demuxer.framed?.partialFrameBytes ?? ends.partialBytes }

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
