import Conversion

/// Finds the silence that a timeline leaves out, in a pass over the ranges concerned before anything is played.
final class SilenceSearch {
    /// Called after each block with the frames of the range that have been examined, all of them, and their rate.
    typealias Watch = (_ frames: Int64, _ total: Int64, _ rate: Int) throws -> Void

    private let sources: SoundSources
    private let stop: StopSignal
    private let watch: Watch?
    /// What has been found, because pieces may share a range.
    private var known: [Key: Range<Int64>] = [:]
    /// The pieces of which silence was left out, and how much in all.
    private var pieceCount = 0
    private var trimmed = TrimmedSilence()
    private var seconds = 0.0
    private var rate = 1

    private struct Key: Hashable {
        let plan: SourcePlan
        let threshold: Gain
    }

    init(_ sources: SoundSources, stop: StopSignal, watch: Watch?) {
        (self.sources, self.stop, self.watch) = (sources, stop, watch)
    }

    /// The frames of `plan` without the silence at their ends. Throws `empty_output` if all is silent.
    func range(of plan: SourcePlan, trimmedBy trim: SilenceTrim, at path: String) throws -> Range<Int64> {
        let source = sources.sources[plan.source]
        guard let sound = try sound(of: plan, trim.threshold) else {
            throw MediaError(
                .emptyOutput,
                at: .decode,
                "\(path): the source \"\(source.name)\" is silent: no sample is above \(trim.threshold)",
                hint: "lower the threshold of the silence, or leave out the file"
            )
        }
        let rate = source.track.sampleRateHz
        let found = trim.trimmed(sound, of: Int64(plan.frames.count), rate: rate)
        if found != TrimmedSilence() {
            pieceCount += 1
            (trimmed.start, trimmed.end) = (trimmed.start + found.start, trimmed.end + found.end)
            seconds += Double(found.start + found.end) / Double(rate)
            self.rate = rate
        }
        return plan.frames.lowerBound + found.start..<plan.frames.upperBound - found.end
    }

    private func sound(of plan: SourcePlan, _ threshold: Gain) throws -> Range<Int64>? {
        let key = Key(plan: plan, threshold: threshold)
        if let sound = known[key] { return sound }
        let source = sources.sources[plan.source]
        guard source.reader.demuxer.source.isSeekable else {
            throw MediaError(
                .sourceNotSeekable,
                at: .open,
                "the source \"\(source.name)\" is read twice to leave out its silence, and a pipe can be read only once",
                hint: "store the source in a file"
            )
        }
        var meter = SilenceMeter(threshold: threshold)
        let played = try sources.open(plan)
        var block = try SampleBlock()
        while try played.output.next(into: &block) {
            try stop.check(at: .decode)
            meter.add(block)
            try watch?(meter.frames, Int64(plan.frames.count), source.track.sampleRateHz)
        }
        guard meter.frames == Int64(plan.frames.count) else { throw MediaError.lengthChanged(source) }
        sources.close(played)
        known[key] = meter.sound
        return meter.sound
    }

    /// What was left out; empty if nothing was.
    var remarks: [Remark] {
        guard pieceCount > 0 else { return [] }
        let frames = trimmed.start + trimmed.end
        guard pieceCount == 1 else {
            let all = MediaTime(frames: Int64((seconds * 1_000).rounded()), rate: 1_000)
            return [Remark(.silenceTrimmed, "silence of \(all) was left out of \(pieceCount) pieces", count: frames)]
        }
        let ends = [(trimmed.start, "start"), (trimmed.end, "end")].filter { $0.0 > 0 }
            .map { "\(MediaTime(frames: $0, rate: rate)) at the \($1)" }
        return [Remark(.silenceTrimmed, "silence was left out: \(ends.joined(separator: ", "))", count: frames)]
    }
}
