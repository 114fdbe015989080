import Conversion

/// How an output returns to earlier frames without reading everything before them.
extension TrackOutput {
    /// Shorter ways are decoded, which costs less than a seek.
    private static let leastLeap: Int64 = 1 << 16

    /// Marks the place before the next packet if a mark is of use there.
    func markPlace() throws {
        guard let index, index.wants(clock.place, at: clock.decoded), let state = try feed.stateBeforeNext() else {
            return
        }
        if clock.decoded == 0, feed.pages?.hasEnded == true { self.index!.beginAnew() }
        if feed.pages?.isChained == true { return self.index!.stop() }
        self.index!.add(feed.ahead, at: clock.decoded, clock, journal.state, state)
    }

    /// Returns to an earlier place, from which `frame` is reached.
    func goBack(to frame: Int64) throws {
        // Marks lie in the first stream.
        if link.isLater { return try reopenSource() }
        while let mark = index?.last(upTo: frame) {
            if try land(on: mark) { return }
            index!.remove(mark)
        }
        try reopenSource()
    }

    /// Goes on to a later place if that is cheaper than to read on.
    func leap(to frame: Int64) throws {
        while let mark = index?.last(upTo: frame), mark.clock.place > clock.place + Self.leastLeap {
            if try land(on: mark) { return }
            index!.remove(mark)
            // The place where the output was is lost.
            return try goBack(to: frame)
        }
    }

    /// Continues before the packet of `mark`; `false` if the demuxer does not find it again.
    private func land(on mark: SeekMark) throws -> Bool {
        decoder = try TrackOutput.decoder(of: track, in: feed.demuxer)
        var trash = try SampleBlock()
        var isFed = 0
        do {
            let found = try feed.land(on: mark, using: &packet) { packet in
                isFed += 1
                try warm(packet, &trash)
            }
            decodedPackets += isFed
            guard found else { return false }
        } catch let error as LibAVError {
            throw unreadable(error)
        }
        clock = mark.clock
        journal.state = mark.journal
        (phase, linkAhead) = (.decoding, nil)
        cursor.forgetHeld()
        index!.noteJump(toFirst: mark.isFirst)
        return true
    }

    /// Decodes a packet and drops its samples. What is damaged was found when it was read first.
    private func warm(_ packet: borrowing Packet, _ trash: inout SampleBlock) throws {
        do {
            try decoder.send(packet)
            while try decoder.receive(into: &trash).answer == .filled {}
        } catch let error as LibAVError {
            if error.isOutOfMemory { throw error }
        }
    }
}
