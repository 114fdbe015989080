import Conversion

/// Skipping ahead without decoding.
extension PacketFeed {
    /// Moves towards `frame` without decoding, as far as positions stay exact; `nil` if it did not move.
    ///
    /// `decoded` and `frame` count from the start of the source, priming included. So does the result: the frame
    /// that the decoder gives next, early enough for its state to have settled by `frame`. The contents of
    /// `scratch` are undefined afterwards.
    ///
    /// `index` gets marks on the way. `clock` is the clock at `decoded`.
    mutating func skip(
        from decoded: Int64,
        to frame: Int64,
        using scratch: inout Packet,
        _ index: inout SeekIndex?,
        _ clock: TrackClock
    ) throws -> Int64? {
        guard maySkip, !counts.isBroken, let place = counts.place, let preroll else { return nil }
        // Damage is found only by decoding everything. PCM can only lack its end.
        guard codec.isPCM || !bearsDamage, frame - place > max(preroll * 2, Self.leastSkip) else { return nil }
        // Counting by packets works only if all frames that they promised came out, or are held back.
        guard (0...codec.heldBackFrames).contains(place - decoded) else { return nil }
        if demuxer.source.isSeekable, frame - place > Self.leastJump,
            let landed = try jump(to: frame - preroll, using: &scratch)
        {
            index?.noteJump()
            return landed
        }
        return try scan(to: frame - preroll, using: &scratch, &index, clock)
    }

    /// Reads packets without decoding them.
    private mutating func scan(
        to frame: Int64,
        using scratch: inout Packet,
        _ index: inout SeekIndex?,
        _ clock: TrackClock
    ) throws -> Int64? {
        var hasMoved = false
        var last: Int64 = 0
        while let before = counts.place {
            try mark(at: before, &index, clock)
            guard try next(into: &scratch) else { return hasMoved ? before - padding(inLast: last) : nil }
            if counts.isBroken { throw SkipFailure() }
            let start = try clockPlace(of: scratch, counted: before)
            guard let frames = counts.frames, start + frames <= frame, scratch.isPlain, nextLink == nil else {
                // Of a packet that fills the window, the decoder gives nothing, and so drops nothing.
                let filling = codec.firstFillsWindow ? (counts.frames ?? 0) - Int64(scratch.skip.end) : 0
                putBack(&scratch, at: before)
                gaps.skipNext(hasMoved && codec.firstFillsWindow)
                return hasMoved ? before + max(0, filling) : nil
            }
            index?.note(scratch, at: before)
            counts.move(to: start + frames)
            (hasMoved, last) = (true, frames)
        }
        return hasMoved ? counts.place : nil
    }

    /// Marks the place before the next packet, at `frame` of the decoded count, if a mark is of use there.
    private mutating func mark(at frame: Int64, _ index: inout SeekIndex?, _ clock: TrackClock) throws {
        guard index != nil else { return }
        var clock = clock
        clock.jump(to: frame)
        guard index!.wants(clock.place, at: frame), let state = try stateBeforeNext() else { return }
        if pages?.isChained == true { return index!.stop() }
        index!.add(ahead, at: frame, clock, DamageJournal.State(), state)
    }

    /// The first frame of a skipped packet. A loss before the packet moves it in every damage mode.
    private mutating func clockPlace(of packet: borrowing Packet, counted: Int64) throws -> Int64 {
        let lost = arrival.loss?.frames ?? 0
        let start = counted + lost
        guard gaps.isOn else { return start }
        let position = GapWatch.Position(
            frame: clockFrame(of: packet),
            decoded: start,
            usual: counts.frames ?? 0,
            isSuspect: arrival.isSuspect
        )
        return gaps.place(of: position, lost: lost)
    }

    /// Seeks in the file if the place of each frame is certain; otherwise `nil`.
    private mutating func jump(to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        switch traits.jump {
        case .never: nil
        case .byBytes: codec.isPCM ? try jumpByBytes(to: frame) : nil
        case .byIndex: try jumpByIndex(to: frame, using: &scratch)
        case .byFrameNumber: try jumpByFrameNumber(to: frame, using: &scratch)
        }
    }

    /// In PCM, everything between header and trailer is samples of one size.
    private mutating func jumpByBytes(to frame: Int64) throws -> Int64? {
        guard let first = counts.first.place, stream.blockAlign > 0, let size = demuxer.source.size,
            frame < (size - first) / Int64(stream.blockAlign)
        else { return nil }
        lookAhead.isHeld = false
        try demuxer.seek(toByte: first + frame * Int64(stream.blockAlign))
        counts.move(to: frame)
        return frame
    }

    /// Seeks by the sample table, which states place and time of each packet, as far as the codec confirms it.
    private mutating func jumpByIndex(to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        guard let first = counts.first.time, let place = counts.place, let length = counts.frames,
            let now = stream.ticks(exactly: place, rate: track.sampleRateHz).flatMap(Plausible.ticks),
            let then = stream.ticks(exactly: frame, rate: track.sampleRateHz).flatMap(Plausible.ticks),
            let step = stream.ticks(exactly: length, rate: track.sampleRateHz).flatMap(Plausible.ticks),
            let time = try demuxer.indexedTime(
                of: stream,
                from: first + now,
                upTo: first + then,
                inStepsOf: codec.isPCM ? nil : step
            )
        else { return nil }
        lookAhead.isHeld = false
        try demuxer.seek(track.index, to: time)
        // libav may land a little earlier, by an offset that it applies itself.
        guard try next(into: &scratch), let reached = scratch.timestamp, reached >= first + now, reached <= time,
            scratch.isPlain, let landed = stream.exactFrames(reached - first, rate: track.sampleRateHz)
        else { throw SkipFailure() }
        putBack(&scratch, at: landed)
        return landed
    }

    /// Seeks by the number in each frame, which is covered by the checksum that decoding verifies.
    private mutating func jumpByFrameNumber(to frame: Int64, using scratch: inout Packet) throws -> Int64? {
        guard let numbers, let first = numbers.first, let block = numbers.packetFrames, !isMisled, areInOrder(numbers)
        else { return nil }
        lookAhead.isHeld = false
        // The last frame may be shorter, and libav then computes a wrong time from its number. libav 7.1 recognises a
        // frame only by the ten that follow it, and refuses to seek to one near the end.
        guard
            try [1, 16].contains(where: { blocks in
                try demuxer.follow(.time(first + frame - Int64(blocks * block)), of: track.index)
            })
        else { throw SkipFailure() }
        counts.forgetOrder()
        guard try next(into: &scratch), let landed = numbers.place(of: scratch), landed <= frame, landed >= 0
        else { throw SkipFailure() }
        putBack(&scratch, at: landed)
        return landed
    }

    private mutating func areInOrder(_ numbers: FrameNumbers) -> Bool {
        if let numbersAreInOrder { return numbersAreInOrder }
        let areInOrder = numbers.areInOrder(in: demuxer.source, from: counts.first.place, track)
        numbersAreInOrder = areInOrder
        return areInOrder
    }

    /// A skip reached data whose position is uncertain. The caller must read from the start.
    struct SkipFailure: Error {}

    private mutating func putBack(_ packet: inout Packet, at frame: Int64) {
        ahead.take(&packet)
        lookAhead.isHeld = true
        counts.move(to: frame)
    }

    /// Shorter distances are decoded, which costs less than the search.
    private static let leastSkip: Int64 = 1 << 14
    /// Shorter distances are read, which costs less than discarding the buffer.
    private static let leastJump: Int64 = 1 << 17

    /// Frames that a decoder needs before its output equals the output without the skip; `nil` if it never does.
    var preroll: Int64? { codec.preroll(packetFrames: max(Int(counts.frames ?? 0), stream.frameSize)) }
}
