import Conversion

/// How random access finds the end of the sound.
extension TrackOutput {
    /// The frame at which the sound ends. Decodes no more than the end of the source if packets state their frames and
    /// no damage is tolerated.
    func measure(using block: inout SampleBlock) throws -> Int64 {
        seeksEnd = true
        defer { seeksEnd = false }
        try turn(to: measuringStart..<Int64.max)
        while try next(into: &block) {}
        if options.damage != .strict { journal.close() }
        return track.edits?.frames ?? min(clock.place, soundEnd)
    }

    /// Everything before it is skipped, as far as positions stay exact.
    private var measuringStart: Int64 {
        guard options.damage == .strict else { return 0 }
        // More than the promise may follow, and less is an error.
        return track.length.exactFrames.map { max(0, $0 - 1) } ?? Plausible.frames
    }
}
