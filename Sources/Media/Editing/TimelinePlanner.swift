import Conversion

/// Turns a timeline into frames of its clock, once the lengths of all sources are known.
struct TimelinePlanner {
    private let timeline: Timeline
    /// The place of each source in `sources`.
    private let names: [String: Int]
    private let sources: [SoundSources.Source]
    private let clock: SampleShape
    private let silence: SilenceSearch
    private var plans: [Int: MixPlan] = [:]

    init(_ timeline: Timeline, sources: [SoundSources.Source], clock: SampleShape, silence: SilenceSearch) {
        self.silence = silence
        self.timeline = timeline
        names = Dictionary(sources.enumerated().map { ($1.name, $0) }) { first, _ in first }
        self.sources = sources
        self.clock = clock
    }

    /// A longer timeline is refused: eleven years at 768 kHz.
    private static let maximumFrames: Int64 = 1 << 48

    /// The whole timeline, which has been validated. Throws a `RecipeError` for what the sources do not have.
    mutating func plan() throws -> MixPlan {
        var parts: [MixPlan.Part] = []
        for index in timeline.heardTracks {
            let plan = try plan(ofTrack: index)
            guard plan.frames > 0 else { continue }
            parts.append(MixPlan.Part(place: 0..<plan.frames, sound: .mix(plan, isReversed: false)))
        }
        let padding = try timeline.padTo.map { try frames($0, at: "recipe.timeline.padTo") } ?? 0
        return MixPlan(frames: max(padding, parts.map(\.place.upperBound).max() ?? 0), parts: parts)
    }

    /// A track from the start of the timeline to its end.
    private mutating func plan(ofTrack index: Int) throws -> MixPlan {
        if let known = plans[index] { return known }
        let track = timeline.tracks[index]
        var row = PieceRow(startingAt: try frames(track.start, at: "recipe.timeline.tracks[\(index)].start"))
        for (number, piece) in track.pieces.enumerated() {
            let path = "recipe.timeline.tracks[\(index)].pieces[\(number)]"
            let sound = try sound(of: piece, at: path)
            var overlap: Int64 = 0
            if let fade = piece.crossfade {
                overlap = try frames(of: fade, upTo: min(sound.frames, row.lastLength), at: "\(path).crossfade")
            }
            let curve = try curve(of: piece, lasting: sound.frames, at: path)
            row.append(sound, curve, factors(of: piece.pan), piece.crossfade, over: overlap)
            guard row.end <= Self.maximumFrames else {
                throw RecipeError(.valueNotAllowed, at: path, "the timeline becomes longer than 2^48 frames")
            }
        }
        let plan = levelled(MixPlan(frames: row.end, parts: row.parts), as: track)
        plans[index] = plan
        return plan
    }

    /// The plan with the gain, the ramps and the pan of the whole track.
    private func levelled(_ plan: MixPlan, as track: Timeline.Track) -> MixPlan {
        guard plan.frames > 0 else { return plan }
        var part = MixPlan.Part(place: 0..<plan.frames, sound: .mix(plan, isReversed: false))
        part.gain.constant = track.gain.amplitude
        part.gain.add(track.ramps, rate: clock.sampleRateHz)
        part.pan = factors(of: track.pan)
        return part.isPlain ? plan : MixPlan(frames: plan.frames, parts: [part])
    }

    // MARK: Sounds

    /// What a piece plays, on the clock.
    fileprivate struct Sound {
        /// `nil` for silence.
        var played: MixPlan.Sound?
        var frames: Int64
        /// Whether the sound would go on.
        var isCut = false
    }

    private mutating func sound(of piece: Piece, at path: String) throws -> Sound {
        var result: Sound
        switch piece.material {
        case .silence(let length): result = Sound(frames: try frames(length, at: "\(path).silence"))
        case .source(let name, let range): return try sound(of: piece, source: names[name] ?? 0, range, at: path)
        case .track(let name, let range):
            let index = timeline.tracks.firstIndex { $0.name == name } ?? 0
            let whole = try plan(ofTrack: index)
            let rate = clock.sampleRateHz
            let inner = try part(range, of: whole.frames, rate: rate, at: path, "the track \"\(name)\"")
            let plan = whole.cut(to: inner)
            result = Sound(
                played: plan.frames > 0 ? .mix(plan, isReversed: piece.isReversed) : nil,
                frames: plan.frames
            )
        }
        // What is repeated on the clock is simply played again.
        switch piece.repeats {
        case .times(let times): result.frames = result.frames.multipliedSaturated(by: Int64(times))
        case .until(let length):
            let length = try frames(length, at: "\(path).repeatUntil")
            try refuseEmpty(result.frames, before: length, at: path)
            (result.frames, result.isCut) = (length, true)
        case nil: break
        }
        return result
    }

    /// The range of a source, repeated on the source's clock, so that resampling does not stop at the seams.
    private func sound(of piece: Piece, source index: Int, _ range: MediaTimeRange, at path: String) throws -> Sound {
        let (source, rate) = (sources[index], sources[index].track.sampleRateHz)
        var inner = try part(range, of: source.frames, rate: rate, at: path, "the source")
        if let trim = piece.trimSilence {
            let plain = SourcePlan(source: index, frames: inner, pick: piece.channels)
            inner = try silence.range(of: plain, trimmedBy: trim, at: path)
        }
        var plan = SourcePlan(source: index, frames: inner, pick: piece.channels, isReversed: piece.isReversed)
        switch piece.repeats {
        case .times(let times): plan.times = Int64(times)
        case .until(let length):
            let length = try frames(length, at: "\(path).repeatUntil")
            try refuseEmpty(Int64(inner.count), before: length, at: path)
            // One more than fill the length exactly: the resampler needs what comes after the cut as well.
            plan.times = clocked(1, rate: clock.sampleRateHz, to: rate, times: length) / Int64(inner.count) + 2
            return Sound(played: length > 0 ? .source(plan) : nil, frames: length, isCut: true)
        case nil: break
        }
        let frames = clocked(Int64(inner.count), rate: rate, to: clock.sampleRateHz, times: plan.times)
        return Sound(played: frames > 0 ? .source(plan) : nil, frames: frames)
    }

    /// The frames on a clock of rate `target` for `times` times `frames` frames at `rate`, as a converter counts them.
    private func clocked(_ frames: Int64, rate: Int, to target: Int, times: Int64) -> Int64 {
        let product = Int128(frames) * Int128(times) * Int128(target)
        return Int64(clamping: (product * 2 + Int128(rate)) / Int128(rate * 2))
    }

    private func refuseEmpty(_ frames: Int64, before length: Int64, at path: String) throws {
        guard frames == 0, length > 0 else { return }
        throw RecipeError(.valueNotAllowed, at: "\(path).repeatUntil", "nothing is there to be repeated")
    }

    // MARK: Times

    private func frames(_ time: MediaTime, at path: String) throws -> Int64 {
        guard let frames = time.frames(atRate: clock.sampleRateHz)?.frames, frames <= Self.maximumFrames else {
            throw RecipeError(.valueNotAllowed, at: path, "\(time) is longer than 2^48 frames")
        }
        return frames
    }

    private func frames(of fade: Fade, upTo most: Int64, at path: String) throws -> Int64 {
        let frames = try frames(fade.length, at: path)
        guard frames <= most else {
            let longest = MediaTime(frames: most, rate: clock.sampleRateHz)
            throw RecipeError(.valueNotAllowed, at: path, "\(fade.length) is longer than the sound, \(longest)")
        }
        return frames
    }

    /// The frames of `range`, which must lie within a sound of `frames` frames at `rate`.
    private func part(
        _ range: MediaTimeRange,
        of frames: Int64,
        rate: Int,
        at path: String,
        _ what: String
    ) throws -> Range<Int64> {
        let start = range.start.frames(atRate: rate)?.frames ?? .max
        let end = range.isOpenEnded ? frames : range.end.frames(atRate: rate)?.frames ?? .max
        guard start <= end, end <= frames else {
            throw MediaError(
                .rangeOutsideSource,
                at: .open,
                "\(path): the range \(range) is not within \(what)",
                hint: "\(what) ends at \(MediaTime(frames: frames, rate: rate))"
            )
        }
        return start..<end
    }

    // MARK: Levels

    private func curve(of piece: Piece, lasting frames: Int64, at path: String) throws -> GainCurve {
        var curve = GainCurve()
        curve.constant = piece.gain.amplitude
        curve.add(piece.ramps, rate: clock.sampleRateHz)
        if let fade = piece.fadeIn {
            curve.add(fade, over: 0..<(try self.frames(of: fade, upTo: frames, at: "\(path).fadeIn")), rises: true)
        }
        if let fade = piece.fadeOut {
            let faded = try self.frames(of: fade, upTo: frames, at: "\(path).fadeOut")
            curve.add(fade, over: frames - faded..<frames, rises: false)
        }
        return curve
    }

    /// The factor of each channel; `nil` if both are 1.
    private func factors(of pan: Pan) -> [Float]? {
        pan == .centre ? nil : [Float(pan.leftAmplitude), Float(pan.rightAmplitude)]
    }
}

/// The pieces of one track, in frames, one after another.
private struct PieceRow {
    private(set) var parts: [MixPlan.Part] = []
    private(set) var end: Int64
    /// The length of the last piece.
    private(set) var lastLength: Int64 = 0
    /// Whether the last piece is heard: silence has no part.
    private var lastIsHeard = false

    init(startingAt start: Int64) { end = start }

    /// Appends a piece that overlaps the one before by `overlap` frames, and cross-fades the two.
    mutating func append(
        _ sound: TimelinePlanner.Sound,
        _ curve: GainCurve,
        _ pan: [Float]?,
        _ crossfade: Fade?,
        over overlap: Int64
    ) {
        var curve = curve
        if let crossfade, overlap > 0 {
            curve.add(crossfade, over: 0..<overlap, rises: true)
            if lastIsHeard {
                parts[parts.count - 1].gain.add(crossfade, over: lastLength - overlap..<lastLength, rises: false)
            }
        }
        let start = end - overlap
        end = start.addingSaturated(sound.frames)
        lastLength = sound.frames
        lastIsHeard = false
        guard let played = sound.played, sound.frames > 0 else { return }
        lastIsHeard = true
        parts.append(.init(place: start..<end, sound: played, gain: curve, pan: pan, isCut: sound.isCut))
    }
}

extension GainCurve {
    /// Adds a fade over `frames`.
    fileprivate mutating func add(_ fade: Fade, over frames: Range<Int64>, rises: Bool) {
        if fade.curve == .equalPower {
            add(rises ? .rising : .falling, over: frames)
        } else {
            add(rises ? .linear(from: 0, to: 1) : .linear(from: 1, to: 0), over: frames)
        }
    }

    /// Adds ramps, which are in the order of time and do not overlap.
    fileprivate mutating func add(_ ramps: [Ramp], rate: Int) {
        for (index, ramp) in ramps.enumerated() {
            let start = ramp.range.start.frames(atRate: rate)?.frames ?? .max
            let end = max(start, ramp.range.end.frames(atRate: rate)?.frames ?? .max)
            let (from, to) = (ramp.from.amplitude, ramp.to.amplitude)
            switch ramp.curve {
            case .decibel: add(.decibel(from: from, to: to), over: start..<end)
            case .linear, .equalPower: add(.linear(from: from, to: to), over: start..<end)
            }
            // The end gain stays until the next ramp.
            let next = index + 1 < ramps.count ? ramps[index + 1].range.start.frames(atRate: rate)?.frames : .max
            add(.linear(from: to, to: to), over: end..<max(end, next ?? .max))
        }
    }
}
