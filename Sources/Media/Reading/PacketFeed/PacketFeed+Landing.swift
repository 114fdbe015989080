import Conversion

/// Returning to a packet that was read before.
extension PacketFeed {
    /// Everything that reading changes, when one packet was read ahead.
    struct State {
        fileprivate let lookAhead: LookAhead
        fileprivate let counts: FrameCount
        fileprivate let gaps: GapWatch
        fileprivate let beside: Beside
    }

    /// What follows the packets beside libav. No container has two of them.
    fileprivate enum Beside {
        case nothing
        case numbers(FrameNumbers)
        case pages(OggPages.State)
        case framed(FramedPackets.State)
    }

    /// Reads one packet ahead and returns the state before it; `nil` if no packet follows.
    mutating func stateBeforeNext() throws -> State? {
        guard try hasMore() else { return nil }
        return State(lookAhead: lookAhead, counts: counts, gaps: gaps, beside: beside)
    }

    private var beside: Beside {
        if let numbers { return .numbers(numbers) }
        if let pages { return .pages(pages.state) }
        if let framed = demuxer.framed { return .framed(framed.state) }
        return .nothing
    }

    /// Restores everything but the packet that was read ahead.
    private mutating func restore(_ state: State) {
        (lookAhead, counts, gaps) = (state.lookAhead, state.counts, state.gaps)
        switch state.beside {
        case .nothing: break
        case .numbers(let known): numbers = known
        case .pages(let known): pages?.state = known
        case .framed(let known): demuxer.framed?.state = known
        }
        lookAhead.isHeld = false
        lookAhead.forgetEnd()
        ends.goOn()
    }

    /// Whether the times of packets count, and not only their order.
    private var needsTimes: Bool { (gaps.isOn && pages == nil && !isMisled) || timesStateFrames }

    /// Seeks to where decoding of `mark` must begin, hands the packets up to the marked one to `warm`, and restores
    /// everything as it was when that packet was read first. It is the next packet then.
    ///
    /// `false` if the demuxer does not find the same packets again. The contents of `scratch` are undefined afterwards.
    mutating func land(
        on mark: SeekMark,
        using scratch: inout Packet,
        warm: (borrowing Packet) throws -> Void
    ) throws -> Bool {
        restore(mark.feed)
        demuxer.source.noteSeek()
        guard try reach(mark.start, using: &scratch) else { return false }
        var count = 0
        while !key(of: scratch).matches(mark.entry, exactTime: needsTimes, anySize: variesInSize) {
            try warm(scratch)
            count += 1
            guard count < Self.mostPackets, try read(into: &scratch) else { return false }
        }
        let (fresh, ownFrames) = (counts, lookAhead.arrival.frames)
        restore(mark.feed)
        if scratch.byteCount != mark.entry.byteCount {
            counts.correct(by: fresh)
            lookAhead.arrival.frames = ownFrames
        }
        if let skip = mark.skip {
            try scratch.setSkip(start: skip.start, end: skip.end)
        } else if scratch.hasSkip {
            try scratch.setSkip(start: 0, end: 0)
        }
        ahead.take(&scratch)
        lookAhead.isHeld = true
        gaps.skipNext(false)
        return true
    }

    /// Whether libav cuts packets from the sound as it likes: the first one is shorter, because opening read it.
    private var variesInSize: Bool { demuxer.rules.opening.needsFirstPacket }

    /// The most packets between a packet that a seek finds and the one that is wanted.
    private static let mostPackets = 4096

    private func key(of packet: borrowing Packet) -> PacketKey { PacketKey(packet, isBare: demuxer.framed != nil) }

    /// Fills `scratch` with the packet of `wanted`. Demuxers may land before it.
    private mutating func reach(_ wanted: PacketKey, using scratch: inout Packet) throws -> Bool {
        for way in demuxer.ways(to: wanted, of: track.index) {
            lookAhead.isHeld = false
            guard try demuxer.follow(way, of: track.index) else { continue }
            var count = 0
            while count < Self.mostPackets, try read(into: &scratch) {
                let found = key(of: scratch)
                if found.matches(wanted, exactTime: wanted.place == nil, anySize: variesInSize) { return true }
                if wanted.isPassed(by: found) { break }
                count += 1
            }
            lookAhead.forgetEnd()
        }
        return false
    }
}
