import Conversion

/// The sources of a timeline, each read at one place or at several at the same time.
final class SoundSources {
    /// One source, with what planning needs to know.
    struct Source {
        let name: String
        let descriptor: Int32
        let options: Reader.Options
        /// What opened the source first.
        let reader: Reader
        let track: Track
        /// Frames of sound in the track.
        var frames: Int64 = 0
    }

    private(set) var sources: [Source]
    /// Readers that no part uses at the moment.
    private var idle: [[SampleReader]]
    /// The precision with which sources are brought to the clock.
    var precision = Resampler.Precision.fine
    /// The damage in each source of which a part has been closed.
    private var damages: [Int: DamageAccount] = [:]
    /// Further remarks of all parts that have been closed, each once.
    private(set) var remarks: [Remark] = []

    /// Remarks about channels that were mixed in the middle of a source, each once.
    private(set) var mixes: [Remark] = []

    /// Finds out how long each source is. One that does not state its exact length is read to its end.
    init(_ sources: [Source]) throws {
        self.sources = sources
        idle = sources.map { _ in [] }
        for index in sources.indices { self.sources[index].frames = try measured(index) }
    }

    /// Notes how the channels of a source were mixed on their way to the clock.
    func noteMix(_ mix: ChannelMix) {
        if let remark = SampleRemarks.mixing(by: mix), !mixes.contains(remark) { mixes.append(remark) }
    }

    /// The damage in all sources of which a part has been closed.
    var damage: DamageAccount {
        damages.sorted { $0.key < $1.key }.reduce(into: DamageAccount()) { $0.add($1.value) }
    }

    private func measured(_ index: Int) throws -> Int64 {
        let source = sources[index]
        guard !source.options.damage.movesSound else {
            throw MediaError(
                .recipeRefused,
                at: .open,
                "damage cannot be skipped in a timeline, because everything after it would be heard too early",
                hint: "with --on-damage conceal, silence of the same length replaces it"
            )
        }
        guard source.reader.demuxer.source.isSeekable else {
            if let frames = source.track.length.exactFrames, source.options.damage == .strict { return frames }
            throw MediaError(
                .sourceNotSeekable,
                at: .open,
                "the source \"\(source.name)\" does not state its length, and it cannot be read twice"
            )
        }
        let reader = try source.reader.sampleReader(of: source.track)
        idle[index].append(reader)
        return try reader.frames
    }

    /// Opens the range of a source that `plan` describes.
    func open(_ plan: SourcePlan) throws -> PlayedSource {
        let source = sources[plan.source]
        guard source.reader.demuxer.source.isSeekable else { return try openPipe(source, plan) }
        let reader = try idle[plan.source].popLast() ?? anotherReader(of: source)
        let output: any SampleOutput
        if plan.isReversed {
            output = try RepeatedOutput(times: plan.times) { try ReversedOutput(reader, plan.frames) }
        } else if plan.times > 1 {
            output = try LoopOutput(reader, plan.frames, times: Int(clamping: plan.times))
        } else {
            output = try RangeOutput(reader, plan.frames)
        }
        return try PlayedSource(output, picking: plan.pick, source: plan.source, reader: reader)
    }

    private func anotherReader(of source: Source) throws -> SampleReader {
        let reader = try Reader(descriptor: source.descriptor, options: source.options)
        return try reader.sampleReader(of: try reader.track(source.track.index))
    }

    /// A pipe can be read once, forwards.
    private func openPipe(_ source: Source, _ plan: SourcePlan) throws -> PlayedSource {
        guard plan.times == 1, !plan.isReversed else {
            throw MediaError(
                .sourceNotSeekable,
                at: .open,
                "the source \"\(source.name)\" cannot seek, so it can be neither repeated nor reversed"
            )
        }
        let rate = source.track.sampleRateHz
        let range = try MediaTimeRange(
            start: MediaTime(frames: plan.frames.lowerBound, rate: rate),
            end: MediaTime(frames: plan.frames.upperBound, rate: rate)
        )
        let output = try source.reader.samples(of: source.track, ranges: [range])
        return try PlayedSource(output, picking: plan.pick, source: plan.source, reader: nil)
    }

    /// Takes back the reader of a part that is no longer played, and notes what it has found.
    func close(_ played: PlayedSource) {
        guard let reader = played.reader else { return }
        damages[played.source] = reader.damage
        for remark in reader.output.remarks where !remarks.contains(remark) { remarks.append(remark) }
        idle[played.source].append(reader)
    }
}

/// One range of a source while it is played.
struct PlayedSource {
    /// What is heard.
    let output: any SampleOutput
    /// The source's place in the list of sources.
    let source: Int
    /// `nil` for a pipe.
    let reader: SampleReader?

    init(_ output: any SampleOutput, picking pick: ChannelPick?, source: Int, reader: SampleReader?) throws {
        self.output =
            switch pick {
            case .sum: try SummedChannels(output)
            case let pick?: try PickedChannels(output, pick)
            case nil: output
            }
        self.source = source
        self.reader = reader
    }
}

/// One range of a source, forwards.
private final class RangeOutput: SampleOutput {
    private let reader: SampleReader
    private let frames: Int64
    private(set) var deliveredFrames: Int64 = 0

    init(_ reader: SampleReader, _ range: Range<Int64>) throws {
        self.reader = reader
        frames = Int64(range.count)
        try reader.seek(to: range)
    }

    var clockRateHz: Int { reader.track.sampleRateHz }
    var promisedFrames: Int64? { frames }

    func next(into block: inout SampleBlock) throws -> Bool {
        guard try reader.next(into: &block) else { return false }
        deliveredFrames += Int64(block.frameCount)
        return true
    }
}

/// An output that is played several times, one after another.
private final class RepeatedOutput: SampleOutput {
    private let start: () throws -> any SampleOutput
    private var current: any SampleOutput
    private var roundsLeft: Int64
    private(set) var deliveredFrames: Int64 = 0

    init(times: Int64, _ start: @escaping () throws -> any SampleOutput) throws {
        self.start = start
        current = try start()
        roundsLeft = times - 1
    }

    var clockRateHz: Int { current.clockRateHz }
    var promisedFrames: Int64? { nil }

    func next(into block: inout SampleBlock) throws -> Bool {
        while try !current.next(into: &block) {
            guard roundsLeft > 0 else { return false }
            roundsLeft -= 1
            current = try start()
        }
        block.position = deliveredFrames
        deliveredFrames += Int64(block.frameCount)
        return true
    }
}
