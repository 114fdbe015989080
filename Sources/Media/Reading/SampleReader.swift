import Conversion

/// Random access to the decoded samples of one track, made by `Reader.sampleReader(of:)`.
///
/// Ranges count frames of sound, as positions do everywhere: at the track's rate, from the first frame of sound.
/// A range that continues the previous one is read on without any seek.
public final class SampleReader {
    let output: TrackOutput
    private var measured: Result<Int64, any Error>?
    /// What `next(into:)` has yet to deliver.
    private var rest: Range<Int64> = 0..<0
    /// Whether an error interrupted the output in the middle of a step.
    private var isInterrupted = false
    private var scratch: SampleBlock?
    /// The most frames for which `read` allocates memory before they come.
    private static let firstFrames = 1 << 20

    init(_ output: TrackOutput) { self.output = output }

    public var track: Track { output.track }

    /// Packets sent to the decoder so far: what the reading has cost.
    package var decodedPackets: Int { output.decodedPackets }

    /// The sound that was missing, and where. In the modes `conceal` and `skip` it lists the damage of the whole track
    /// once anything was read; in `strict` mode it stays empty.
    public var damage: DamageAccount { output.damage }

    // MARK: Length

    /// The exact number of frames that the positions of the track count.
    ///
    /// The first use reads the end of the source. If the container does not state the length exactly, it reads the
    /// packets of the whole source; if damage is tolerated, or the packets do not state their frames, it decodes them.
    public var frames: Int64 {
        get throws {
            if let measured { return try measured.get() }
            let result = Result { try guarded { try output.measure(using: &$0) } }
            measured = result
            let end = try result.get()
            // A range that was being read continues.
            if !rest.isEmpty { try output.turn(to: rest) }
            return end
        }
    }

    // MARK: Reading

    /// Makes the frames of `range` the ones that `next(into:)` delivers. `Int64.max` stands for the end of the source.
    ///
    /// Throws `range_outside_source` if the range does not lie within the source and the length is known; otherwise
    /// `next(into:)` throws it.
    public func seek(to range: Range<Int64>) throws {
        try refuseOutside(range)
        rest = 0..<0
        if output.options.damage != .strict { _ = try frames }
        try guarded { _ in
            if isInterrupted { try output.restart() }
            isInterrupted = false
            try output.turn(to: range)
        }
        rest = range
    }

    /// Fills `block` with the next frames of the range; `false` once all were delivered.
    ///
    /// Blocks have the length that the decoder gives. The next call reuses the block's memory.
    public func next(into block: inout SampleBlock) throws -> Bool {
        do {
            guard try output.next(into: &block) else {
                rest = 0..<0
                return false
            }
            let frames = Int64(block.frameCount)
            let rate = block.shape?.sampleRateHz ?? track.sampleRateHz
            let counted =
                rate == track.sampleRateHz ? frames : frames.scaledSaturated(by: track.sampleRateHz, over: rate)
            rest = min(block.position.addingSaturated(counted), rest.upperBound)..<rest.upperBound
            return true
        } catch {
            isInterrupted = true
            throw error
        }
    }

    /// Fills `block` with exactly the frames of `range`, in the format that the decoder gives.
    ///
    /// The block has fewer frames where damage was skipped. Throws `format_refused` if rate, channels or sample format
    /// change within the range: `seek(to:)` and `next(into:)` deliver both parts.
    public func read(_ range: Range<Int64>, into block: inout SampleBlock) throws {
        let end = range.upperBound == .max ? try frames : range.upperBound
        guard range.lowerBound <= end else { return try refuseOutside(range) }
        try seek(to: range.lowerBound..<end)
        block.clear()
        block.position = range.lowerBound
        var filled = 0
        try guarded { part in
            while try next(into: &part) {
                guard let shape = part.shape else { continue }
                if filled == 0 {
                    let wanted = Int(clamping: end - range.lowerBound)
                    try block.grow(to: max(part.frameCount, min(wanted, Self.firstFrames)), shape, keeping: 0)
                    block.position = part.position
                }
                guard block.shape == shape else { throw changed(at: part.position) }
                try block.grow(to: filled + part.frameCount, shape, keeping: filled)
                block.copyFrames(of: part, to: filled)
                filled += part.frameCount
            }
        }
        block.shorten(to: filled)
    }

    fileprivate func changed(at frame: Int64) -> MediaError {
        MediaError(
            .formatRefused,
            at: .decode,
            "the format of the sound changes within the range",
            stream: track.index,
            position: MediaTime(frames: frame, rate: track.sampleRateHz),
            frame: frame
        )
    }

    fileprivate func refuseOutside(_ range: Range<Int64>) throws {
        var last = knownFrames
        if measured == nil, let promised = last, isBeyond(range.upperBound, promised) { last = try frames }
        guard range.lowerBound < 0 || last.map({ range.lowerBound > $0 }) == true || isBeyond(range.upperBound, last)
        else { return }
        throw MediaError(
            .rangeOutsideSource,
            at: .decode,
            "the frames \(range) are not within the source",
            stream: track.index,
            hint: last.map { "the source has \(Plural.count($0, "frame"))" }
        )
    }

    private var knownFrames: Int64? {
        if case .success(let frames)? = measured { return frames }
        return track.length.exactFrames
    }

    private func isBeyond(_ end: Int64, _ last: Int64?) -> Bool {
        guard let last, end != .max else { return false }
        return end > last
    }

    /// Runs `work` with a block that is kept for this purpose. After an error, the next range is sought anew.
    fileprivate func guarded<Result>(_ work: (inout SampleBlock) throws -> Result) throws -> Result {
        var block = try scratch.take() ?? SampleBlock()
        do {
            let result = try work(&block)
            scratch = consume block
            return result
        } catch {
            isInterrupted = true
            scratch = consume block
            throw error
        }
    }
}

extension SampleReader {
    /// The frames of `range` as a value.
    func block(_ range: Range<Int64>) throws -> PCMBlock {
        let end = range.upperBound == .max ? try frames : range.upperBound
        try seek(to: range.lowerBound..<max(range.lowerBound, end))
        var gathered = BlockGatherer(frames: .max, joinsGaps: true)
        try guarded { part in
            while try next(into: &part) {
                let taken = gathered.take(part, from: 0, clockRate: track.sampleRateHz)
                guard taken == part.frameCount else { throw changed(at: part.position) }
            }
        }
        if let block = gathered.finished() { return block }
        return PCMBlock(unchecked: [], track.silentShape, at: range.lowerBound)
    }

    /// `range`, or the whole track, once it is certain that the source has it.
    func checked(_ range: Range<Int64>?) throws -> Range<Int64> {
        let frames = try frames
        guard let range else { return 0..<frames }
        try refuseOutside(range)
        return range.upperBound == .max ? range.lowerBound..<frames : range
    }

    /// Throws `source_not_seekable` if only reading from the start gives the right samples in the middle.
    func refuseUnlessSeekable() throws {
        let reason: String
        if output.index?.isStopped == true {
            reason = "the stream changes its headers in the middle"
        } else if !output.index!.isExact {
            reason = "\(track.codecName) packets depend on all packets before them"
        } else {
            return
        }
        throw MediaError(
            .sourceNotSeekable,
            at: .decode,
            "the track cannot be read backwards: \(reason)",
            stream: track.index
        )
    }

    /// Whether frames of `range` will be left out, because damage is skipped.
    func lacksFrames(in range: Range<Int64>) -> Bool {
        guard output.options.damage.movesSound else { return false }
        let damage = output.damage
        return damage.stretchCount > damage.stretches.count
            || damage.stretches.contains { $0.frames > 0 && range.overlaps($0.start..<$0.start + $0.frames) }
    }
}
