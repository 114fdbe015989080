import Conversion

/// The samples of a timeline: any number of tracks, mixed in float on one clock.
///
/// Samples beyond full scale stay as they are; a writer with integer samples clips and counts them.
final class MixOutput: SampleOutput {
    let clockRateHz: Int
    private(set) var deliveredFrames: Int64 = 0
    var promisedFrames: Int64? { frames }
    /// The length of the timeline, which is exact.
    let frames: Int64
    private let root: MixVoice
    private let stop: StopSignal

    /// The most frames of one block.
    private static let blockFrames: Int64 = 4096

    init(_ plan: MixPlan, on clock: SampleShape, sources: SoundSources, stop: StopSignal) throws {
        clockRateHz = clock.sampleRateHz
        frames = plan.frames
        root = try MixVoice(plan, clock, sources)
        self.stop = stop
    }

    func next(into block: inout SampleBlock) throws -> Bool {
        guard deliveredFrames < frames else { return false }
        try stop.check(at: .decode)
        let count = try root.stretch(upTo: min(Self.blockFrames, frames - deliveredFrames))
        try root.read(Int(count), into: &block)
        block.position = deliveredFrames
        deliveredFrames += count
        return true
    }
}

/// Sounds for a known number of frames on the clock of a mix.
protocol Voice: AnyObject {
    /// The frames, at most `most`, that can be read at once.
    func stretch(upTo most: Int64) throws -> Int64
    /// Fills `block` with the next `count` frames, at most as many as `stretch` has allowed.
    func read(_ count: Int, into block: inout SampleBlock) throws
    /// Checks, when all frames that were planned have been read, that the sound is over as well.
    func finish() throws
}

/// Adds the parts of one plan, each while it sounds.
final class MixVoice: Voice {
    private let plan: MixPlan
    private let clock: SampleShape
    private let sources: SoundSources
    private var position: Int64 = 0
    /// The first part that has not begun.
    private var nextPart = 0
    private var sounding: [SoundingPart] = []
    private var scratch: SampleBlock

    init(_ plan: MixPlan, _ clock: SampleShape, _ sources: SoundSources) throws {
        self.plan = plan
        self.clock = clock
        self.sources = sources
        scratch = try SampleBlock()
    }

    /// Opens the parts that begin here. A stretch ends where a part begins or ends.
    func stretch(upTo most: Int64) throws -> Int64 {
        while nextPart < plan.parts.count, plan.parts[nextPart].place.lowerBound <= position {
            sounding.append(try SoundingPart(plan.parts[nextPart], clock, sources))
            nextPart += 1
        }
        var frames = most
        if nextPart < plan.parts.count { frames = min(frames, plan.parts[nextPart].place.lowerBound - position) }
        for part in sounding { frames = try part.voice.stretch(upTo: min(frames, part.end - position)) }
        return frames
    }

    func read(_ count: Int, into block: inout SampleBlock) throws {
        if sounding.isEmpty {
            try block.reserve(count, clock)
            block.silence()
        } else {
            try sounding[0].read(count, into: &block)
            for index in sounding.indices.dropFirst() {
                try sounding[index].read(count, into: &scratch)
                block.add(scratch)
            }
        }
        position += Int64(count)
        for part in sounding where part.end <= position { try part.finish() }
        sounding.removeAll { $0.end <= position }
    }

    func finish() throws {}
}

/// A part of a mix while it sounds.
private struct SoundingPart {
    let voice: any Voice
    /// Where it ends in the mix.
    let end: Int64
    private let isCut: Bool
    private let pan: [Float]?
    private var gain: GainCursor
    /// The next frame of the sound.
    private var position: Int64

    init(_ part: MixPlan.Part, _ clock: SampleShape, _ sources: SoundSources) throws {
        voice =
            switch part.sound {
            case .source(let plan): try SourceVoice(plan, skipping: part.skipped, clock, sources)
            case .mix(let plan, let isReversed):
                if isReversed {
                    try ReversedMix(plan, skipping: part.skipped, clock, sources)
                } else {
                    try RepeatedMix(plan, skipping: part.skipped, clock, sources)
                }
            }
        end = part.place.upperBound
        isCut = part.isCut
        pan = part.pan
        gain = GainCursor(part.gain)
        position = part.skipped
    }

    mutating func read(_ count: Int, into block: inout SampleBlock) throws {
        try voice.read(count, into: &block)
        gain.apply(to: &block, from: position, pan: pan)
        position += Int64(count)
    }

    func finish() throws {
        if !isCut { try voice.finish() }
    }
}

/// Plays a range of a source.
private final class SourceVoice: Voice {
    private let plan: SourcePlan
    private let sources: SoundSources
    private let played: PlayedSource
    private let sound: ClockedSound

    init(_ plan: SourcePlan, skipping skipped: Int64, _ clock: SampleShape, _ sources: SoundSources) throws {
        self.plan = plan
        self.sources = sources
        played = try sources.open(plan)
        sound = try ClockedSound(played.output, clock: clock, precision: sources.precision) { sources.noteMix($0) }
        guard skipped > 0 else { return }
        var block = try SampleBlock()
        guard try sound.skip(skipped, using: &block) == skipped else {
            throw MediaError.lengthChanged(sources.sources[plan.source])
        }
    }

    deinit { sources.close(played) }

    func stretch(upTo most: Int64) -> Int64 { most }

    func read(_ count: Int, into block: inout SampleBlock) throws {
        guard try sound.read(count, into: &block) == count else {
            throw MediaError.lengthChanged(sources.sources[plan.source])
        }
    }

    func finish() throws {
        guard try sound.isAtEnd() else { throw MediaError.lengthChanged(sources.sources[plan.source]) }
    }
}

/// Plays a track, again and again if need be.
private final class RepeatedMix: Voice {
    private let plan: MixPlan
    private let clock: SampleShape
    private let sources: SoundSources
    private var voice: MixVoice
    /// Frames of the plan that the present round has read.
    private var reached: Int64

    init(_ plan: MixPlan, skipping skipped: Int64, _ clock: SampleShape, _ sources: SoundSources) throws {
        self.plan = plan
        self.clock = clock
        self.sources = sources
        reached = skipped % plan.frames
        voice = try MixVoice(plan.cut(to: reached..<plan.frames), clock, sources)
    }

    func stretch(upTo most: Int64) throws -> Int64 {
        if reached == plan.frames {
            voice = try MixVoice(plan, clock, sources)
            reached = 0
        }
        return try voice.stretch(upTo: min(most, plan.frames - reached))
    }

    func read(_ count: Int, into block: inout SampleBlock) throws {
        try voice.read(count, into: &block)
        reached += Int64(count)
    }

    func finish() {}
}

/// Plays a track backwards, again and again if need be: it renders a chunk forwards and hands it out from its end.
private final class ReversedMix: Voice {
    private let plan: MixPlan
    private let clock: SampleShape
    private let sources: SoundSources
    /// The next frame is the one before this frame of the plan.
    private var next: Int64
    /// Rendered frames of the plan, reversed.
    private var chunk: SampleBlock
    private var chunkPlace: Range<Int64> = 0..<0
    private var rendered: SampleBlock

    private static let chunkFrames: Int64 = 1 << 16

    init(_ plan: MixPlan, skipping skipped: Int64, _ clock: SampleShape, _ sources: SoundSources) throws {
        self.plan = plan
        self.clock = clock
        self.sources = sources
        next = plan.frames - skipped % plan.frames
        chunk = try SampleBlock()
        rendered = try SampleBlock()
    }

    func stretch(upTo most: Int64) throws -> Int64 {
        if next == 0 { next = plan.frames }
        if !chunkPlace.contains(next - 1) { try render(max(0, next - Self.chunkFrames)..<next) }
        return min(most, next - chunkPlace.lowerBound)
    }

    func read(_ count: Int, into block: inout SampleBlock) throws {
        try block.reserve(count, clock)
        block.copyFloats(of: chunk, from: Int(chunkPlace.upperBound - next), count: count, to: 0)
        next -= Int64(count)
    }

    func finish() {}

    private func render(_ place: Range<Int64>) throws {
        chunkPlace = place
        let voice = try MixVoice(plan.cut(to: place), clock, sources)
        try chunk.reserve(place.count, clock)
        var done = 0
        while done < place.count {
            let count = Int(try voice.stretch(upTo: Int64(place.count - done)))
            try voice.read(count, into: &rendered)
            chunk.copyFloats(of: rendered, from: 0, count: count, to: done)
            done += count
        }
        chunk.reverseFloats()
    }
}

extension MediaError {
    /// A source that has another length than it had when the timeline was planned.
    static func lengthChanged(_ source: SoundSources.Source) -> MediaError {
        MediaError(
            .frameCountMismatch,
            at: .decode,
            "the source \"\(source.name)\" had \(Plural.count(source.frames, "frame")) and now has another length"
        )
    }
}
