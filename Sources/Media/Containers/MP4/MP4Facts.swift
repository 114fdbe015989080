import Conversion

/// The length of a track according to the boxes of an MP4 or QuickTime file.
///
/// libav states the length of an edit in ticks of the track, but the file states it in ticks of the movie, which
/// are often 1/600 or 1/1000 of a second. A length that looks exact may be rounded by a hundred frames.
enum MP4Facts {
    /// `nil` if the boxes are no more precise than libav.
    static func read(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        let source = demuxer.source
        let rate = Int64(stream.sampleRateHz)
        // Of a pipe, the boxes may no longer be there. Whether fragments follow was noted when they passed.
        let trail = source.onlooker as? BoxTrail
        if !source.isSeekable, trail?.isFragmented != false { return inFragments(stream, in: source) }
        guard rate > 0, rate < 1 << 22, let movie = source.box("moov", in: source.boxRange),
            let movieScale = source.box("mvhd", in: movie).flatMap({ header(source, $0) })?.scale, movieScale > 0,
            let track = source.track(stream.containerID, in: movie), let media = source.box("mdia", in: track),
            let (mediaScale, statedLength) = source.box("mdhd", in: media).flatMap({ header(source, $0) }),
            mediaScale > 0
        else { return nil }
        if source.box("mvex", in: movie) != nil {
            return inFragments(stream, in: source)
        }
        let durations = stream.codec.durations(of: stream)
        let table: TimeTable? = durations.flatMap { durations in
            TimeTable(source, in: media, unit: durations.unit, rate: rate, scale: mediaScale)
        }
        // What is no longer there of a pipe may say that the packets are the clock.
        if table == nil, durations != nil, !source.isSeekable { return nil }
        let played: Played? = table.flatMap { packets(in: $0, stream, mediaScale) }
        let list = MP4Edits(source, track)
        let mediaLength = list?.length(ofMedia: statedLength, mediaScale, movieScale) { table?.ticks } ?? statedLength
        let total = played?.frames ?? mediaLength * rate / mediaScale
        if let refusal = list?.refusalOfRate { return ContainerFacts(refusal: refusal) }
        if let list, list.isTimeLine {
            if list.isIncomplete {
                let detail = "not all parts of the edit list can be read"
                return ContainerFacts(refusal: source.isSeekable ? .editList(detail) : listTooFar)
            }
            guard let name = MP4Edits.nameOfList(source, track), source.isPatched(at: name) else {
                return ContainerFacts(refusal: listTooFar)
            }
            let pieces = list.pieces(of: total, rate: rate, mediaScale: mediaScale, movieScale: movieScale)
            // The last block of a lossless codec may be shorter than its table states.
            let whole: Int64? = table?.isUniform == true && stream.isLossless ? durations?.whole : nil
            let rounding: Int64 = mediaLength * rate % mediaScale == 0 ? 0 : rate / 100
            let tolerance = played.map(\.doubt) ?? (whole ?? 1) - 1 + rounding
            let length: LengthPromise = tolerance == 0 ? .exact(total) : .about(total, tolerance: tolerance)
            guard let edits = EditedTime(pieces, of: length) else {
                return ContainerFacts(refusal: .editList("the edit list is longer than any recording"))
            }
            if edits.frames == 0 { return ContainerFacts(refusal: .editList("the edit list plays nothing")) }
            return ContainerFacts(edits: edits)
        }
        let edits = list.map { $0.lengths(upTo: mediaLength, mediaScale, movieScale) } ?? []
        let editStart = (edits.first?.start ?? 0) * rate / mediaScale
        // Such decoders drop their delay whether the edit list states it or not.
        let start = max(editStart, Int64(stream.codec.delay(of: stream)))
        let tag = GaplessTag(demuxer)
        let readings = tag.map { tag in stream.codec.framesPerCountedFrame(of: stream).map(tag.scaled) } ?? []
        // Without an edit list, no writer says where the sound ends in the last packet.
        let packetFrames = edits.isEmpty ? table.flatMap { table in durations?.whole.map { $0 * table.samples } } : nil
        if let told = readings.first(where: { $0.total == total || $0.total == packetFrames }),
            edits.isEmpty || start == told.priming
        {
            return ContainerFacts(
                droppedFrames: Int(told.priming),
                paddingFrames: Int(told.padding),
                soundFrames: told.frames
            )
        }
        guard let edit = edits.first else {
            // Only the codec shows that there is priming.
            let marked = stream.codec.markedPriming(of: stream, in: source)
            // As with an edit list, the length may leave the priming out.
            let counted: Int64? = marked != nil && played == nil ? table.map { $0.ticks * rate / mediaScale } : nil
            let priming = marked.map(Int64.init) ?? start
            let leavesItOut = counted.map { $0 >= total + priming } ?? false
            let held = leavesItOut ? total + priming : total
            let start = min(held, priming)
            if let tag {
                var facts = played?.facts(from: start) ?? ContainerFacts(soundFrames: held - start)
                // libav would obey the tag.
                facts.droppedFrames = Int(start)
                facts.remark = Remark(
                    .headerLengthIgnored,
                    "the tag iTunSMPB counts \(Plural.count(tag.total, "frame")), but the packets hold \(held), so it "
                        + "was ignored"
                )
                return facts
            }
            if let played { return played.facts(from: start) }
            // If the table states only full blocks, the last block of a lossless codec may still be shorter.
            let isWhole = table?.isUniform == true && stream.isLossless
            let whole: Int64? = isWhole ? stream.codec.durations(of: stream)?.whole : nil
            let rounding: Int64 = mediaLength * rate % mediaScale == 0 ? 0 : rate / 100
            // Of a file, libav states the same length. Of a pipe, it does not show whether that is exact.
            let isExactInPipe = !source.isSeekable && table != nil && rounding == 0
            guard start > 0 || whole != nil || isExactInPipe else { return nil }
            return ContainerFacts(
                droppedFrames: start > 0 ? Int(start) : nil,
                soundFrames: held - start,
                tolerance: (whole ?? 1) - 1 + rounding
            )
        }
        let length = (edit.length * rate + movieScale / 2) / movieScale - (start - editStart)
        let rest = total - start
        // The clock of such a track is rounded as well.
        if let played, length >= min(played.frames, played.stated) - start - rate / movieScale - 1 {
            var facts = played.facts(from: start)
            // libav would obey the tag.
            if tag != nil { facts.droppedFrames = Int(start) }
            return facts
        }
        let rounding = MP4Edits.rounding(rate: rate, movieScale: movieScale)
        // If the edit may cover the whole track within the resolution of its ticks, assume that it does: the track
        // states its end exactly.
        if mediaLength * rate % mediaScale == 0, abs(rest - length) <= rounding, rest > 0 {
            // Writers that shorten the last packet omit its padding from the track's length.
            let told = readings.first { $0.priming == start && $0.frames == rest }
            let padding = told.map { Int($0.padding) }
            return ContainerFacts(droppedFrames: Int(start), paddingFrames: padding, soundFrames: rest)
        }
        let isExact = edit.length * rate % movieScale == 0 && played == nil
        return ContainerFacts(
            droppedFrames: Int(start),
            paddingFrames: isExact ? Int(max(0, rest - length)) : nil,
            soundFrames: max(0, min(length, rest)),
            tolerance: isExact ? 0 : rounding
        )
    }

    /// The sound follows in fragments, so the length known at the start covers only part of it.
    private static func inFragments(_ stream: InputStream, in source: ByteSource) -> ContainerFacts {
        var facts = ContainerFacts(isOpenEnded: true)
        let movie = source.box("moov", in: source.boxRange)
        guard let track = movie.flatMap({ source.track(stream.containerID, in: $0) }) else { return facts }
        // As without fragments, an edit list says more than the mark of an encoder.
        if source.box("edts", in: track) == nil {
            facts.droppedFrames = stream.codec.markedPriming(of: stream, in: source)
        }
        // libav obeys the first edit only.
        let list = MP4Edits(source, track)
        facts.refusal = list?.refusalOfRate
        if list?.isTimeLine == true { facts.refusal = .editList("the edit list plays parts of a movie in fragments") }
        return facts
    }

    private static let listTooFar = ContainerFacts.Refusal(
        code: .sourceNotSeekable,
        stage: .open,
        detail: "the edit list of the track is too far from the start of the pipe",
        hint: "read it from a file"
    )

    /// A track whose sample durations are not whole packets. Its length then follows from its packets.
    private struct Played {
        /// Frames in all packets, as far as known.
        let frames: Int64
        /// The sum of the sample durations in frames, gaps included.
        let stated: Int64
        /// By how much the packets may fall short of `frames`.
        let doubt: Int64

        /// Rounding loses no sound. A stated length beyond all packets comes from gaps, or from a clock that ran fast.
        func facts(from start: Int64) -> ContainerFacts {
            ContainerFacts(
                droppedFrames: start > 0 ? Int(start) : nil,
                soundFrames: max(0, max(frames, stated) - start),
                tolerance: max(0, stated - frames) + doubt,
                endsWithItsPackets: true
            )
        }
    }

    /// `nil` if the sample durations are whole packets.
    private static func packets(
        in table: TimeTable,
        _ stream: InputStream,
        _ scale: Int64
    ) -> Played? {
        guard !table.isSteady else { return nil }
        let rate = Int64(stream.sampleRateHz)
        let stated = table.ticks * rate / scale
        guard let whole = stream.codec.durations(of: stream)?.whole else {
            return Played(frames: stated, stated: stated, doubt: rate / 5 + 4096)
        }
        // The last block of a lossless codec may be shorter than the others.
        return Played(frames: table.samples * whole, stated: stated, doubt: whole - 1)
    }

    // MARK: Boxes

    /// Timescale and length from `mvhd` or `mdhd`, which begin alike.
    static func header(_ source: ByteSource, _ content: Range<Int64>) -> (scale: Int64, length: Int64)? {
        guard let bytes = source.bytes(at: content.lowerBound, count: 32), bytes.count >= 20 else { return nil }
        if bytes[0] == 0 { return (bigEndian(bytes[12..<16]), bigEndian(bytes[16..<20])) }
        guard bytes.count == 32 else { return nil }
        let length = bigEndian(bytes[24..<32])
        return length >= 0 && length < 1 << 40 ? (bigEndian(bytes[20..<24]), length) : nil
    }
}
